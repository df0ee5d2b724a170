"""Paper 1, closed-form bounds: each proved bound attacked with the exact delta, each false one
asserted by its counterexample."""

from __future__ import annotations

import math
import random
from collections import Counter
from fractions import Fraction
from itertools import combinations, pairwise, product
from typing import Any

import mpmath
import pytest

from smoothdp import DataModel, SamplingHistogram, paper_bounds as pb, smoothed_delta
from smoothdp.errors import InvalidData, InvalidParameter
from smoothdp.testing import oracles

F = Fraction

HALF = DataModel([("1/2", "1/2")])
MODELS = [
    HALF,
    DataModel([("0.2", "0.8"), ("0.7", "0.3")]),
    DataModel([("1/3", "1/3", "1/3")]),
    DataModel([("0.2", "0.3", "0.5"), ("0.6", "0.2", "0.2")]),
]


def random_counts(rng: random.Random, n: int, m: int) -> tuple[int, ...]:
    cuts = sorted(rng.randint(0, n) for _ in range(m - 1))
    return tuple(b - a for a, b in pairwise([0, *cuts, n]))


def float_above(value: Fraction) -> float:
    return next(x for x in (float(value), math.nextafter(float(value), 1)) if F(x) >= value)


def kl(a: mpmath.mpf, b: mpmath.mpf) -> mpmath.mpf:
    return a * mpmath.log(a / b) + (1 - a) * mpmath.log((1 - a) / (1 - b))


# ---- Theorem 3 (i), Remark 8, inequality (7): as printed -----------------------------------


def test_remark_8_is_false_as_printed() -> None:
    """n = 200, T = 2, Pi = {(1/2, 1/2)}, E = (1 - eta)^-2: 2.83e-4 > 7.6e-6, in rationals."""
    n, growth = 200, F(10000, 9801)

    def law(k: int) -> list[Fraction]:
        pairs = math.comb(n, 2)
        ways = (math.comb(n - k, 2), k * (n - k), math.comb(k, 2))
        return [F(w, pairs) for w in ways]

    def divergence(p: list[Fraction], q: list[Fraction]) -> Fraction:
        return sum((max(F(0), a - growth * b) for a, b in zip(p, q, strict=True)), F(0))

    laws = [law(k) for k in range(n + 1)]
    mean = F(0)
    for k in range(n + 1):
        near = [j for j in (k - 1, k + 1) if 0 <= j <= n]
        delta = max(max(divergence(laws[k], laws[j]), divergence(laws[j], laws[k])) for j in near)
        mean += F(math.comb(n, k), 2**n) * delta
    assert float(mean) == pytest.approx(2.83015561703e-4, rel=1e-11)
    printed = pb.liu_remark_8(n_records=n, n_draws=2, epsilon="ln(10000/9801)", model=HALF)
    assert printed == pytest.approx(7.534e-6, rel=1e-3)
    assert mean > 37 * F(printed)
    fast = smoothed_delta(SamplingHistogram(n, n_draws=2), HALF, epsilon="ln(10000/9801)")
    assert fast.lower <= mean <= fast.delta
    # What holds is above it.
    held = pb.liu_kl_smoothed_upper(n_records=n, n_draws=2, epsilon="ln(10000/9801)", model=HALF)
    assert mean <= held


def test_remark_8_is_far_too_small_for_large_databases() -> None:
    """n = 5000, T = 50, f = 1/2, epsilon = 2 ln(1/(1 - eta)): e^-43.5 against e^-311."""
    printed = pb.liu_remark_8(n_records=5000, n_draws=50, epsilon="ln(10000/9801)", model=HALF).log
    assert printed == pytest.approx(-311.8, abs=0.2)
    # delta(x) is above e^-60 within two standard deviations of the middle: half the weight.
    mechanism = SamplingHistogram(5000, n_draws=50)
    assert mechanism.log_delta((2500, 2500), epsilon="ln(10000/9801)") > -60


def test_remark_8_says_nothing_where_the_paper_uses_it() -> None:
    """T = .998 n, epsilon = 7: at n = 1e5 the first term is e^-.0011, delta e^-11.4."""
    value = pb.liu_remark_8(
        n_records=100_000, sampling_rate="0.998", epsilon=7, smallest_probability="0.0554",
        n_categories=2,
    )  # fmt: skip
    assert value > 0.998


def test_inequality_7_is_false_as_printed() -> None:
    """n = 100, T = 1, counts (1, 99), epsilon = 1: delta = 1/100 against e^-1300."""
    law = [F(99, 100), F(1, 100)]
    assert law[1] - 0 == F(1, 100)  # the neighbour (0, 100) never shows the first value
    assert pb.liu_inequality_7(counts=(1, 99), n_draws=1, epsilon=1).log < -1290
    assert pb.liu_kl_upper(counts=(1, 99), n_draws=1, epsilon=1) >= 0.01


def test_condition_of_theorem_3_i_is_enforced_for_the_printed_bounds() -> None:
    for epsilon in ("0.1", "ln(100/98)"):
        with pytest.raises(InvalidParameter, match=r"epsilon > ln\(1/\(1 - T/n\)\)"):
            pb.liu_remark_8(n_records=100, n_draws=50, epsilon=epsilon, model=HALF)
    with pytest.raises(InvalidParameter, match="infinity"):
        pb.liu_inequality_7(counts=(5, 5), n_draws=10, epsilon=9)


def test_example_of_section_5_needs_more_records_than_it_sounds() -> None:
    """T = .95 n, epsilon = 3: inside the condition by .004, so that its route gives
    e^-143 at n = 1e9 and Remark 8 e^-2.5; the two-term bound e^-6.8e6."""
    model = DataModel([("0.3", "0.7")])
    many: dict[str, Any] = {
        "n_records": 10**9,
        "sampling_rate": "0.95",
        "epsilon": 3,
        "model": model,
    }
    assert -144 < pb.liu_kl_smoothed_upper(**many).log < -143
    assert -2.6 < pb.liu_remark_8(**many).log < -2.5
    assert pb.liu_all_epsilon_smoothed_upper(**many).log < -6.8e6


# ---- Theorem 3 (i), as it should read -------------------------------------------------------


def test_hoeffding_comparison_of_the_proof() -> None:
    """E (1 + u)^h_a <= (1 + u eta)^H_a for u >= 0, exactly, and the same for lost records."""
    for n in range(2, 11):
        for draws in range(1, n + 1):
            eta = F(draws, n)
            for count in range(n + 1):
                for u in (F(1, 10), F(1), F(20)):
                    mean = sum(
                        F(math.comb(count, h) * math.comb(n - count, draws - h)) * (1 + u) ** h
                        for h in range(max(0, draws + count - n), min(count, draws) + 1)
                    ) / math.comb(n, draws)
                    assert mean <= (1 + u * eta) ** count


@pytest.mark.parametrize("seed", range(4))
def test_kl_and_all_epsilon_bounds_hold_at_every_database(seed: int) -> None:
    """Random counts, rates and epsilons: the exact delta(x) is never above the bounds."""
    rng = random.Random(seed)
    informative = 0
    for _ in range(400):
        m = rng.choice([2, 2, 2, 3])
        n = rng.choice([4, 8, 15, 40, 150, 400]) if m == 2 else rng.choice([6, 12, 30])
        draws = rng.choice([1, 2, n // 4 + 1, n // 2, n - 2, n - 1])
        counts = random_counts(rng, n, m)
        eta = F(draws, n)
        # epsilons just above the threshold ln(1/(1 - eta)), far above, and below it
        growth = rng.choice(
            [F(101, 100), F(3, 2), F(10), F(200), F(51, 50) / (1 - eta), 3 / (1 - eta)]
        )
        lower = SamplingHistogram(n, n_draws=draws).delta_bounds(counts, epsilon=f"ln({growth})")[0]
        arguments: dict[str, Any] = {"counts": counts, "n_draws": draws, "epsilon": f"ln({growth})"}
        for bound in (pb.liu_kl_upper(**arguments), pb.liu_all_epsilon_upper(**arguments)):
            assert lower <= bound, (counts, draws, growth)
            informative += bound < 0.9 * draws / n
    assert informative > 20


def test_kl_bounds_hold_for_all_small_databases() -> None:
    """Every histogram of up to 7 records of 2 or 3 values, by enumeration in rationals."""
    for n, m in [(4, 2), (7, 2), (5, 3)]:
        for draws in (1, n // 2, n - 1):

            def law(x: oracles.Database, m: int = m, draws: int = draws) -> oracles.Law:
                return oracles.law_without_replacement(x, m, draws)

            for counts in product(range(n + 1), repeat=m):
                if sum(counts) != n:
                    continue
                for growth in (F(11, 10), F(3), F(40)):
                    exact = oracles.delta_by_enumeration(oracles.database(counts), m, law, growth)
                    arguments: dict[str, Any] = {
                        "counts": counts,
                        "n_draws": draws,
                        "epsilon": f"ln({growth})",
                    }
                    assert exact <= F(pb.liu_kl_upper(**arguments))
                    assert exact <= F(pb.liu_all_epsilon_upper(**arguments))


@pytest.mark.parametrize("model", MODELS)
def test_smoothed_bounds_hold(model: DataModel) -> None:
    """Against the exact smoothed delta over all compositions."""
    sizes = (6, 20, 60) if model.n_atoms == 2 else (6, 28)
    informative = 0
    for n in sizes:
        for draws in sorted({1, n // 3, n - 2}):
            mechanism = SamplingHistogram(n, n_draws=draws)
            for epsilon in ("0.05", 1, 4):
                exact = smoothed_delta(mechanism, model, epsilon=epsilon)
                arguments: dict[str, Any] = {
                    "n_records": n, "n_draws": draws, "epsilon": epsilon, "model": model
                }  # fmt: skip
                for bound in (
                    pb.liu_kl_smoothed_upper(**arguments),
                    pb.liu_all_epsilon_smoothed_upper(**arguments),
                ):
                    assert exact.lower <= bound
                    informative += bound < 0.9 * draws / n
                lower = pb.liu_exact_lower(n_records=n, n_draws=draws, model=model)
                assert lower <= exact.delta
                assert pb.liu_theorem_3_lower(n_records=n, n_draws=draws, model=model) <= lower
    assert informative > 0


def test_smoothed_bounds_against_figure_2() -> None:
    """n = 1e6, .2% lost: the exact ln delta, as other code has it, lies between our bounds,
    which lose a factor 1.2 (epsilon = 7) to 6 (.5) of the exponent; the lower one is met at 7."""
    model = DataModel([("0.0554", "0.9446"), ("0.5334", "0.4666")])
    setting: dict[str, Any] = {"n_records": 10**6, "sampling_rate": "0.998", "model": model}
    lower = pb.liu_exact_lower(**setting).log
    assert lower == pytest.approx(-113.98744, abs=1e-5)
    for epsilon, exact, loss in [
        (F(1, 2), -15.68747, 6.1), (F(1), -35.61640, 3.6), (F(2), -73.21595, 2.5),
        (F(7), -113.98744, 1.2),
    ]:  # fmt: skip
        upper = pb.liu_all_epsilon_smoothed_upper(epsilon=epsilon, **setting).log
        assert lower - 1e-5 <= exact <= upper
        assert exact / upper < loss
        # The condition of the paper, epsilon > ln 500 = 6.2, is needed for the one-term bound.
        one_term = pb.liu_kl_smoothed_upper(epsilon=epsilon, **setting).log
        assert (one_term < -1) == (epsilon == 7)


def test_bounds_say_the_cap_where_a_value_has_probability_zero() -> None:
    """Positivity on the support is not enough, and the bounds know it."""
    model = DataModel([("1/2", "1/2", 0)])
    arguments: dict[str, Any] = {"n_records": 100, "n_draws": 30, "epsilon": 9, "model": model}
    assert pb.liu_kl_smoothed_upper(**arguments) == float_above(F(3, 10))
    assert pb.liu_exact_lower(n_records=100, n_draws=30, model=model) == pytest.approx(0.3)


# ---- Theorem 3 (ii), (iii); Figure 2 left ---------------------------------------------------


def test_theorem_3_ii_the_proof_means_at_least() -> None:
    """Pr[x] <= f^n is printed; the next line uses >=, which positivity gives. Pi = {(1/4, 3/4)},
    all records of the second value: <= is false."""
    f, n = F(1, 4), 10
    likely, unlikely = F(3, 4) ** n, F(1, 4) ** n
    assert likely > f**n
    assert unlikely >= f**n
    model = DataModel([("1/4", "3/4")])
    assert pb.liu_theorem_3_lower(n_records=n, n_draws=5, model=model) <= F(1, 2) * f**n
    assert F(1, 2) * f**n <= smoothed_delta(
        SamplingHistogram(n, n_draws=5), model, epsilon=3
    ).delta * F(1)


def test_theorem_3_iii_by_enumeration() -> None:
    """max over x of delta(x) is T/n exactly, in rationals, at every growth."""
    for n, draws in [(3, 1), (5, 2), (6, 5)]:

        def law(x: oracles.Database, draws: int = draws) -> oracles.Law:
            return oracles.law_without_replacement(x, 2, draws)

        for growth in (F(1), F(7, 2), F(10**6)):
            deltas = [
                oracles.delta_by_enumeration(oracles.database((k, n - k)), 2, law, growth)
                for k in range(n + 1)
            ]
            assert max(deltas) == F(draws, n) <= F(pb.liu_theorem_3_dp(n_records=n, n_draws=draws))


def test_exact_lower_bound_by_enumeration() -> None:
    """(1 - pi_a)^(n-T) - (1 - T/n)(1 - pi_a)^n <= E delta(x), all records from pi; the least
    pi_a gives the largest bound; both in rationals."""
    n = 5
    for draws in (1, 3, 4):

        def law(x: oracles.Database, draws: int = draws) -> oracles.Law:
            return oracles.law_without_replacement(x, 2, draws)

        for growth in (F(1), F(5), F(1000)):
            deltas = [
                oracles.delta_by_enumeration(oracles.database((k, n - k)), 2, law, growth)
                for k in range(n + 1)
            ]
            for p in (F(0), F(1, 10), F(1, 2)):
                mean = sum(
                    math.comb(n, k) * p**k * (1 - p) ** (n - k) * deltas[k] for k in range(n + 1)
                )

                def bound(q: Fraction, draws: int = draws) -> Fraction:
                    return (1 - q) ** (n - draws) - (1 - F(draws, n)) * (1 - q) ** n

                assert bound(1 - p) <= bound(p) <= mean
                ours = pb.liu_exact_lower(n_records=n, n_draws=draws, smallest_probability=p)
                assert F(ours) <= bound(p) <= F(ours) * (1 + F(1, 10**12))


# ---- Theorem 4 ------------------------------------------------------------------------------


def average_law(values: tuple[Fraction, ...], draws: int) -> dict[Fraction, Fraction]:
    sums = Counter(sum(s, F(0)) / draws for s in combinations(values, draws))
    total = sum(sums.values())
    return {output: F(ways, total) for output, ways in sums.items()}


def test_theorem_4_holds_at_every_database() -> None:
    """A generic new value shows whether it was sampled: T/n at every x and growth; and no
    neighbour has more. The printed set of outputs leaves out the factor 1/T."""
    rng = random.Random(4)
    generic = F(355_687, 1_000_003)
    for n, draws in [(4, 2), (5, 3), (6, 1)]:
        for growth in (F(1), F(3), F(10**9)):
            x = tuple(F(rng.randint(0, 8), 8) for _ in range(n))
            laws = average_law(x, draws), average_law((*x[:-1], generic), draws)
            assert oracles.hockey_stick(laws[1], laws[0], growth) == F(draws, n)
            for value in (F(0), F(3, 8), F(1)):
                other = average_law((*x[:-1], value), draws)
                assert oracles.hockey_stick(laws[0], other, growth) <= F(draws, n)
                assert oracles.hockey_stick(other, laws[0], growth) <= F(draws, n)
            printed = {generic + sum(s, F(0)) for s in combinations(x[:-1], draws - 1)}
            hit = sum((mass for a, mass in laws[1].items() if a in printed), F(0))
            assert hit == (F(draws, n) if draws == 1 else 0)
            scaled = {a / draws for a in printed}
            hit = sum((mass for a, mass in laws[1].items() if a in scaled), F(0))
            assert hit == F(draws, n) <= F(pb.liu_theorem_4(n_records=n, n_draws=draws))


def test_theorem_4_fails_on_a_finite_grid() -> None:
    """Values {0, 1}: records (0, 0, 0, 1, 1, 1), T = 3, E = 2 have delta 1/10, not T/n = 1/2."""
    x = (F(0),) * 3 + (F(1),) * 3
    best = F(0)
    for place, value in product(range(6), (F(0), F(1))):
        other = average_law((*x[:place], value, *x[place + 1 :]), 3)
        here = average_law(x, 3)
        best = max(
            best, oracles.hockey_stick(here, other, F(2)), oracles.hockey_stick(other, here, F(2))
        )
    assert best == F(1, 10)


# ---- Theorem 5 ------------------------------------------------------------------------------


def test_theorem_5_dp_part_is_false_at_three_draws_for_every_n() -> None:
    """1 - (1 - 1/n)^3 - 3/(n + 1) = (1 - 2n) / (n^3 (n + 1)) < 0; true for T = 1, 2."""
    for n in range(2, 300):
        gap = 1 - (1 - F(1, n)) ** 3 - F(3, n + 1)
        assert gap == F(1 - 2 * n, n**3 * (n + 1)) < 0
        for draws in (1, 2):
            assert 1 - (1 - F(1, n)) ** draws >= F(draws, n + 1)
        for draws in range(3, 12):
            exact = 1 - (1 - F(1, n)) ** draws
            assert F(draws, n + draws) <= exact < F(draws, n + 1) or draws >= n
            arguments: dict[str, Any] = {"n_records": n, "n_draws": draws}
            assert F(pb.liu_theorem_5_dp_lower(**arguments)) <= F(draws, n + draws)
            assert exact <= F(pb.liu_theorem_5_dp(**arguments)) <= exact * (1 + F(1, 10**14))
    assert pb.liu_theorem_5_as_printed(n_records=100, n_draws=10) > pb.liu_theorem_5_dp(
        n_records=100, n_draws=10
    )


def binomial(n: int, balls: int, draws: int, k: int) -> Fraction:
    return math.comb(draws, k) * F(balls, n) ** k * F(n - balls, n) ** (draws - k)


def test_inequalities_9_and_10_hold_and_the_second_line_of_11_is_swapped() -> None:
    """n = 100, M = 10, T = 10, k = 1: ratio .99476, "lower" 1.0, "upper" .98984."""

    def exponents(n: int, balls: int, draws: int, k: int) -> tuple[float, float]:
        return k / balls - (draws - k) / (n - balls), k / (balls + 1) - (draws - k) / (
            n - balls - 1
        )

    ratio = binomial(100, 11, 10, 1) / binomial(100, 10, 10, 1)
    printed_lower, printed_upper = exponents(100, 10, 10, 1)
    assert float(ratio) == pytest.approx(0.99476, abs=1e-5)
    assert math.exp(printed_lower) == pytest.approx(1.0)
    assert math.exp(printed_upper) == pytest.approx(0.98984, abs=1e-5)
    assert math.exp(printed_upper) < ratio < math.exp(printed_lower)
    for n, draws in [(7, 3), (12, 9), (30, 5)]:
        for balls in range(2, n - 1):
            for k in range(draws + 1):
                here = binomial(n, balls, draws, k)
                down = math.log(here / binomial(n, balls - 1, draws, k))
                up = math.log(binomial(n, balls + 1, draws, k) / here)
                assert down <= k / (balls - 1) - (draws - k) / (n - balls + 1) + 1e-12  # (9)
                assert -down <= (draws - k) / (n - balls) - k / balls + 1e-12  # (10)
                above, below = exponents(n, balls, draws, k)
                if balls + 1 < n:
                    assert below - 1e-12 <= up <= above + 1e-12  # (11), swapped


def test_theorem_5_step_1_2_misprint_and_delta_0() -> None:
    """C(T, k) < (e k/(k T))^k is false (T = 10, k = 5: 252 against .0015); (e T/k)^k is meant.
    delta_0 is not 0: a database without balls has a neighbour with one."""
    assert math.comb(10, 5) > (math.e * 5 / (5 * 10)) ** 5
    assert math.comb(10, 5) < (math.e * 10 / 5) ** 5
    mechanism = SamplingHistogram(50, n_draws=5, sampling="with_replacement")
    assert mechanism.delta((0, 50), epsilon="1.2") == mechanism.delta((1, 49), epsilon="1.2") > 0.09


def test_theorem_5_step_2_chernoff() -> None:
    """Pr[M <= c n / 2] <= e^(-c n / 8), and the other tail is at n - c n / 2, not 1 - c n / 2."""
    for n, c in [(40, F(1, 4)), (100, F(1, 10)), (60, F(1, 2))]:
        half = int(c * n / 2)
        tail = sum(math.comb(n, k) * c**k * (1 - c) ** (n - k) for k in range(half + 1))
        assert float(tail) <= math.exp(-c * n / 8)
        assert 1 - c * n / 2 <= 0  # printed: every database is in that tail


@pytest.mark.parametrize("seed", range(2))
def test_theorem_5_upper_bound_holds_at_every_database(seed: int) -> None:
    """(e T/n)^max(1, min H) for epsilon >= 1, two and three categories, against exact delta."""
    rng = random.Random(seed)
    informative = 0
    for _ in range(120):
        m = rng.choice([2, 2, 3])
        n = rng.choice([10, 40, 200]) if m == 2 else rng.choice([9, 20])
        draws = rng.choice([1, 2, 3, max(1, n // 10), max(1, n // 4)])
        small = rng.choice([1, 2, 3, 4, 6]) if n >= 20 else rng.choice([1, 2, 3])
        rest = random_counts(rng, n - small, m - 1)
        epsilon = rng.choice([F(1), 1 + F(2 * draws, n), F(3)])
        mechanism = SamplingHistogram(n, n_draws=draws, sampling="with_replacement")
        lower = mechanism.delta_bounds((small, *rest), epsilon=epsilon)[0]
        bound = pb.liu_theorem_5_upper(counts=(small, *rest), n_draws=draws, epsilon=epsilon)
        assert lower <= bound
        informative += bound < 0.9 * mechanism.worst_case_delta(epsilon=1)
    assert informative > 20


@pytest.mark.parametrize("model", MODELS)
def test_theorem_5_smoothed_bound_holds(model: DataModel) -> None:
    for n in (8, 30) if model.n_atoms == 2 else (8,):
        for draws in (1, 2):
            mechanism = SamplingHistogram(n, n_draws=draws, sampling="with_replacement")
            epsilon = 1 + F(2 * draws, n)
            exact = smoothed_delta(mechanism, model, epsilon=epsilon)
            bound = pb.liu_theorem_5_smoothed_upper(
                n_records=n, n_draws=draws, epsilon=epsilon, model=model
            )
            assert exact.lower <= bound


def test_theorem_5_is_exponential_for_linear_sample_sizes_below_n_over_e() -> None:
    """Further than T = o(n): T = n / 4 still gives a fixed rate per record."""
    logs = [
        pb.liu_theorem_5_smoothed_upper(
            n_records=n, n_draws=n // 4, epsilon=2, smallest_probability="0.3", n_categories=2
        ).log
        for n in (1000, 2000)
    ]
    assert logs[1] - logs[0] == pytest.approx(1000 * math.log(1 - 0.3 * (1 - math.e / 4)))


# ---- Table 1 --------------------------------------------------------------------------------


def noisy_ratio(
    n: int, draws: int, x: tuple[int, int], y: tuple[int, int], q: Fraction, *, wide: bool
) -> Fraction:
    """Return the largest likelihood ratio of Algorithm 4, in rationals.

    Beyond 0..T a likelihood ratio no longer changes, so these outputs suffice.
    """

    def norm(count: int) -> Fraction:
        below = sum((q**j for j in range(count + 1)), F(0))
        return F(1) if wide else below + q / (1 - q)

    def law(counts: tuple[int, int]) -> dict[tuple[int, int], Fraction]:
        table: dict[tuple[int, int], Fraction] = {}
        for h in range(draws + 1):
            ways = math.comb(counts[0], h) * math.comb(counts[1], draws - h)
            weight = F(ways, math.comb(n, draws)) / norm(h) / norm(draws - h)
            for a, b in product(range(draws + 1), repeat=2):
                gain = weight * q ** (abs(h - a) + abs(draws - h - b))
                table[a, b] = table.get((a, b), F(0)) + gain
        return table

    here, there = law(x), law(y)
    return max(here[o] / there[o] for o in here)


def test_table_1_holds_for_small_epsilon_only() -> None:
    """n = 4, T = 1, noise epsilon 6: the pure epsilon is 1.7529 > eta epsilon = 1.5."""
    ours = pb.liu_table_1(n_records=4, n_draws=1, noise_epsilon=6, support="integers")
    assert ours == pytest.approx(1.7529, abs=1e-4)
    # exactly, at a rational noise level near by: q = 2/9, epsilon = 4 ln(9/2) = 6.016
    largest = max(
        noisy_ratio(4, 1, (k, 4 - k), (j, 4 - j), F(2, 9), wide=True)
        for k in range(5)
        for j in (k - 1, k + 1)
        if 0 <= j <= 4
    )
    assert largest == 1 + F(1, 4) * (F(9, 2) ** 2 - 1)
    printed = pb.liu_table_1_as_printed(n_records=4, n_draws=1, noise_epsilon="ln(6561/16)")
    assert math.log(largest) > 1.16 * printed
    # For epsilon up to 2.5 what is printed holds on the integers, for every eta.
    for draws in range(1, 41):
        for level in ("0.01", "1", "2.5"):
            setting: dict[str, Any] = {"n_records": 40, "n_draws": draws, "noise_epsilon": level}
            exact = pb.liu_table_1(**setting, support="integers")
            assert exact <= pb.liu_table_1_as_printed(**setting)
        # Above zero, by what is proved, up to 1.3: e^(x/2) + e^(x/4) - 2 <= x.
        setting = {"n_records": 40, "n_draws": draws, "noise_epsilon": "1.3"}
        assert pb.liu_table_1(**setting) <= pb.liu_table_1_as_printed(**setting)


def test_table_1_corrected_is_exact_on_the_integers_and_holds_above_zero() -> None:
    for n, draws in [(4, 1), (5, 4), (6, 3), (3, 3)]:
        for q in (F(1, 5), F(2, 3), F(9, 10)):
            pairs = [
                ((k, n - k), (j, n - j))
                for k in range(n + 1)
                for j in (k - 1, k + 1)
                if 0 <= j <= n
            ]
            noise = f"ln({(1 / q) ** 4})"
            for wide in (True, False):
                largest = max(noisy_ratio(n, draws, x, y, q, wide=wide) for x, y in pairs)
                bound = pb.liu_table_1(
                    n_records=n,
                    n_draws=draws,
                    noise_epsilon=noise,
                    support="integers" if wide else "nonnegative",
                )
                assert math.log(largest) <= bound * (1 + 1e-14)
                if wide:
                    assert largest == 1 + F(draws, n) * (1 / q**2 - 1)
                    assert bound == pytest.approx(math.log(largest), rel=1e-13)
                # and the looser form with e^epsilon is never needed
                assert bound <= math.log1p(draws / n * (float(q) ** -4 - 1)) * (1 + 1e-14)


# ---- Inequality (2) -------------------------------------------------------------------------


def test_inequality_2_as_corrected_holds() -> None:
    """Pr[ratio outside [1/(2E), 2E]] <= (2 + 1/E) delta, random laws; nearly attained."""
    rng = random.Random(22)
    nearest = F(0)
    for _ in range(1500):
        growth = rng.choice([F(1), F(11, 10), F(2)])
        small = F(rng.randint(1, 30), 1000)
        # one output twice too likely, one twice too rare, the rest shared
        factor = 2 * growth * (1 + F(rng.randint(1, 20), 1000))
        p = [small, small / rng.randint(1, 3) / factor]
        q = [small / factor, p[1] * factor]
        p.append(1 - sum(p, F(0)))
        q.append(1 - sum(q, F(0)))
        delta = max(
            sum((max(F(0), a - growth * b) for a, b in zip(p, q, strict=True)), F(0)),
            sum((max(F(0), b - growth * a) for a, b in zip(p, q, strict=True)), F(0)),
        )
        bad = sum(
            (a for a, b in zip(p, q, strict=True) if not 1 / (2 * growth) <= a / b <= 2 * growth),
            F(0),
        )
        bound = (2 + 1 / growth) * delta
        assert bad <= bound <= F(pb.liu_inequality_2(delta, epsilon=f"ln({growth})"))
        nearest = max(nearest, bad / bound)
    assert nearest > F(9, 10)


# ---- Rounding, and bad input ----------------------------------------------------------------


def test_rounding_is_outwards_and_tight() -> None:
    """Each logarithm against its formula in 60 digits: on the safe side, within 1e-14."""
    mp = mpmath.mpf
    with mpmath.workdps(60):
        n, draws, f, epsilon = 1000, 900, mp("0.3"), mp("2.5")
        eta, growth = mp(draws) / n, mpmath.exp(epsilon)
        model = DataModel([("0.3", "0.7")])
        setting: dict[str, Any] = {"n_records": n, "n_draws": draws, "model": model}
        kappa = kl(1 - 1 / growth, eta)
        c, g = (1 - eta) * mpmath.sqrt(1 / growth), (1 - eta) * mpmath.sqrt(growth)

        def moment(rate: mpmath.mpf) -> mpmath.mpf:
            return sum((1 - p * (1 - mpmath.exp(-rate))) ** n for p in (f, mp("0.7")))

        two = moment(kl(c, 1 - eta)) + mpmath.sqrt(growth) * moment(kl(g, 1 - eta))
        uppers = [
            (pb.liu_kl_smoothed_upper(epsilon="2.5", **setting).log, mpmath.log(moment(kappa))),
            (pb.liu_all_epsilon_smoothed_upper(epsilon="2.5", **setting).log, mpmath.log(two)),
            (
                pb.liu_kl_upper(counts=(400, 600), n_draws=draws, epsilon="2.5").log,
                -400 * kappa,
            ),
            (
                pb.liu_theorem_5_upper(counts=(400, 600), n_draws=90, epsilon="2.5").log,
                400 * (1 + mpmath.log(mp("0.09"))),
            ),
        ]
        lowers = [
            (
                pb.liu_exact_lower(**setting).log,
                mpmath.log((1 - f) ** 100 - (1 - eta) * (1 - f) ** 1000),
            ),
            (pb.liu_theorem_3_lower(**setting).log, mpmath.log(eta) + n * mpmath.log(f)),
        ]
    for (ours, truth), rate in zip(uppers, (eta, eta, eta, 1 - (1 - mp(1) / n) ** 90), strict=True):
        capped = min(truth, mpmath.log(rate))
        assert mp(ours) >= capped
        assert ours == pytest.approx(float(capped), rel=1e-14)
    for ours, truth in lowers:
        assert mpmath.mpf(ours) <= truth
        assert ours == pytest.approx(float(truth), rel=1e-14)


def test_deep_values_do_not_underflow() -> None:
    counts = (5 * 10**8, 5 * 10**8)
    arguments: dict[str, Any] = {"counts": counts, "sampling_rate": "0.5", "epsilon": 3}
    assert pb.liu_kl_upper(**arguments).log < -1e8
    assert pb.liu_kl_upper(**arguments) == 5e-324
    assert pb.liu_exact_lower(n_records=10**9, n_draws=10, model=HALF) == 0.0
    assert pb.liu_exact_lower(n_records=10**9, n_draws=10, model=HALF).log == pytest.approx(
        -(10**9 - 10) * math.log(2), rel=1e-9
    )


def test_extreme_parameters_stay_in_range() -> None:
    for epsilon in (0, "1e-300", "1e6", 10**300):
        for draws in (1, 50, 99, 100):
            arguments: dict[str, Any] = {"counts": (40, 60), "n_draws": draws, "epsilon": epsilon}
            for bound in (pb.liu_kl_upper(**arguments), pb.liu_all_epsilon_upper(**arguments)):
                assert 0 < bound <= draws / 100 * (1 + 1e-15)
            smoothed: dict[str, Any] = {
                "n_records": 100,
                "n_draws": draws,
                "epsilon": epsilon,
                "model": HALF,
            }
            assert 0 < pb.liu_kl_smoothed_upper(**smoothed) <= draws / 100 * (1 + 1e-15)
            assert 0 < pb.liu_all_epsilon_smoothed_upper(**smoothed) <= draws / 100 * (1 + 1e-15)
        assert math.isfinite(pb.liu_table_1(n_records=9, n_draws=3, noise_epsilon=epsilon))


@pytest.mark.parametrize(
    "change",
    [
        {"n_draws": 0}, {"n_draws": 101}, {"n_draws": True}, {"n_draws": None},
        {"sampling_rate": "0.5"}, {"n_records": 1}, {"n_records": 2.5}, {"epsilon": -1},
        {"epsilon": math.nan}, {"epsilon": math.inf}, {"model": None}, {"model": "half"},
        {"smallest_probability": "0.2", "n_categories": 2},
        {"model": None, "smallest_probability": "0.6", "n_categories": 2},
        {"model": None, "smallest_probability": "-0.1", "n_categories": 2},
        {"model": None, "smallest_probability": "0.1"},
    ],
    ids=str,
)  # fmt: skip
def test_bad_parameters_are_refused(change: dict[str, object]) -> None:
    arguments: dict[str, Any] = {
        "n_records": 100,
        "n_draws": 20,
        "epsilon": 3,
        "model": HALF,
    } | change
    with pytest.raises(InvalidParameter, match="Expected"):
        pb.liu_kl_smoothed_upper(**arguments)
    with pytest.raises(InvalidParameter, match="Expected"):
        pb.liu_remark_8(**arguments)


@pytest.mark.parametrize("counts", [(5,), (-1, 6), "12", 7, (0, 1), (1.5, 3)])
def test_bad_counts_are_refused(counts: object) -> None:
    with pytest.raises(InvalidData, match="Expected"):
        pb.liu_kl_upper(counts=counts, n_draws=1, epsilon=1)  # type: ignore[arg-type]


def test_bad_parameters_of_theorem_5_and_table_1() -> None:
    with pytest.raises(InvalidParameter, match="epsilon >= 1"):
        pb.liu_theorem_5_upper(counts=(5, 95), n_draws=10, epsilon="0.99")
    with pytest.raises(InvalidParameter, match="support"):
        pb.liu_table_1(n_records=4, n_draws=1, noise_epsilon=1, support="reals")  # type: ignore[arg-type]
    # With replacement more draws than records are allowed.
    assert pb.liu_theorem_5_dp(n_records=4, n_draws=9) < 1


def test_names_are_sorted_and_documented_with_a_verdict() -> None:
    assert sorted(pb.__all__) == sorted(set(pb.__all__))
    for name in pb.__all__:
        text = getattr(pb, name).__doc__
        assert text
        if name.startswith("liu_") and name not in {
            "liu_lemma_2",
            "liu_lemma_10",
            "liu_corollary_3",
        }:
            assert "Verdict" in text, name
