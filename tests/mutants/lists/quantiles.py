"""Several quantiles under pure DP: the laws, their samplers, and the bound of the proposals."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

_NOISE = ("tests/theorems/test_joint_quantiles_proof.py",)
_EXPONENTIAL = ("tests/theorems/test_joint_exponential_proof.py",)
_FOLDER = "mechanisms/quantiles/joint"

MUTANTS = (
    Mutant(
        "noise/joint/radial_profile.py",
        "rates = [ball(1 / (b + 2 - m + i)) for i in range(m)]",
        "rates = [ball(1 / (b + 1 + i)) for i in range(m)]",
        "a radius with a lighter tail",
        _NOISE,
    ),
    Mutant(
        "noise/joint/radial_profile.py",
        "kept += outer * log_size - level",
        "kept = zero",
        "the inner part of the radius is never thinned",
        _NOISE,
    ),
    Mutant(
        "noise/joint/joint_poly_place.py",
        "rest = self.shape - sum(self.smoothings) / self.smoothing",
        "rest = self.shape - self.n_values * min(self.smoothings) / self.smoothing",
        "smoothings of other numbers are not paid for",
        _NOISE,
    ),
    Mutant(
        f"{_FOLDER}/chain_tables.py",
        "return -math.log(math.factorial(length)) - self.rate * float(span)",
        "return -self.rate * float(span)",
        "cells without 1/k! in the tables",
        _EXPONENTIAL,
    ),
    Mutant(
        f"{_FOLDER}/exponential_draws.py",
        "product *= self._cells.length(cell) ** count / math.factorial(count)",
        "product *= self._cells.length(cell) ** count",
        "cells without 1/k! in the acceptance",
        _EXPONENTIAL,
    ),
    Mutant(
        f"{_FOLDER}/exponential_draws.py",
        "weights = (shifted * 2.0**WEIGHT_BITS).astype(np.int64) + 1",
        "weights = (shifted * 2.0**WEIGHT_BITS).astype(np.int64)",
        "a whole weight below its part",
        _EXPONENTIAL,
    ),
    Mutant(
        f"{_FOLDER}/exponential_draws.py",
        "if self._is_inside(cells):",
        "if not self._is_inside(cells):",
        "far cells are drawn where near ones are meant",
        _EXPONENTIAL,
    ),
)
