"""From one-directional finite pairs to the law that dominates both directions.

Composing all-forward and all-reversed pairs and taking the larger is no bound when items can
point different ways (proofs/symmetrised-composition#4, #5). The pointwise larger of the two D is
convex, hence the D of a pair again (#1, #2): piecewise linear, with the kinks of whichever D is
larger and one where they cross (`larger_stick`). A kink at E is an atom of loss ln E, of Q-mass
the change of slope and of P-mass E times that.
"""

from __future__ import annotations

import math

import numpy as np

from smoothdp.claims.curves.atoms import Atoms
from smoothdp.composition.laws.atoms import AtomsLaw
from smoothdp.composition.laws.larger_stick import FARTHEST, Stick, larger_stick
from smoothdp.composition.laws.law import LossBracket, Slack, known
from smoothdp.exact.logspace.bounds import LIBM_ERROR, UNIT_ROUNDOFF, LogBounds, log_sum_upper
from smoothdp.types import FloatArray

# Atomwise differences of a pair and its mirror image below this are taken into the slack.
_MIRRORED = 1e-12
# Mass at infinity that is known less well than this gets two laws, above and below.
_LOOSE = 1e-9


def directed_law(atoms: Atoms) -> AtomsLaw:
    """Return the law of the loss of p against q, atoms joined where losses agree."""
    p, q, error = atoms.alive().joined()
    infinite = np.isneginf(q)
    masses = p[infinite]
    log_infinite, slip = -math.inf, 0.0
    if masses.size:
        log_infinite = _log_sum(masses)
        slip = error + 8 * LIBM_ERROR * (1 + abs(log_infinite))
    shared = ~infinite & (p > -math.inf)
    log_p, losses = p[shared], p[shared] - q[shared]
    order = np.argsort(losses, kind="stable")
    widest = float(np.abs(losses).max(initial=0.0))
    return AtomsLaw(
        log_p[order],
        losses[order],
        LogBounds(log_infinite - slip, min(0.0, log_infinite + slip)),
        Slack(error, 2 * error + UNIT_ROUNDOFF * widest),
    )


def both_directions(atoms: Atoms) -> tuple[AtomsLaw, AtomsLaw]:
    """Return the laws of p against q and of q against p."""
    return directed_law(atoms), directed_law(Atoms(atoms.log_q, atoms.log_p, atoms.error))


def symmetrised(forward: AtomsLaw, backward: AtomsLaw) -> LossBracket:
    """Return the laws of the pointwise larger of the two D.

    For a pair that is its own mirror image this is the pair itself. Else there is one law, whose
    slack is that of the two directions, the rounding of masses, and the width of a crossing,
    which moves a loss. Only losses beyond 1e6 count as infinite in a law above and as 1e6 in a
    law below; those below -1e6 as -1e6 above, and not at all below.
    """
    mirrored = _mirrored(forward, backward)
    if mirrored is not None:
        return mirrored
    both = forward, backward
    near = all(np.abs(law.losses).max(initial=0.0) <= FARTHEST for law in both)
    if near and all(_width(law.log_infinite) <= _LOOSE for law in both):
        return known(_larger(forward, backward))
    return LossBracket(
        _larger(*(_cut_above(law) for law in both)), _larger(*(_cut_below(law) for law in both))
    )


def _larger(first: AtomsLaw, second: AtomsLaw) -> AtomsLaw:
    """Return the law of the larger of two D, of losses up to 1e6."""
    larger = larger_stick(_stick(first), _stick(second))
    # Mass at infinity is taken at its upper bound: a factor of one term of D.
    width = max(_width(law.log_infinite) for law in (first, second))
    mass = max(first.slack.mass, second.slack.mass) + width + larger.mass
    loss = max(first.slack.loss, second.slack.loss) + larger.loss
    return AtomsLaw(
        larger.stick.log_masses,
        larger.stick.losses,
        LogBounds(larger.stick.log_infinite, larger.stick.log_infinite),
        Slack(mass * (1 + 1e-15), loss * (1 + 1e-15)),
    )


def _stick(law: AtomsLaw) -> Stick:
    return Stick(law.log_masses, law.losses, law.log_infinite.upper)


def _width(bounds: LogBounds) -> float:
    return 0.0 if bounds.lower == bounds.upper else math.nextafter(bounds.upper - bounds.lower, 1)


def _cut_above(law: AtomsLaw) -> AtomsLaw:
    """Return a law of larger losses, none beyond 1e6 in size but the infinite ones."""
    far = law.losses > FARTHEST
    upper = law.log_infinite.upper
    for log_mass in law.log_masses[far].tolist():
        upper = log_sum_upper(upper, log_mass)
    upper = min(0.0, upper)
    return AtomsLaw(
        law.log_masses[~far],
        np.maximum(law.losses[~far], -FARTHEST),
        LogBounds(upper, upper),
        law.slack,
    )


def _cut_below(law: AtomsLaw) -> AtomsLaw:
    """Return a law of smaller losses, none beyond 1e6 in size but the infinite ones."""
    near = law.losses >= -FARTHEST
    lower = law.log_infinite.lower
    return AtomsLaw(
        law.log_masses[near],
        np.minimum(law.losses[near], FARTHEST),
        LogBounds(lower, lower),
        law.slack,
    )


def _mirrored(forward: AtomsLaw, backward: AtomsLaw) -> LossBracket | None:
    """Return the forward law if the backward one equals it, up to a slack."""
    if forward.losses.size != backward.losses.size:
        return None
    gaps = [0.0, 0.0]
    for index, (a, b) in enumerate(
        ((forward.log_masses, backward.log_masses), (forward.losses, backward.losses))
    ):
        gaps[index] = float(np.abs(a - b).max(initial=0.0))
    infinite = forward.log_infinite.upper, backward.log_infinite.upper
    if infinite[0] != infinite[1]:
        gaps[0] = max(gaps[0], abs(infinite[0] - infinite[1]))
    widest = max(_MIRRORED, 2 * forward.slack.mass, 2 * forward.slack.loss)
    if max(gaps) > widest:
        return None
    slack = Slack(
        max(forward.slack.mass, backward.slack.mass) + 1.01 * gaps[0],
        max(forward.slack.loss, backward.slack.loss) + 1.01 * gaps[1],
    )
    # Both directions lie within the slack of this one law.
    infinite_bounds = LogBounds(
        min(forward.log_infinite.lower, backward.log_infinite.lower),
        max(forward.log_infinite.upper, backward.log_infinite.upper),
    )
    return known(AtomsLaw(forward.log_masses, forward.losses, infinite_bounds, slack))


def _log_sum(logs: FloatArray) -> float:
    top = float(logs.max(initial=-math.inf))
    if top == -math.inf:
        return top
    return top + math.log(float(np.sum(np.exp(logs - top))))
