"""Totals of flipped bits, on which the Boolean and the real sum rest."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

_FLIPS = ("tests/rounding/test_flips.py", "tests/references/test_shuffle_sums.py")
_WAVES = ("tests/rounding/test_flips.py", "tests/oracles/test_compose_rounding.py")

MUTANTS = (
    Mutant(
        "exact/probabilities/tilted_window.py",
        "dropped = 0.0 if low == 0 and high == n_trials else 2.0 * math.exp(-_NATS)",
        "dropped = 0.0",
        "a window said to hold all",
        _FLIPS,
    ),
    Mutant(
        "exact/probabilities/tilted_window.py",
        "error = 1.01 * units * UNIT_ROUNDOFF + dropped",
        "error = dropped",
        "masses of a window said to be exact",
        _FLIPS,
    ),
    Mutant(
        "exact/probabilities/tilted_window.py",
        "step_error = (6.0 + self.odds_roundings) * float((mass + before).max()) * UNIT_ROUNDOFF",
        "step_error = 0.0",
        "steps of a window said to be exact",
        _FLIPS,
    ),
    Mutant(
        "shuffle/accounting/flip_kernel.py",
        "if at_most(LogRatio(((1 - flip) / flip) ** n_bits), epsilon):",
        "if at_most(LogRatio((1 - flip) / flip), epsilon):",
        "delta 0 from where it is 0 for one bit",
        _FLIPS,
    ),
    Mutant(
        "shuffle/accounting/flip_kernel.py",
        "residual=(min(0.0, round_down(residual)), max(0.0, round_up(residual))),",
        "residual=(0.0, 0.0),",
        "a kernel said to sum to 0",
        _FLIPS,
    ),
    Mutant(
        "shuffle/accounting/flipped_bits.py",
        "upper = (total + loose * 1.01 + residual_high * mass + dropped)",
        "upper = (total + residual_high * mass + dropped)",
        "delta of flipped bits without its rounding",
        _FLIPS,
    ),
    Mutant(
        "shuffle/accounting/flipped_bits.py",
        "lower = (total - loose * 1.01 + residual_low * mass - 2 * dropped)",
        "lower = (total + loose * 1.01 + residual_low * mass - 2 * dropped)",
        "the rounding of delta added to its lower side",
        _FLIPS,
    ),
    Mutant(
        "shuffle/accounting/flipped_bits.py",
        "(value + loose * 1.01 + dropped) * (1 + 4 * UNIT_ROUNDOFF),",
        "value,",
        "a tail of flipped bits without its rounding",
        _FLIPS,
    ),
    Mutant(
        "shuffle/accounting/flipped_bits.py",
        "log_difference_lower(0.0, other.upper), log_difference_upper(0.0, other.lower)",
        "log_difference_lower(0.0, other.lower), log_difference_upper(0.0, other.upper)",
        "one minus a tail of flipped bits from the wrong sides",
        _FLIPS,
    ),
    Mutant(
        "shuffle/accounting/flip_curve.py",
        "alphas = cumulated[0] * (1 - other_error - rounding)",
        "alphas = cumulated[0]",
        "type I errors to nearest, not down",
        _FLIPS,
    ),
    Mutant(
        "shuffle/accounting/flip_curve.py",
        "cumulated[1] * (1 + error + rounding) + dropped)",
        "cumulated[1])",
        "powers to nearest, not up",
        _FLIPS,
    ),
    Mutant(
        "composition/laws/oscillation.py",
        "constant = ((2 * lengths + 12) * UNIT_ROUNDOFF + 3 * TRIG_ERROR) * size * 1.01",
        "constant = 0.0",
        "sums of waves said to have exact sines",
        _WAVES,
    ),
    Mutant(
        "composition/laws/oscillation.py",
        "slope = 1.01 * UNIT_ROUNDOFF * float(np.sum(weights * np.abs(positions)))",
        "slope = 0.0",
        "sums of waves said to have exact angles",
        _WAVES,
    ),
    Mutant(
        "composition/laws/oscillation.py",
        "dropped = 1.01 * float(np.sum(sizes[~keep]))",
        "dropped = 0.0",
        "waves left out and not counted",
        _WAVES,
    ),
    Mutant(
        "composition/laws/oscillation.py",
        "math.ldexp(math.floor(mantissa * 4096) / 4096, exponent)",
        "math.ldexp(math.ceil(mantissa * 4096) / 4096, exponent)",
        "a step rounded up: the period is too short",
        _WAVES,
    ),
)
