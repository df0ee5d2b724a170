"""Several quantiles under pure DP: joint noise, the joint exponential mechanism, and rivals.

``python -m benchmarks.joint_quantiles [--full]``. Errors in ranks: root mean square over levels,
data sets and draws, of the rank at which a value lies between its neighbours.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction

import numpy as np

from benchmarks.baselines import opendp_peer
from smoothdp.claims import PureDP
from smoothdp.errors import InvalidParameter
from smoothdp.exact.random.entropy import SeededRandom
from smoothdp.mechanisms import SmoothNoise
from smoothdp.mechanisms.quantiles.joint.joint_rule import joint_rule
from smoothdp.mechanisms.quantiles.joint.poly_place_quantiles import JointPolyPlaceQuantiles
from smoothdp.mechanisms.quantiles.joint.sized_exponential import SizedExponentialQuantiles
from smoothdp.mechanisms.quantiles.joint.window_rule import rank
from smoothdp.queries import Quantile
from smoothdp.types import FloatArray

BOUNDS = (-50_000, 50_000)
TIGHT = (-10, 90)
"""For OpenDP, which chooses among 1,001 candidates."""
Draw = Callable[[FloatArray], Sequence[float]]

LAWS: dict[str, Callable[[np.random.Generator, int], FloatArray]] = {
    "normal": lambda rng, n: rng.standard_normal(n),
    "lognormal": lambda rng, n: rng.lognormal(size=n),
    "t3": lambda rng, n: rng.standard_t(3, n),
    "ages": lambda rng, n: np.round(45 + 15 * rng.standard_normal(n)),
}


def settings(full: bool) -> Iterator[tuple[str, int, int, Fraction]]:
    """Yield law, n, number of levels and epsilon."""
    one, half = Fraction(1), Fraction(1, 2)
    yield from ((law, 10_000, 9, one) for law in ("normal", "lognormal", "t3"))
    yield from (("normal", 10_000, 3, one), ("normal", 1_000, 3, one), ("normal", 1_000, 9, one))
    yield from (("normal", 10_000, 19, one), ("ages", 10_000, 9, one))
    if full:
        for law in ("normal", "lognormal", "t3"):
            for n, epsilon in ((1000, one), (2000, one), (5000, one), (10**4, half), (10**5, one)):
                for m in (2, 3, 4, 5, 6, 7, 9, 12, 15, 19):
                    yield law, n, m, epsilon
        yield "normal", 100_000, 9, half
        yield "normal", 100_000, 99, one


def error(
    draw: Draw, columns: Sequence[FloatArray], levels: Sequence[Fraction], draws: int
) -> float:
    """Return the root mean square error in ranks; in values where they repeat."""
    total = 0.0
    for x in columns:
        ordered = np.sort(x)
        aims = [rank(q, len(x)) for q in levels]
        ties = len(np.unique(ordered)) < len(ordered) / 2
        for _ in range(draws):
            values = np.asarray(draw(x), dtype=np.float64)
            if ties:
                away = values - ordered[np.array(aims) - 1]
            else:
                away = np.interp(values, ordered, np.arange(1, len(x) + 1)) - aims
            total += float(np.mean(away * away))
    return math.sqrt(total / (draws * len(columns)))


def joint(levels: Sequence[Fraction], n: int, epsilon: Fraction) -> Draw | None:
    """Joint PolyPlace noise, None where it is refused."""
    try:
        made = JointPolyPlaceQuantiles.calibrate(
            levels, bounds=BOUNDS, guarantee=PureDP(epsilon), n_records=n
        )
    except InvalidParameter:
        return None
    rng = SeededRandom(1)
    return lambda x: made.release(x, rng=rng)


def exponential(levels: Sequence[Fraction], n: int, epsilon: Fraction) -> Draw:
    """The joint exponential mechanism."""
    made = SizedExponentialQuantiles.calibrate(
        levels, bounds=BOUNDS, guarantee=PureDP(epsilon), n_records=n
    )
    rng = SeededRandom(2)
    return lambda x: made.release(x, rng=rng)


def windows(levels: Sequence[Fraction], n: int, epsilon: Fraction) -> Draw:
    """One release a level, each with its share of epsilon, sorted."""
    share = PureDP(epsilon / len(levels))
    made = [
        SmoothNoise.calibrate(Quantile(q, bounds=BOUNDS), guarantee=share, n_records=n, clamp=True)
        for q in levels
    ]
    rng = SeededRandom(3)
    return lambda x: sorted(float(one.release(x, rng=rng).value) for one in made)


def opendp(levels: Sequence[Fraction], n: int, epsilon: Fraction) -> Draw | None:
    """OpenDP, one release a level among 1,001 candidates within tight bounds, sorted."""
    share, candidates = PureDP(epsilon / len(levels)), list(np.linspace(*TIGHT, 1001))
    made = [opendp_peer.quantile(float(q), n, share, candidates) for q in levels]
    found = [one for one in made if one is not None]
    if len(found) < len(made):
        return None
    return lambda x: sorted(float(one(x)) for one in found)


def main(full: bool = False) -> None:
    """Print a line for each setting: errors, and how far the rule is from the better of both."""
    print("\nSeveral quantiles, pure DP: root mean square error in ranks (ages: in years)")
    head = f"  {'law, n, levels, epsilon':<30}{'joint':>8}{'exponential':>13}{'rule':>13}"
    print(f"{head}{'rule/better':>13}{'windows':>9}{'windows/rule':>14}{'OpenDP':>9}")
    count, draws = (4, 60) if full else (12, 60)
    for law, n, m, epsilon in settings(full):
        levels = [Fraction(k, m + 1) for k in range(1, m + 1)]
        columns = [LAWS[law](np.random.default_rng([n, m, k]), n) for k in range(count)]
        noisy = joint(levels, n, epsilon)
        ours = math.inf if noisy is None else error(noisy, columns, levels, draws)
        other = error(exponential(levels, n, epsilon), columns, levels, draws)
        choice = joint_rule(levels, n_records=n, guarantee=PureDP(epsilon))
        chosen = ours if choice == "poly_place" else other
        fewer = max(1, draws // 4)
        alone = error(windows(levels, n, epsilon), columns, levels, draws) if m < 20 else math.nan
        peer = opendp(levels, n, epsilon) if m < 20 else None
        theirs = math.nan if peer is None else error(peer, columns, levels, fewer)
        name = f"{law} {n} {m} {float(epsilon):g}"
        print(
            f"  {name:<30}{ours:>8.3g}{other:>13.3g}{choice:>13}{chosen / min(ours, other):>13.3g}"
            f"{alone:>9.3g}{alone / chosen:>14.3g}{theirs:>9.3g}",
            flush=True,
        )


if __name__ == "__main__":
    main(full="--full" in sys.argv[1:])
