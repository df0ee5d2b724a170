"""Releases: samples a second of every law, exactly rounded, and the time of a whole release."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np

from benchmarks.timing import Row, best_time, measured_seconds, show, sorting
from smoothdp.claims import ZCDP, PureDP
from smoothdp.exact.random.entropy import SystemRandom
from smoothdp.exact.random.lazy import RoundedDraws
from smoothdp.mechanisms.release.release import release
from smoothdp.mechanisms.release.smooth_noise import SmoothNoise
from smoothdp.noise import (
    ArsinhNormal,
    Gaussian,
    GeneralizedCauchy,
    Laplace,
    LaplaceLogNormal,
    Log1pNormal,
    NoiseDistribution,
    PolyPlace,
    StudentT,
    UniformLogNormal,
)
from smoothdp.queries import Median, Quantile, Query, TrimmedMean

LAWS: list[NoiseDistribution] = [
    Laplace(),
    Gaussian(),
    LaplaceLogNormal("0.5"),
    UniformLogNormal("0.75"),
    ArsinhNormal("0.4"),
    Log1pNormal("0.5"),
    StudentT(3),
    StudentT("2.5"),
    PolyPlace(10),
    GeneralizedCauchy(4),
    GeneralizedCauchy("1.5"),
]


def drawing(law: NoiseDistribution, bits: int) -> Callable[[], int]:
    """Return a call that draws 1/3 + e^(-3/7) Z on a grid of 2^-bits, from the system's bits."""
    draws = RoundedDraws(
        law.lazy(),
        centre=Fraction(1 << bits, 3),
        factor=Fraction(1 << bits),
        decay=Fraction(3, 7),
        lowest=-(1 << 1000),
        highest=1 << 1000,
    )
    rng = SystemRandom()
    return lambda: draws.draw(rng)


def main() -> None:
    """Print samples a second, and the time of a release."""
    print("\nExact samples a second, operating system's randomness (reach 50,000; Cauchy 20,000)")
    print(f"  {'law':<32} {'grid 2^-40':>12} {'grid 2^-60':>12}")
    for law in LAWS:
        coarse, fine = (
            1 / best_time(drawing(law, bits), calls=2000, batches=5) for bits in (40, 60)
        )
        print(f"  {law!r:<32} {coarse:>12,.0f} {fine:>12,.0f}")
        measured_seconds("Exact samples", f"{law!r}, grid 2^-60", 1 / fine)

    rng = np.random.default_rng(1)
    thousand, million = (rng.lognormal(3, 1, n) for n in (1001, 10**6))
    queries: list[tuple[str, Query]] = [
        ("median", Median((0, 1000))),
        ("90% quantile", Quantile("0.9", bounds=(0, 1000))),
        ("5% trimmed mean", TrimmedMean("0.05", bounds=(0, 1000))),
    ]
    rows = [sorting()]
    for data, size in ((thousand, "n = 1001"), (million, "n = 1e6")):
        for name, query in queries:
            for guarantee, kind in ((PureDP(1), "pure"), (ZCDP("0.5"), "zCDP")):
                seconds = best_time(
                    lambda data=data, query=query, guarantee=guarantee: release(  # type: ignore[misc]
                        data, query, guarantee=guarantee
                    ),
                    calls=3,
                    batches=3,
                )
                rows.append(Row(f"release, {name}, {size}, {kind} epsilon = 1", seconds, ""))
    mechanism = SmoothNoise.calibrate(Median((0, 1000)), guarantee=PureDP(1), n_records=1001)
    again = best_time(lambda: mechanism.release(thousand), calls=200)
    rows.append(Row("a mechanism made before, median, n = 1001", again, ""))
    show("Releases, calibrations kept from the first call", rows)


if __name__ == "__main__":
    main()
