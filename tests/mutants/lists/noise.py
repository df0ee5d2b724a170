"""noise/: divergences of a law from its shifted and dilated copy."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

_DIVERGENCES = ("tests/rounding/test_divergences.py",)
_STRUCTURE = (*_DIVERGENCES, "tests/oracles/test_noise_divergences_structure.py")

MUTANTS = (
    Mutant(
        "noise/divergences/hockey_stick.py",
        "return _log_bounds(total, total + doubt)",
        "return _log_bounds(total, total)",
        "cells in doubt left out of the hockey stick",
        _DIVERGENCES,
    ),
    Mutant(
        "noise/divergences/hockey_stick.py",
        "share = special.minimum(-(epsilon - cell.upper).expm1(), special.number(1.0))",
        "share = special.minimum(-(epsilon - cell.lower).expm1(), special.number(1.0))",
        "cells in doubt bounded by their least loss",
        _DIVERGENCES,
    ),
    Mutant(
        "noise/divergences/hockey_stick.py",
        "        if cell.upper <= epsilon:\n            continue",
        "        if cell.lower <= epsilon and cell.is_tail:\n            continue",
        "tails in which the loss may exceed epsilon left out",
        _DIVERGENCES,
    ),
    Mutant(
        "noise/divergences/divergences.py",
        "return max(0.0, value * (1 + rounding * 3e-15))",
        "return max(0.0, value * (1 - rounding * 3e-15))",
        "a Renyi divergence rounded inwards",
        _DIVERGENCES,
    ),
    Mutant(
        "noise/divergences/divergences.py",
        "_divergence(first[0], below, -1), _divergence(last[1], above, 1)",
        "_divergence(first[0], below, -1), _divergence(last[0], above, 1)",
        "the upper Renyi divergence from the lower integral",
        _DIVERGENCES,
    ),
    Mutant(
        "noise/divergences/divergences.py",
        "return Offset(law, s * (-t).exp(), -t) if reverse else Offset(law, s, t)",
        "return Offset(law, s, -t) if reverse else Offset(law, s, t)",
        "the reverse pair without the stretch of its shift",
        _DIVERGENCES,
    ),
    Mutant(
        "noise/divergences/divergences.py",
        "return max(b[0] for b in bounds), max(b[1] for b in bounds)",
        "return max(b[0] for b in bounds), min(b[1] for b in bounds)",
        "the smaller of both directions",
        _STRUCTURE,
    ),
    Mutant(
        "noise/divergences/loss_integral.py",
        "high = log_total(np.array([upper, error, *(r[1] for r in outside)]))",
        "high = log_total(np.array([upper, error]))",
        "an integral without its tails and corners",
        _DIVERGENCES,
    ),
    Mutant(
        "noise/divergences/loss_integral.py",
        "slack = 1e-14 + 4e-16 * (abs(high) + (abs(low) if low > -math.inf else 0.0))",
        "slack = -1e-12",
        "an integral whose rounding is taken off",
        _DIVERGENCES,
    ),
    Mutant(
        "noise/divergences/loss_integral.py",
        "return log_total(lower) - rounding, log_total(upper) + rounding",
        "return log_total(lower), log_total(terms)",
        "a quadrature rule without the errors of its nodes",
        _DIVERGENCES,
        equivalent="A node is allowed 64 units of exp and log; what they err by in fact is below "
        "the 1e-14 that the assembly adds to every integral.",
    ),
    Mutant(
        "noise/divergences/excess.py",
        "return least - margin, float(ends.max()) + margin",
        "return least - margin, float(ends.min()) + margin",
        "the least excess of a cell for the largest",
        _DIVERGENCES,
    ),
)
