"""From one-directional finite pairs to the law that dominates both directions.

Composing all-forward and all-reversed pairs and taking the larger is no bound when items can
point different ways. The pointwise larger of the two D is convex, hence the D of a pair
again: piecewise linear, with the kinks of whichever D is larger and one where they cross. A
kink at E is an atom of loss ln E, of Q-mass the change of slope and of P-mass E times that.

The atoms proposed are floats. What makes the result safe is the check afterwards: on a mesh
between whose points both D and the proposal are linear, the proposal is compared with both,
and the relative gap, a hair, becomes the `Slack` of the law.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from smoothdp.exact.logspace import LIBM_ERROR, UNIT_ROUNDOFF, LogBounds
from smoothdp.privacy.atoms import Atoms
from smoothdp.privacy.composition.atoms_law import AtomsLaw
from smoothdp.privacy.composition.hockey_sticks import log_sticks
from smoothdp.privacy.composition.laws import LossBracket, Slack, known

FloatArray = NDArray[np.float64]
# Atomwise differences of a pair and its mirror image below this are taken into the slack.
_MIRRORED = 1e-12


def directed_law(atoms: Atoms) -> AtomsLaw:
    """Return the law of the loss of p against q, atoms joined where losses agree."""
    p, q, error = atoms.alive().joined()
    infinite = np.isneginf(q)
    masses = p[infinite]
    log_infinite, slip = -math.inf, 0.0
    if masses.size:
        log_infinite = _log_sum(masses)
        slip = error + 8 * LIBM_ERROR * (1 + abs(log_infinite))
    both = ~infinite & (p > -math.inf)
    log_p, losses = p[both], p[both] - q[both]
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

    For a pair that is its own mirror image this is the pair itself.
    """
    mirrored = _mirrored(forward, backward)
    if mirrored is not None:
        return mirrored
    slack = Slack(
        max(forward.slack.mass, backward.slack.mass),
        max(forward.slack.loss, backward.slack.loss),
    )
    mesh = np.unique(np.concatenate([forward.losses, backward.losses]))
    if mesh.size == 0:
        # No finite loss in common: all mass is at infinity.
        larger = forward if forward.log_infinite.upper >= backward.log_infinite.upper else backward
        return known(larger)
    sticks = [
        log_sticks(law.log_masses, law.losses, law.log_infinite.upper, mesh)
        for law in (forward, backward)
    ]
    first_wins = sticks[0][0] >= sticks[1][0]
    switch = np.flatnonzero(first_wins[1:] != first_wins[:-1])
    crossings = _crossings(mesh, sticks, switch)
    finer = np.unique(np.concatenate([mesh, crossings]))
    sticks = [
        log_sticks(law.log_masses, law.losses, law.log_infinite.upper, finer)
        for law in (forward, backward)
    ]
    log_infinite = max(forward.log_infinite.upper, backward.log_infinite.upper)
    masses = _kinks(finer, sticks, forward, backward)
    keep = masses > -math.inf
    law = AtomsLaw(masses[keep], finer[keep], LogBounds(log_infinite, log_infinite), slack)
    totals = [_log_total(side) for side in (forward, backward)]
    return _checked(law, finer, sticks, np.isin(finer, crossings), totals, slack)


def _mirrored(forward: AtomsLaw, backward: AtomsLaw) -> LossBracket | None:
    """Return the forward law if the backward one equals it, up to a slack."""
    if forward.losses.size != backward.losses.size:
        return None
    gaps = [0.0, 0.0]
    for place, (a, b) in enumerate(
        ((forward.log_masses, backward.log_masses), (forward.losses, backward.losses))
    ):
        gaps[place] = float(np.abs(a - b).max(initial=0.0))
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


Sticks = list[tuple[FloatArray, FloatArray, float]]


def _crossings(mesh: FloatArray, sticks: Sticks, cells: NDArray[np.int64]) -> FloatArray:
    """Return about where the two D cross inside cells; any point there is safe."""
    found = []
    for cell in cells.tolist():
        # Linear in E: the gaps at both ends, in units of the larger value.
        scale = max(sticks[0][0][cell], sticks[1][0][cell])
        left = math.exp(sticks[0][0][cell] - scale) - math.exp(sticks[1][0][cell] - scale)
        right = math.exp(sticks[0][0][cell + 1] - scale) - math.exp(sticks[1][0][cell + 1] - scale)
        if left == right:
            continue
        share = min(1.0, max(0.0, left / (left - right)))
        width = float(mesh[cell + 1] - mesh[cell])
        point = float(mesh[cell]) + math.log1p(share * math.expm1(width))
        if mesh[cell] < point < mesh[cell + 1]:
            found.append(point)
    return np.array(found)


def _kinks(mesh: FloatArray, sticks: Sticks, forward: AtomsLaw, backward: AtomsLaw) -> FloatArray:
    """Return ln of the P-masses at the mesh of the larger of the two D."""
    with np.errstate(invalid="ignore"):
        gap = np.nan_to_num(sticks[0][0] - sticks[1][0], nan=0.0)
    # In a cell the larger D is the one that is larger at its clearer end; near a crossing
    # the sign at the other end is rounding.
    clearer = np.where(np.abs(gap[:-1]) >= np.abs(gap[1:]), gap[:-1], gap[1:])
    backward_leads = np.concatenate([[gap[0] < 0], clearer < 0, [gap[-1] < 0]])
    left, right = backward_leads[:-1], backward_leads[1:]
    own = [_own_masses(law, mesh) for law in (forward, backward)]
    masses = np.where(right, own[1], own[0])
    for place in np.flatnonzero(left != right).tolist():
        # A change of the larger D: Q-mass = slope to the right - slope to the left.
        before, after = (1, 0) if left[place] else (0, 1)
        law = backward if before else forward
        inner = sticks[before][1][place - 1] if place else _log_sum(law.log_masses - law.losses)
        outer = sticks[after][1][place]
        masses[place] = -math.inf
        if inner > outer:
            masses[place] = mesh[place] + inner + math.log(-math.expm1(outer - inner))
    return masses


def _own_masses(law: AtomsLaw, mesh: FloatArray) -> FloatArray:
    found = np.full(mesh.size, -math.inf)
    found[np.searchsorted(mesh, law.losses)] = law.log_masses
    return found


def _checked(
    law: AtomsLaw,
    mesh: FloatArray,
    sticks: Sticks,
    crossing: NDArray[np.bool_],
    totals: list[float],
    slack: Slack,
) -> LossBracket:
    """Compare the proposal with both D at every point of the mesh; return it with slacks.

    Above: the larger D is convex and the proposal linear between points, so a factor at the
    points is one everywhere. Below: in each cell one D is linear and was the one to follow.
    Left of the mesh all are linear up to E = 0, where the values are the masses of P.
    """
    mine, _, my_error = log_sticks(law.log_masses, law.losses, law.log_infinite.upper, mesh)
    error = my_error + max(sticks[0][2], sticks[1][2])
    larger = np.maximum(sticks[0][0], sticks[1][0])
    smaller = np.minimum(sticks[0][0], sticks[1][0])
    some = larger > -math.inf
    above = float((larger[some] - mine[some]).max(initial=0.0))
    target = np.where(crossing, smaller, larger)
    held = target > -math.inf
    below = float((mine[held] - target[held]).max(initial=0.0))
    if (mine[~held] > -math.inf).any():
        below = math.inf
    above = max(above, max(totals) - _log_total(law), 0.0) + error + 1e-14
    below = max(below, _log_total(law) - min(totals), 0.0) + error + 1e-14
    upper = AtomsLaw(
        law.log_masses, law.losses, law.infinite, Slack(slack.mass + above, slack.loss)
    )
    if below > 0.5:
        return LossBracket(upper, None)
    lower = AtomsLaw(
        law.log_masses, law.losses, law.infinite, Slack(slack.mass + below, slack.loss)
    )
    return LossBracket(upper, lower)


def _log_total(law: AtomsLaw) -> float:
    """Return ln of the P-mass in all, D at E = 0, right to 1e-14."""
    return _log_sum(np.append(law.log_masses, law.log_infinite.upper))


def _log_sum(logs: FloatArray) -> float:
    top = float(logs.max(initial=-math.inf))
    if top == -math.inf:
        return top
    return top + math.log(float(np.sum(np.exp(logs - top))))
