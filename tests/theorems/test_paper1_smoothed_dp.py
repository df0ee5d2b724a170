"""Paper 1 (Liu, Wang, Xia): one test per numbered claim; the false ones by counterexample."""

from __future__ import annotations

import math
import random
from fractions import Fraction
from functools import partial
from itertools import product

import pytest

from smoothdp import BernoulliHistogram, SamplingHistogram
from smoothdp.exact.parameters.numbers import LogRatio
from smoothdp.mechanisms.histogram.accounting.hockey_stick import (
    hypergeometric_line_divergence,
    multinomial_line_divergence,
)
from smoothdp.paper_bounds import liu_corollary_3, liu_lemma_2
from smoothdp.testing import oracles

F = Fraction


def without(x: oracles.Database, m: int, draws: int) -> oracles.Law:
    return oracles.law_without_replacement(x, m, draws)


def random_laws(rng: random.Random, outputs: int, n_laws: int) -> list[oracles.Law]:
    laws: list[oracles.Law] = []
    for _ in range(n_laws):
        weights = [rng.choice([0, 1, 2, 5, 20]) + (k == 0) for k in range(outputs)]
        laws.append({(k,): F(w, sum(weights)) for k, w in enumerate(weights)})
    return laws


def utility(laws: list[oracles.Law], threshold: Fraction, truth: int) -> Fraction:
    """Equation (3) before the maximum over the missing record."""
    mean = F(0)
    for output, mass in laws[truth].items():
        total = sum(law[output] for law in laws)
        if mass:
            mean += mass * max(F(0), max(law[output] for law in laws) / total - threshold)
    return mean / (1 - threshold)


def test_definition_2_is_the_larger_direction() -> None:
    """Both directions are needed: neither alone is the maximum."""
    winners = set()
    for counts in [(2, 5), (5, 2), (3, 3), (2, 9)]:
        for growth in (F(3, 2), F(3)):
            a, b = counts
            epsilon = LogRatio(growth)
            forward = hypergeometric_line_divergence(a, b, 4, epsilon).upper
            backward = hypergeometric_line_divergence(b + 1, a - 1, 4, epsilon).upper
            winners.add(forward > backward)
    assert winners == {True, False}


def test_theorem_1_worst_case_is_the_maximum_over_databases() -> None:
    """max over x of delta(x) = T/n, and 1 - (1 - 1/n)^T with replacement, at every epsilon."""
    for n, draws in [(4, 2), (6, 5), (9, 1)]:
        for growth in (F(1), F(2), F(50)):
            mechanism = SamplingHistogram(n, n_draws=draws)
            deltas = [mechanism.delta((k, n - k), epsilon=f"ln({growth})") for k in range(n + 1)]
            assert max(deltas) == mechanism.worst_case_delta(epsilon=1)
            assert max(deltas) == pytest.approx(draws / n, rel=1e-15)


def test_theorem_3_iii_no_delta_below_the_sampling_rate() -> None:
    mechanism = SamplingHistogram(1000, sampling_rate="0.998")
    assert mechanism.delta((0, 1000), epsilon=50) >= 0.998


def test_theorem_3_i_is_false_as_printed() -> None:
    """f-positivity on the support: Pi = {(1/2, 1/2, 0)} never uses the third value, but a
    neighbour may, so delta(x) = T/n for every x."""
    mechanism = SamplingHistogram(100, n_draws=30)
    assert mechanism.delta((50, 50, 0), epsilon=3) == pytest.approx(0.3, rel=1e-15)
    # On two values, where the distribution has full support, the claim's decay is there.
    assert mechanism.delta((50, 50), epsilon=3) < 1e-6


def test_lemma_2_is_false_for_three_values() -> None:
    """G = (4, 4, 0), T = 4, epsilon = ln 2, pair (0, 1): u = .446712 > d + d' = .047619."""
    known, growth = (4, 4, 0), F(2)
    law = partial(without, m=3, draws=4)
    u = oracles.utility_by_enumeration(oracles.database(known), 3, law, growth / (1 + growth))
    x, y = law(oracles.database((5, 4, 0))), law(oracles.database((4, 5, 0)))
    both = oracles.hockey_stick(x, y, growth) + oracles.hockey_stick(y, x, growth)
    assert float(u) == pytest.approx(0.446712, abs=1e-6)
    assert float(both) == pytest.approx(0.047619, abs=1e-6)
    ours = SamplingHistogram(9, n_draws=4).adversary_utility(known, threshold="2/3")
    assert ours == pytest.approx(float(u), rel=1e-11)
    assert u > both


def test_lemma_2_is_false_for_the_record_of_x_too() -> None:
    """Two equal laws have d = d' = 0, and a third value is still told from the first: were the
    maximum in (3) over the records of x and x' only, Lemma 2 would not hold either."""
    same: oracles.Law = {(0,): F(1, 10), (1,): F(9, 10)}
    laws: list[oracles.Law] = [same, same, {(0,): F(99, 100), (1,): F(1, 100)}]
    assert utility(laws, F(2, 3), truth=0) == utility(laws, F(2, 3), truth=1) > F(1, 21)
    assert oracles.hockey_stick(same, same, F(2)) == 0


def test_lemma_2_needs_at_most_not_less() -> None:
    """u = d + d' = 0 where the output says nothing at this epsilon."""
    growth = F(50)
    law = partial(without, m=2, draws=1)
    x, y = law(oracles.database((4, 5))), law(oracles.database((5, 4)))
    both = oracles.hockey_stick(x, y, growth) + oracles.hockey_stick(y, x, growth)
    known = oracles.database((4, 4))
    assert both == oracles.utility_by_enumeration(known, 2, law, growth / (1 + growth)) == 0


def test_lemma_2_as_an_identity_for_two_values() -> None:
    """u_x + u_x' = d + d' exactly (proofs/adversary-utility#2), hence u <= d + d' for two."""
    rng = random.Random(2)
    for _ in range(300):
        laws = random_laws(rng, 4, 2)
        growth = rng.choice([F(1), F(3, 2), F(4)])
        threshold = growth / (1 + growth)
        both = oracles.hockey_stick(laws[0], laws[1], growth)
        both += oracles.hockey_stick(laws[1], laws[0], growth)
        utilities = [utility(laws, threshold, truth) for truth in (0, 1)]
        assert sum(utilities) == both
        offered = liu_lemma_2(
            float(oracles.hockey_stick(laws[0], laws[1], growth)),
            float(oracles.hockey_stick(laws[1], laws[0], growth)),
        )
        assert offered.lower <= max(utilities) <= offered.upper
        # Lemma 10 as it should read: (d + d') / u lies in [1, 2]; the paper has 3.
        assert both / 2 <= max(utilities) <= both


def test_corollary_3_with_the_sharp_constant_for_two_values() -> None:
    """u <= (E + 2) / (E + 1) delta(x): at most 3/2 delta, where the paper has 2."""
    rng = random.Random(3)
    largest = F(0)
    for _ in range(2000):
        laws = random_laws(rng, 3, 2)
        growth = rng.choice([F(1), F(2), F(5)])
        delta = max(
            oracles.hockey_stick(laws[0], laws[1], growth),
            oracles.hockey_stick(laws[1], laws[0], growth),
        )
        if delta:
            u = max(utility(laws, growth / (1 + growth), truth) for truth in (0, 1))
            largest = max(largest, u / delta / ((growth + 2) / (growth + 1)))
    assert F(9, 10) < largest <= 1


def test_corollary_3_for_three_values_as_proved() -> None:
    """u <= (1 + (m - 1) / (E + 1)) delta(x): the bound that `OutOfReach` names.

    Where the named value c is not the truth X, its share of the posterior is at most
    P_c / (P_c + P_X), which contributes at most d(c, X) / (E + 1); where it is, at most
    d(X, b) for any other b.
    """
    rng = random.Random(5)
    for _ in range(1500):
        laws = random_laws(rng, 4, 3)
        growth = rng.choice([F(1), F(2), F(5)])
        delta = max(
            oracles.hockey_stick(laws[i], laws[j], growth)
            for i, j in product(range(3), repeat=2)
            if i != j
        )
        u = max(utility(laws, growth / (1 + growth), truth) for truth in range(3))
        assert u <= (1 + F(2) / (growth + 1)) * delta
        offered = liu_corollary_3(delta, epsilon=f"ln({growth})", n_categories=3)
        assert min(F(1), (1 + F(2) / (growth + 1)) * delta) <= F(offered)
        assert offered <= float((1 + F(2) / (growth + 1)) * delta) * (1 + 1e-12) + 1e-300


def test_inequality_2_is_false() -> None:
    """P = (.2, .0904, .7096), Q swapped, epsilon = .1: Pr[bad] = .2904 > 2 delta = .2002."""
    p: oracles.Law = {(0,): F(2000, 10000), (1,): F(904, 10000), (2,): F(7096, 10000)}
    q: oracles.Law = {(0,): p[(1,)], (1,): p[(0,)], (2,): p[(2,)]}
    growth = F(math.exp(0.1))
    delta = max(oracles.hockey_stick(p, q, growth), oracles.hockey_stick(q, p, growth))
    bad = sum(
        (mass for key, mass in p.items() if not 1 / (2 * growth) <= mass / q[key] <= 2 * growth),
        F(0),
    )
    assert float(delta) == pytest.approx(0.10009, abs=1e-5)
    assert bad == F(2904, 10000)
    assert bad > 2 * delta
    assert bad <= (2 + 1 / growth) * delta


def test_justification_1_errors_sum() -> None:
    """e^epsilon E_I + E_II >= 1 - delta for every rejection region, by enumeration."""
    law = partial(without, m=2, draws=3)
    x, y = law(oracles.database((3, 4))), law(oracles.database((4, 3)))
    growth = F(3, 2)
    delta = max(oracles.hockey_stick(x, y, growth), oracles.hockey_stick(y, x, growth))
    outputs = sorted(set(x) | set(y))
    sums = []
    for chosen in product((False, True), repeat=len(outputs)):
        region = [o for o, c in zip(outputs, chosen, strict=True) if c]
        type_1 = sum((y.get(o, F(0)) for o in region), F(0))
        type_2 = 1 - sum((x.get(o, F(0)) for o in region), F(0))
        sums.append(growth * type_1 + type_2)
    assert min(sums) == 1 - oracles.hockey_stick(x, y, growth) >= 1 - delta


def test_footnote_2_any_decision_rule() -> None:
    """Rules that reject at random lie between the regions: the same bound, by linearity."""
    law, growth, rng = partial(without, m=2, draws=3), F(3, 2), random.Random(12)
    x, y = law(oracles.database((3, 4))), law(oracles.database((4, 3)))
    least = 1 - oracles.hockey_stick(x, y, growth)
    for _ in range(300):
        rule = {o: F(rng.randrange(11), 10) for o in {*x, *y}}
        type_1 = sum((mass * rule[o] for o, mass in y.items()), F(0))
        type_2 = 1 - sum((mass * rule[o] for o, mass in x.items()), F(0))
        assert growth * type_1 + type_2 >= least


def test_justification_1_of_the_library_at_every_database() -> None:
    """min over tests of E E_I + E_II is 1 - delta(x), in the worst direction, with the delta that
    the library has; no smaller one would do."""
    n, draws = 6, 4
    mechanism = SamplingHistogram(n, n_draws=draws)
    for epsilon, growth in (("ln(11/10)", F(11, 10)), ("ln(3)", F(3))):
        for k in range(n + 1):
            x = oracles.database((k, n - k))
            least = F(10)
            for y in {oracles.database((j, n - j)) for j in (k - 1, k + 1) if 0 <= j <= n}:
                p, q = (oracles.law_without_replacement(one, 2, draws) for one in (x, y))
                outputs = sorted({*p, *q})
                for chosen in product((False, True), repeat=len(outputs)):
                    region = [o for o, inside in zip(outputs, chosen, strict=True) if inside]
                    # x tested against y, and y against x.
                    for null, other in ((p, q), (q, p)):
                        first = sum((null.get(o, F(0)) for o in region), F(0))
                        second = 1 - sum((other.get(o, F(0)) for o in region), F(0))
                        least = min(least, growth * first + second)
            delta = mechanism.delta((k, n - k), epsilon=epsilon)
            assert 1 - F(delta) <= least
            assert float(1 - least) == pytest.approx(delta, rel=1e-12, abs=1e-300)


def test_theorem_4_discrete_part_cap() -> None:
    """delta(x) <= T/n for every x, with equality at epsilon > 0 iff a count is 0 or 1."""
    n = 12
    for draws in range(1, n):
        mechanism = SamplingHistogram(n, n_draws=draws)
        cap = mechanism.worst_case_delta(epsilon=1)
        for k in range(n + 1):
            delta = mechanism.delta((k, n - k), epsilon="0.3")
            assert delta <= cap
            assert (delta == cap) == (min(k, n - k) <= 1)


def test_cap_is_met_by_no_more_than_the_printed_condition_says() -> None:
    """Above counts of 1 it is met at T = n, and at epsilon = 0, T = 1 (proofs/two-smallest#7)."""
    with pytest.warns(UserWarning, match="nothing is lost"):
        everything = SamplingHistogram(7, n_draws=7)
    assert everything.delta((3, 4), epsilon=2) == 1.0
    single = SamplingHistogram(7, n_draws=1)
    assert single.delta((3, 4), epsilon=0) == single.worst_case_delta(epsilon=0)


def test_theorem_5_dp_part_is_false_from_three_draws_on() -> None:
    """n = 100: delta_DP = 1 - (1 - 1/n)^T is below the claimed T/(n + 1) from T = 3 on.

    At T = 3 the difference is exactly (1 - 2n) / n^3 / (n + 1) < 0, small but for every n.
    """
    for draws, exact, claimed in [
        (3, 0.029701, 0.0297030),
        (4, 0.039404, 0.039604),
        (10, 0.095618, 0.099010),
    ]:
        mechanism = SamplingHistogram(100, n_draws=draws, sampling="with_replacement")
        value = mechanism.worst_case_delta(epsilon="1.2")
        assert value == pytest.approx(exact, abs=1e-6)
        assert draws / 101 == pytest.approx(claimed, abs=1e-6)
        assert value < draws / 101
        assert 1 - F(99, 100) ** draws < F(draws, 101)
        assert value >= draws / (100 + draws)
    for draws in (1, 2):
        mechanism = SamplingHistogram(100, n_draws=draws, sampling="with_replacement")
        assert mechanism.worst_case_delta(epsilon=1) >= draws / 101


def test_theorem_5_proof_is_false_at_two_t_over_n() -> None:
    """n = 100, T = 10, M = 5: at epsilon = 2T/n delta is .0151, not (e T/n)^M = .0015."""
    mechanism = SamplingHistogram(100, n_draws=10, sampling="with_replacement")
    bound = (math.e * 0.1) ** 5
    assert mechanism.delta((5, 95), epsilon="0.2") == pytest.approx(0.0151, abs=1e-4)
    assert mechanism.delta((5, 95), epsilon="0.2") > bound
    assert mechanism.delta((5, 95), epsilon="1.2") <= bound


def test_ceiling_of_the_rate_publishes_everything_below_500() -> None:
    """T = ceil(.998 n) = n for every n < 500: nothing is lost there."""
    for n in (100, 499):
        with pytest.warns(UserWarning, match="nothing is lost"):
            assert SamplingHistogram(n, sampling_rate="0.998").n_draws == n
    assert SamplingHistogram(500, sampling_rate="0.998").n_draws == 499


def test_inequality_7_is_false() -> None:
    """n = 100, T = 1, H = (1, 99), epsilon = 1: delta = .01, the bound is e^-1300."""
    mechanism = SamplingHistogram(100, n_draws=1)
    assert mechanism.delta((1, 99), epsilon=1) == pytest.approx(0.01, rel=1e-15)
    rate = 0.01
    bound = -(1 / 3) * ((1 - math.exp(-1)) / rate - 1) ** 2 * 1
    assert bound < -1200


def test_two_smallest_counts() -> None:
    """The worst neighbour moves a record between the two smallest counts
    (proofs/two-smallest#4):
    D falls in each argument, without and with replacement, both directions."""
    for growth in (F(1), F(11, 10), F(2), F(6)):
        for draws in (2, 5, 9):
            for kind, law in (("without", without), ("with", oracles.law_with_replacement)):
                if kind == "with" and draws > 2:
                    continue
                values = {}
                n = 10
                for a in range(1, 6):
                    for b in range(5):
                        x = law(oracles.database((a, b, n - a - b)), 3, draws)
                        y = law(oracles.database((a - 1, b + 1, n - a - b)), 3, draws)
                        values[a, b] = oracles.hockey_stick(x, y, growth)
                for (a, b), value in values.items():
                    assert value >= values.get((a + 1, b), F(0))
                    assert value >= values.get((a, b + 1), F(0))


def test_figure_1_as_confirmed() -> None:
    """log10 of utility and delta at t = .51, 0.2% lost; votes of 2020 and 1920 are exact."""
    from tests.theorems.computed_figures import election_figure

    rows = {row.year: row for row in election_figure().elections}
    for year, log_u, log_delta in [
        (2020, -31.953, -31.922),
        (1920, -7.818, -7.786),
        (2016, -27.237, -27.224),
        (1960, -16.313, -16.313),
    ]:
        assert rows[year].log_utility / math.log(10) == pytest.approx(log_u, abs=6e-4)
        assert rows[year].log_delta / math.log(10) == pytest.approx(log_delta, abs=6e-4)
    assert all(row.below_one_over_n for row in rows.values())


def test_figure_1_utility_is_below_one_over_n() -> None:
    """In every election since 1920; nearest in 1924, by a factor of 1.39."""
    from tests.theorems.computed_figures import election_figure

    room = {
        row.year: -(row.log_utility + math.log(row.n_votes)) / math.log(10)
        for row in election_figure().elections
    }
    assert len(room) == 27
    assert min(room, key=room.__getitem__) == 1924
    assert min(room.values()) == pytest.approx(math.log10(1.385), abs=1e-3)


def test_appendix_a2_claim_fails_at_the_threshold_of_figure_1() -> None:
    """0.01% lost: private at t = .6 (2020: 1e-139), not at t = .51 (10^-4.5 > 1/n)."""
    n = 155_507_476
    mechanism = SamplingHistogram(n, sampling_rate="0.9999")
    counts = (81_283_501, 74_223_975)
    deep = mechanism.log_delta(counts, epsilon="ln(3/2)") / math.log(10)
    shallow = mechanism.log_delta(counts, epsilon="ln(51/49)") / math.log(10)
    assert deep == pytest.approx(-139, abs=1)
    assert shallow == pytest.approx(-4.5, abs=0.1)
    assert shallow > -math.log10(n)


def test_independent_losses_have_the_same_worst_case() -> None:
    """Each record kept with probability p: ordinary DP gives delta = p, at every epsilon."""
    mechanism = BernoulliHistogram(9, keep_probability="0.7")
    deltas = [mechanism.delta((k, 9 - k), epsilon=4) for k in range(10)]
    assert max(deltas) == mechanism.worst_case_delta(epsilon=4) == pytest.approx(0.7, rel=1e-15)


def test_with_replacement_special_cases() -> None:
    """Two draws from counts (2, 2), epsilon = ln 2, by hand.

    P(i) = (1, 2, 1) / 4 against Q(i) = (9, 6, 1) / 16: only i = 2 has P > 2 Q.
    """
    bounds = multinomial_line_divergence(2, 2, 2, LogRatio(F(2)))
    assert math.exp(bounds.upper) == pytest.approx(1 / 8, rel=1e-14)
