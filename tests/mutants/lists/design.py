"""design/ and what it asks: rates, one step of training, the epsilon of a delta."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

_RATES = ("tests/theorems/test_designer_proof.py",)
_FAR = ("tests/theorems/test_far_below.py",)
_EPSILON = (
    "tests/oracles/test_epsilon_of_a_delta.py::test_any_convex_curve_with_bumps",
    "tests/oracles/test_epsilon_of_a_delta.py::test_a_curve_that_is_its_own_chord",
)
_STATED = ("tests/conformance/test_stated_guarantees.py::test_a_false_claim_is_refused",)
_STEP = "design/step/bounds.py"

MUTANTS = (
    Mutant(
        "design/largest_draws.py",
        "height = max(_FLAT, found.upper - aim.lower)",
        "height = max(_FLAT, found.upper - aim.lower - 0.2)",
        "numbers of draws a little above the target count as met",
        _RATES,
    ),
    Mutant(
        "design/shared_rate.py",
        "rate = min(Fraction(b.n_draws",
        "rate = max(Fraction(b.n_draws",
        "the rate of the stratum that can lend most, for all",
        _RATES,
    ),
    Mutant(
        "design/noise_option.py",
        "value = Fraction(round_down(2 * twice))",
        "value = Fraction(round_down(2.001 * twice))",
        "noise that is a little too little",
        _RATES,
    ),
    Mutant(
        _STEP,
        "most = math.ceil(below) - 1",
        "most = math.ceil(below) - 2",
        "the largest count at which delta is not 0 is left out of a tail",
        _RATES,
    ),
    Mutant(
        _STEP,
        "chosen.append(min(u, w) + spread)",
        "chosen.append(min(u, w))",
        "levels of the same least probability count once",
        _RATES,
    ),
    Mutant(
        _STEP,
        "if share >= floor:",
        "if share > 1:",
        "the bound of Chernoff without its condition",
        _RATES,
    ),
    Mutant(
        "design/designed.py",
        "if found is None or differing(self, found) is not None:",
        "if found is None:",
        "an edited design is believed",
        _STATED,
    ),
    Mutant(
        "smoothed/largest_expectation.py",
        "if not (self.delta >= proved.delta and self.log_delta >= proved.log_upper):",
        "if not self.delta >= 0:",
        "an edited smoothed delta is believed",
        _STATED,
    ),
    Mutant(
        "mechanisms/histogram/walk/far.py",
        "- chosen.log() - 1",
        "- chosen.log() - 3",
        "the bound far below, smaller than it is proved",
        _FAR,
    ),
    Mutant(
        "mechanisms/histogram/walk/far.py",
        "start = chosen * (1 - power)",
        "start = chosen * (1 - power) * 2",
        "the bound far below with a mean that is too far away",
        _FAR,
    ),
    Mutant(
        "smoothed/several_epsilons.py",
        "if value > log_target:",
        "if value > 1.0:",
        "the answer is taken where its own evaluation refutes it",
        _EPSILON,
    ),
    Mutant(
        "smoothed/several_epsilons.py",
        "above = (ball(Fraction(low[1])) - goal).exp() - 1",
        "above = (ball(Fraction(low[1])) - goal).exp() / 2",
        "a chord that is steeper than it is",
        _EPSILON,
    ),
)
