"""Atoms of a pair whose first law becomes a mixture with the second (proofs/subsampled-steps#1)."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from smoothdp.claims.curves.atoms import Atoms
from smoothdp.composition.laws.atoms import AtomsLaw
from smoothdp.composition.laws.law import Slack
from smoothdp.composition.laws.symmetrise import directed_law
from smoothdp.exact.balls.balls import ball, precision
from smoothdp.exact.logspace.bounds import LIBM_ERROR, UNIT_ROUNDOFF


def mixed(atoms: Atoms, rate: Fraction) -> Atoms:
    """Return the masses (1 - q) q_i + q p_i, against q_i."""
    with precision(128):
        log_rate = float(ball(rate).log().mid())
        log_rest = float(ball(1 - rate).log().mid()) if rate < 1 else -math.inf
    first, second = atoms.log_p + log_rate, atoms.log_q + log_rest
    masses = np.logaddexp(first, second)
    finite = np.concatenate([first, second, masses])
    size = float(np.abs(finite[np.isfinite(finite)]).max(initial=0.0))
    size += abs(log_rate) + (abs(log_rest) if rate < 1 else 0.0)
    # logaddexp: a difference, exp, log1p and a sum, each within LIBM_ERROR of its value.
    error = 8 * LIBM_ERROR + 8 * UNIT_ROUNDOFF * (1 + size)
    return Atoms(masses, atoms.log_q, atoms.error + error)


def both_laws(atoms: Atoms, slack: Slack) -> tuple[AtomsLaw, AtomsLaw]:
    """Return the laws of both directions of a pair, of which more slack is known."""
    sides = directed_law(atoms), directed_law(Atoms(atoms.log_q, atoms.log_p, atoms.error))
    first, second = (
        AtomsLaw(
            law.log_masses,
            law.losses,
            law.infinite,
            Slack(law.slack.mass + slack.mass, law.slack.loss + slack.loss),
        )
        for law in sides
    )
    return first, second
