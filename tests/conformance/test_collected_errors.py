"""Printed errors hold of printed estimates, wherever the data lie: roundings are counted in."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import smoothdp as sd
from smoothdp.text import estimate_text

GOAL = sd.ApproxDP(1, delta="1e-6")
# Every error below is asked to hold in all but so many runs.
SURE = "0.999999"


def printed(found: sd.report.Collection) -> dict[str, tuple[Fraction, Fraction]]:
    """Return estimate and error of each row of the table that a reader sees."""
    rows = (line.split(" +- ") for line in found.text().splitlines() if " +- " in line)
    return {
        " ".join(name.split()[:-1]): (Fraction(name.split()[-1]), Fraction(error))
        for name, error in rows
    }


LOWS = ["0", "1e6", "-123456789012", "1e14", "1e16", "0.1", "-1e-9"]
BOUNDS = [
    (low, width)
    for low in LOWS
    for width in ("2", "9", "0.7", "1e-6")
    # Bounds between which there is a float.
    if float(Fraction(low)) != float(Fraction(low) + Fraction(width))
]


@pytest.mark.parametrize(("low", "width"), BOUNDS)
def test_the_error_of_a_mean_far_from_zero(low: str, width: str) -> None:
    start, reach = Fraction(low), Fraction(width)
    data = np.array([float(start + reach * Fraction(i % 10, 9)) for i in range(300)])
    found = sd.report.collect_mean(
        data,
        bounds=(start, start + reach),
        guarantee=GOAL,
        n_bits=4,
        confidence=SURE,
        rng=sd.SeededRandom(3),
    )
    clipped = [min(max(Fraction(x), start), start + reach) for x in data.tolist()]
    truth = sum(clipped, Fraction(0)) / 300
    assert abs(Fraction(found.estimates["mean"]) - truth) <= Fraction(found.error)
    ((shown, error),) = printed(found).values()
    assert abs(shown - truth) <= error
    # No wider than the float's last digits and the fourth digit of the error ask for.
    assert error <= Fraction(found.error) * Fraction(1006, 1000) + Fraction(
        np.spacing(abs(float(start)))
    )


@pytest.mark.parametrize("n", [1000, 10**8])
@pytest.mark.parametrize(
    ("kind", "name"),
    [
        (sd.shuffle.Histogram, "zero-preserving-histogram"),
        (sd.shuffle.LowCommunicationHistogram, "low-communication-histogram"),
    ],
)
def test_the_error_of_counts_of_many(
    n: int, kind: Any, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of counts of nine digits the last are printed too: the error is a few hundred."""
    protocol = kind.calibrate(n, n_bins=2, guarantee=GOAL, honest_share=1)
    truth = {"a": n - n // 7, "b": n // 7}
    rng = sd.SeededRandom(4)
    drawn = protocol.release(counts=list(truth.values()), rng=rng)
    monkeypatch.setattr(kind, "release", lambda *_, **__: drawn)
    monkeypatch.setattr(kind, "calibrate", lambda *_, **__: protocol)
    found = sd.report.collect_histogram(
        ["a", "b"],
        domain=["a", "b"],
        guarantee=GOAL,
        confidence=SURE,
        protocol=name,
        other=None,
    )
    error = Fraction(found.printed_error())
    for value, count in truth.items():
        shown = Fraction(estimate_text(found.estimates[value], found.error)[0])
        assert abs(shown - count) <= error
        low, high = found.ranges[value]
        assert low <= count <= high
        assert f"{low} to {high}" in found.text()


@pytest.mark.parametrize("above", ["1000004.5", "0.1"])
def test_public_bounds_are_named_in_full(above: str) -> None:
    share = sd.report.collect_share(np.arange(400.0), above=above, guarantee=GOAL)
    (name,) = share.estimates
    assert Fraction(name.split()[-1]) == Fraction(repr(float(above)))
    mean = sd.report.collect_mean(
        np.arange(400.0), bounds=(above, Fraction(above) + 4), guarantee=GOAL, n_bits=4
    )
    low, high = mean.title.split("[")[1].rstrip("]").split(", ")
    assert (float(low), float(high)) == (float(above), float(Fraction(above) + 4))


@pytest.mark.parametrize("error", [1e-9, 0.04, 3.0, 1e5])
@pytest.mark.parametrize(
    "value", [0.0, 1.0, 999999.5, -123456.789, 1e16, 1e16 + 2, 1e-12, 99999999.75, 1e300]
)
def test_what_is_left_out_of_a_printed_estimate(value: float, error: float) -> None:
    text, off = estimate_text(value, error)
    assert abs(Fraction(text) - Fraction(value)) == off
    last: Any = max(Fraction(error) / 200, Fraction(np.spacing(abs(value))))
    assert off <= last
