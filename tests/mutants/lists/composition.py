"""composition/: laws of losses, their slack, and which route bounds delta."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

_COMPOSE = ("tests/rounding/test_composition.py",)
_LAWS = (
    "tests/rounding/test_laws.py",
    "tests/oracles/test_compose.py::test_symmetrised_law_is_the_larger_of_both",
)
_BRACKETS = "tests/oracles/test_compose_brackets.py"
_STICK = (
    f"{_BRACKETS}::test_the_larger_stick_is_larger_and_not_by_much",
    f"{_BRACKETS}::test_the_slack_of_a_symmetrised_pair_is_needed",
    f"{_BRACKETS}::test_ties_are_followed_either_way",
)
_INFINITE = (
    f"{_BRACKETS}::test_the_bounds_of_mass_at_infinity_are_needed",
    f"{_BRACKETS}::test_the_rounding_of_joined_masses_is_needed",
)
_NESTED = ("tests/oracles/test_compose_nesting.py",)
_PAIR = ("tests/rounding/test_laws.py", "tests/oracles/test_pair.py")

MUTANTS = (
    Mutant(
        "composition/laws/product.py",
        "return log_sum + slip if direction > 0 else log_sum - slip - math.exp(log_sum)",
        "return log_sum - slip if direction > 0 else log_sum - slip - math.exp(log_sum)",
        "the chance of an infinite loss rounded down",
        _COMPOSE,
    ),
    Mutant(
        "composition/laws/product.py",
        "return log_sum + slip if direction > 0 else log_sum - slip - math.exp(log_sum)",
        "return log_sum + slip if direction > 0 else log_sum - slip",
        "a sum of chances as a lower bound of their union",
        _COMPOSE,
    ),
    Mutant(
        "composition/laws/product.py",
        "total *= 1 + direction * 32 * LIBM_ERROR",
        "total *= 1 - direction * 1e-12",
        "large chances of an infinite loss rounded inwards",
        _COMPOSE,
    ),
    Mutant(
        "composition/routes/large_losses.py",
        "return Cut(terms, 3 * log_mass - math.log(6) + 1e-9)",
        "return Cut(terms, -math.inf)",
        "three large losses and more left out",
        _COMPOSE,
    ),
    Mutant(
        "composition/routes/large_losses.py",
        "for j in places if i <= j]",
        "for j in places if i < j]",
        "two large losses of one law left out",
        _COMPOSE,
    ),
    Mutant(
        "composition/routes/large_losses.py",
        "times *= math.comb(count, large)",
        "times *= math.comb(count, large) if large < 2 else count",
        "pairs of large losses counted once",
        _COMPOSE,
    ),
    Mutant(
        "composition/composed_profile.py",
        "return high if side > 0 else low\n            step",
        "return low if side > 0 else high\n            step",
        "the unsafe end of the bracket of epsilon",
        _COMPOSE,
    ),
    Mutant(
        "composition/routes/solver.py",
        "low, high = math.nextafter(low - slack.loss, -math.inf), high + slack.loss",
        "low, high = math.nextafter(low + slack.loss, -math.inf), high - slack.loss",
        "the slack of losses taken inwards",
        _COMPOSE,
    ),
    Mutant(
        "composition/routes/solver.py",
        "log_sum_lower(lower.lower, infinite.lower), log_sum_upper(upper.upper, infinite.upper)",
        "log_sum_lower(lower.lower, infinite.lower), max(upper.upper, infinite.upper)",
        "the larger of finite and infinite losses for both",
        _COMPOSE,
    ),
    Mutant(
        "composition/routes/solver.py",
        "total = total.shifted(LogBounds(-slack.mass, slack.mass))",
        "total = total.shifted(LogBounds(-slack.mass, 0.0))",
        "the slack of masses left out of the upper bound",
        _COMPOSE,
    ),
    Mutant(
        "composition/laws/grid_pair.py",
        "float(values[-1]), Knots(losses, values, values), upward=True",
        "float(values[-1]) - 1.0, Knots(losses, values, values), upward=True",
        "what is beyond the last point of a grid partly lost",
        _LAWS,
    ),
    Mutant(
        "composition/laws/grid_pair.py",
        "worst = max(0.0, float(gap.max(initial=0.0))) + error + 1e-14",
        "worst = 0.0",
        "a grid law said to be the true one",
        _LAWS,
    ),
    Mutant(
        "composition/laws/grid_pair.py",
        "losses, values = knots.losses[points], upper[points]",
        "losses, values = knots.losses[points], knots.lower[points]",
        "the law above from lower bounds",
        _LAWS,
    ),
    Mutant(
        "composition/laws/symmetrise.py",
        "mass = max(first.slack.mass, second.slack.mass) + width + larger.mass",
        "mass = max(first.slack.mass, second.slack.mass) + larger.mass",
        "mass at infinity taken at its upper bound, and said to be exact",
        _LAWS,
    ),
    Mutant(
        "composition/laws/symmetrise.py",
        "loss = max(first.slack.loss, second.slack.loss) + larger.loss",
        "loss = max(first.slack.loss, second.slack.loss)",
        "a crossing said to be where a double is",
        _STICK,
    ),
    Mutant(
        "composition/laws/symmetrise.py",
        "slip = error + 8 * LIBM_ERROR * (1 + abs(log_infinite))",
        "slip = error",
        "a sum of masses at infinity said to be exact",
        _INFINITE,
        equivalent="the atoms at infinity are one by then: `joined` has added them, with the "
        "rounding of that sum in its error",
    ),
    Mutant(
        "composition/laws/larger_stick.py",
        "log_masses = [round_up(exact)]",
        "log_masses = [round_down(exact)]",
        "masses at a kink rounded down",
        _STICK,
    ),
    Mutant(
        "composition/laws/larger_stick.py",
        "return _Kink(left, after * unit), _Kink(right, before * unit)",
        "return _Kink(left, before * unit), _Kink(right, after * unit)",
        "the chord over a crossing with its ends exchanged",
        _STICK,
    ),
    Mutant(
        "composition/laws/larger_stick.py",
        "        return 1\n    return -1 if b - a > _TIE * b else 0",
        "        return 1\n    return 0",
        "a stick that is larger, taken for a tie",
        _STICK,
    ),
    Mutant(
        "composition/nested.py",
        "keep = inner.aligned and aligned",
        "keep = aligned",
        "a composition of symmetrised items read in one orientation",
        _NESTED,
    ),
    Mutant(
        "composition/nested.py",
        "if inner.two_ways and not aligned and not smoothed:",
        "if False:",
        "a composition in one orientation opened among symmetrised items as if it had none",
        _NESTED,
    ),
    Mutant(
        "composition/items.py",
        "if neighbours is not Neighbours.REPLACE_ONE and first is None:",
        "if False:",
        "the order of a pair that does not say who has the record",
        _NESTED,
    ),
    Mutant(
        "composition/items.py",
        'ways if first != "without_record" else ways[::-1]',
        "ways",
        "who has the record, not read",
        _NESTED,
    ),
    Mutant(
        "composition/laws/symmetrise.py",
        "max(forward.slack.mass, backward.slack.mass) + 1.01 * gaps[0],",
        "max(forward.slack.mass, backward.slack.mass),",
        "a mirror image said to be exact in its masses",
        _LAWS,
    ),
    Mutant(
        "claims/curves/atoms.py",
        "_group_sum(q, starts), error + widest + rounding)",
        "_group_sum(q, starts), error + rounding)",
        "joined atoms whose losses are said to be equal",
        _PAIR,
    ),
    Mutant(
        "claims/curves/atoms.py",
        "upper = (total * (1 + relative) + loose) * (1 + 1e-15) + 1e-307",
        "upper = total",
        "a hockey stick of atoms without its rounding",
        _PAIR,
    ),
    Mutant(
        "claims/curves/atoms.py",
        "lower = total * (1 - relative) - loose",
        "lower = total * (1 + relative) + loose",
        "the rounding of a hockey stick added to its lower side",
        _PAIR,
    ),
    Mutant(
        "claims/curves/atoms.py",
        "near = gap > -slip",
        "near = gap > slip",
        "atoms left out whose loss may exceed epsilon",
        _PAIR,
    ),
)
