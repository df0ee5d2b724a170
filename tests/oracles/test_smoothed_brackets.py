"""Brackets of smoothed delta: against all compositions of small cases, and at scale."""

from __future__ import annotations

import json
import math
import random
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import smoothdp as sd
from smoothdp.exact.logspace.bounds import LogBounds
from smoothdp.exact.parameters.numbers import Real, exact_real
from smoothdp.mechanisms.histogram.histogram_mechanism import HistogramMechanism
from smoothdp.smoothed.brackets.binomial_cells import log_below, log_cells, log_outside
from smoothdp.smoothed.brackets.many_laws import ManyLaws
from smoothdp.smoothed.brackets.one_law import OneLaw
from smoothdp.smoothed.brackets.shares import shares_of
from smoothdp.smoothed.brackets.two_counts import TwoCounts
from smoothdp.smoothed.many_values.many_values import every_composition

F = Fraction
DUBLIN = (8086, 6442, 3810, 3694, 2404, 2370, 2300, 748, 134)
"""First preferences of nine candidates, of 29,988."""
REFERENCES = Path(__file__).parents[1] / "references" / "smoothed_brackets.json"


def dublin() -> sd.DataModel:
    return sd.DataModel.from_counts([DUBLIN])


def vertex(*shares: str) -> tuple[Fraction, ...]:
    return tuple(Fraction(share) for share in shares)


ONE = (vertex("1/5", "3/10", "1/2"),)
TIES = (vertex("1/4", "1/4", "1/4", "1/4"),)
TWO = (vertex("1/5", "3/10", "1/2"), vertex("2/5", "3/10", "3/10"))
CROSSING = (vertex("1/10", "1/2", "2/5"), vertex("1/2", "1/10", "2/5"))
FOUR = (vertex("1/10", "1/5", "3/10", "2/5"),)


def mechanisms(n: int) -> list[HistogramMechanism]:
    return [
        sd.SamplingHistogram(n, n_draws=n // 2),
        sd.SamplingHistogram(n, n_draws=n - 2),
        sd.SamplingHistogram(n, n_draws=n, sampling="with_replacement"),
        sd.BernoulliHistogram(n, keep_probability="0.8"),
    ]


def real(epsilon: str) -> Real:
    return exact_real(epsilon, name="epsilon")


@pytest.mark.parametrize("place", range(4))
@pytest.mark.parametrize(
    ("n", "vertices", "epsilon"),
    [
        (40, ONE, "1"),
        (12, TWO, "0.1"),
        (12, CROSSING, "3"),
        (10, FOUR, "1"),
        (12, TIES, "0"),
        *(
            pytest.param(*larger, marks=pytest.mark.slow)
            for larger in ((24, TWO, "0.1"), (20, CROSSING, "3"), (13, FOUR, "1"))
        ),
    ],
)
def test_bracket_holds_every_composition(n: int, vertices: Any, place: int, epsilon: str) -> None:
    mechanism = mechanisms(n)[place]
    exact = every_composition(mechanism, vertices, real(epsilon))
    assert exact is not None
    found, _ = ManyLaws(n, vertices).bracket(mechanism, real(epsilon), tolerance=0.7)
    assert found.lower <= exact.logs.upper
    assert exact.logs.lower <= found.upper


def test_reference_values_of_small_cases() -> None:
    """The largest mean over all compositions, forty digits: the exact table and the bracket."""
    for row in json.loads(REFERENCES.read_text())["compositions"]:
        vertices = tuple(vertex(*shares) for shares in row["vertices"])
        n, truth = int(row["n"]), float(row["expected"])
        mechanism = sd.SamplingHistogram(n, n_draws=int(row["n_draws"]))
        result = sd.smoothed_delta(mechanism, sd.DataModel(vertices), epsilon=row["epsilon"])
        assert result.lower <= truth <= result.delta * (1 + 1e-15)
        laws = ManyLaws(n, vertices)
        found, _ = laws.bracket(mechanism, real(row["epsilon"]), tolerance=0.7)
        assert found.lower <= math.log(truth) <= found.upper


def test_interior_maxima_are_within_the_bracket() -> None:
    """The largest mean of two vertices is at 750 records of each: the bound above holds there."""
    n = 1500
    first, second = vertex("37/143", "49/143", "57/143"), vertex("49/143", "37/143", "57/143")
    mechanism = sd.SamplingHistogram(n, n_draws=2)
    found, _ = ManyLaws(n, (first, second)).bracket(mechanism, real("143/150000"), tolerance=0.2)
    inside, at_the_ends = math.log(6.182221660476e-4), math.log(6.171737057891e-4)
    assert found.lower <= at_the_ends < inside <= found.upper < inside + 0.5


@pytest.mark.parametrize("seed", range(12))
def test_one_distribution_is_bracketed_closely(seed: int) -> None:
    """Random laws, rates and epsilons, with a gap far below the tolerance asked for at random."""
    rng = random.Random(seed)
    weights = [rng.randint(2, 9) for _ in range(3)]
    law = tuple(F(w, sum(weights)) for w in weights)
    n, epsilon = rng.randint(30, 60), rng.choice(["0", "0.05", "0.7", "2", "20"])
    mechanism = sd.SamplingHistogram(n, n_draws=rng.randint(1, n - 1))
    exact = every_composition(mechanism, (law,), real(epsilon))
    assert exact is not None
    tolerance = rng.choice([0.4, 0.7, 2.0])
    values = TwoCounts(mechanism, real(epsilon))
    found = OneLaw(n, shares_of(law)).bracket(values, tolerance=tolerance)
    assert found.lower <= exact.logs.upper
    assert exact.logs.lower <= found.upper


@pytest.mark.parametrize("seed", range(40))
def test_binomial_cells_in_exact_rationals(seed: int) -> None:
    rng = random.Random(seed)
    n = rng.choice([0, 1, 2, 7, 40, 200])
    p = F(rng.randint(1, 99), 100)
    pmf = [math.comb(n, k) * p**k * (1 - p) ** (n - k) for k in range(n + 1)]
    k = np.arange(-1, n + 2)
    below, (rough, above) = log_below(k, np.array(n), p), log_outside(k, np.array(n), p)
    for i, place in enumerate(k.tolist()):
        truth = sum(pmf[: max(0, place + 1)], F(0))
        holds(truth, LogBounds(below.lower[i], below.upper[i]), close=2e-2)
        holds(truth, LogBounds(rough.lower[i], rough.upper[i]))
        holds(1 - truth, LogBounds(above.lower[i], above.upper[i]))
    if n > 2:
        knots = np.array(sorted({-1, n, *rng.sample(range(n), min(n, 6))}))
        cells = log_cells(knots[:-1], knots[1:], np.array(n), p)
        for i in range(knots.size - 1):
            truth = sum(pmf[knots[i] + 1 : knots[i + 1] + 1], F(0))
            holds(truth, LogBounds(cells.lower[i], cells.upper[i]))


def holds(truth: Fraction, bounds: LogBounds, close: float = math.inf) -> None:
    if truth == 0:
        assert bounds.lower == -math.inf
        return
    log = math.log(truth.numerator) - math.log(truth.denominator)
    assert bounds.lower <= log + 1e-12
    assert log <= bounds.upper + 1e-12
    assert bounds.upper - bounds.lower <= close


def test_wide_laws_by_chords() -> None:
    """A thousand million trials, ten deviations out: against sums of a million ratios."""
    n, p = 10**9, F(134, 29_988)
    mean = float(n * p)
    deviation = math.sqrt(mean * (1 - float(p)))
    k = np.array([int(mean + z * deviation) for z in (-10.0, -3.0, 0.0, 3.0, 10.0)])
    found = log_below(k, np.array(n), p)
    for i, place in enumerate(k.tolist()[:2]):
        steps = np.arange(500_000)
        ratios = (place - steps) / (n - place + steps + 1.0) * float((1 - p) / p)
        total = math.log1p(float(np.cumprod(ratios).sum()))
        point = (
            float(math.lgamma(n + 1) - math.lgamma(place + 1) - math.lgamma(n - place + 1))
            + place * math.log(p)
            + (n - place) * math.log1p(-float(p))
        )
        assert found.lower[i] - 1e-4 <= point + total <= found.upper[i] + 1e-4
    assert found.upper[2] - found.lower[2] < 5e-3
    assert np.all(np.diff(found.lower) >= 0)


def test_dublin_within_a_factor_of_two() -> None:
    for row in json.loads(REFERENCES.read_text())["dublin"]:
        n = row["n_records"]
        mechanism = sd.SamplingHistogram(n, sampling_rate=row["sampling_rate"])
        result = sd.smoothed_delta(mechanism, dublin(), epsilon=row["epsilon"])
        assert result.log_delta - result.log_lower <= 0.7
        assert result.log_lower <= row["log_upper"]
        assert row["log_lower"] <= result.log_delta
        assert result.vertex_counts == (n,)
        assert result.method.startswith("one distribution")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("n", "rate", "value"),
    [
        (10**7, "0.99", -45.112),
        (10**7, "0.985", -64.581),
        (10**8, "0.998", -82.871),
        (10**8, "0.9", -4051.16),
        (10**9, "0.999", -380.967),
        (10**9, "0.9997", -120.313),
    ],
)
def test_dublin_at_scale(n: int, rate: str, value: float) -> None:
    """The values are sums over the two rarest alone, by another program."""
    mechanism = sd.SamplingHistogram(n, sampling_rate=rate)
    result = sd.smoothed_delta(mechanism, dublin(), epsilon="0.5")
    assert result.log_lower <= value + 0.01
    assert value - 0.01 <= result.log_delta <= result.log_lower + 0.7


@pytest.mark.slow
@pytest.mark.parametrize(("n", "rate"), [(10**4, "0.8"), (10**6, "0.98"), (10**6, "0.999")])
@pytest.mark.parametrize(("m", "gap"), [(3, 0.7), (5, 0.8), (10, 1.2)])
def test_equal_categories(m: int, gap: float, n: int, rate: str) -> None:
    model = sd.DataModel([(Fraction(1, m),) * m])
    mechanism = sd.SamplingHistogram(n, sampling_rate=rate)
    result = sd.smoothed_delta(mechanism, model, epsilon="0.5")
    assert 0 < result.log_delta - result.log_lower <= gap


def test_several_epsilons_and_the_epsilon_of_a_delta() -> None:
    n = 20_000
    result = sd.smoothed_delta(sd.SamplingHistogram(n, n_draws=19_400), dublin(), epsilon="0.5")
    others = result.at_epsilons(["0.5", 1, 2])
    assert others[0].log_lower <= result.log_delta
    assert result.log_lower <= others[0].log_delta
    assert others[0].log_delta > others[1].log_delta > others[2].log_lower
    again = sd.smoothed_delta(sd.SamplingHistogram(n, n_draws=19_400), dublin(), epsilon=1)
    assert again.log_lower <= others[1].log_delta
    assert others[1].log_lower <= again.log_delta
    delta = 1.001 * math.exp(result.log_delta)
    epsilon = result.epsilon(delta)
    assert 0.2 < epsilon <= 0.5000001
    (there,) = result.at_epsilons([epsilon])
    assert there.log_lower <= result.log_delta
    assert result.epsilon("0.98") == 0.0
    with pytest.raises(sd.errors.OutOfReach, match="epsilon"):
        result.epsilon("1e-300")
    with pytest.raises(sd.errors.InvalidParameter, match="at least one epsilon"):
        result.at_epsilons([])


@pytest.mark.parametrize("tolerance", [0, -1, math.nan, math.inf, "0.7"])
def test_bad_tolerance(tolerance: Any) -> None:
    mechanism = sd.SamplingHistogram(40, n_draws=20)
    with pytest.raises(sd.errors.InvalidParameter, match="positive tolerance"):
        sd.smoothed_delta(mechanism, dublin(), epsilon=1, tolerance=tolerance)


def test_many_categories_stand_for_few() -> None:
    shares = shares_of([F(w, 50_005_000) for w in range(1, 10_001)])
    assert sum(share.number for share in shares) == 10_000
    assert len(shares) <= 14
    assert sum(share.chance * share.number for share in shares) <= 1


@pytest.mark.slow
def test_256_categories() -> None:
    """A normal law on 256 cells."""
    normal = sd.DataModel.quantized_normal(["0"], std="0.12", bits=8)
    mechanism = sd.SamplingHistogram(10**6, n_draws=1000)
    result = sd.smoothed_delta(mechanism, normal, epsilon=2)
    # Some of the cells has at most one record with a probability of .9999.
    assert math.log(1e-3) - 0.7 <= result.log_lower <= result.log_delta <= math.log(1e-3) + 1e-9


def test_largest_sample_says_what_is_open() -> None:
    """Every number of draws is proved to meet the target, to miss it, or named as open."""
    model = sd.DataModel([("1/5", "3/10", "1/2")])
    design = sd.smoothed.largest_sample(model, n_records=4_000, epsilon=1, delta="1e-4")
    assert design.smoothed.log_delta <= math.log(1e-4)
    assert design.undecided.start == design.n_draws + 1
    assert design.is_largest == (not design.undecided)
    beyond = sd.SamplingHistogram(4_000, n_draws=design.undecided.stop)
    missed = sd.smoothed_delta(beyond, model, epsilon=1)
    assert missed.log_delta > math.log(1e-4)
    assert len(design.undecided) < 0.4 * design.n_lost
