"""What is shown of a batch: the estimate, how wrong it may be, and what it promises whom."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

from smoothdp.claims import PrivacyProfile
from smoothdp.exact.balls.balls import log_bounds
from smoothdp.exact.balls.compare import float_up
from smoothdp.services.analyzer.estimates import Tally, estimate_of
from smoothdp.services.analyzer.release_rule import Ruling
from smoothdp.services.analyzer.who_could import sentence
from smoothdp.services.formats.design.values import INVALID
from smoothdp.services.formats.task import Task
from smoothdp.shuffle import Histogram, LowCommunicationHistogram
from smoothdp.text import number_up

CURVE_SHARES = ("1", "0.9", "0.75", "0.5", "0.25", "0.1")
_INVALID_WORTH_SAYING = Fraction(1, 100)


def describe_batch(
    task: Task, *, window: int, users: int, served: int | None, tally: Tally, ruling: Ruling
) -> dict[str, Any]:
    """Return the result of a batch that may be released, as a document.

    The estimate is corrected by the real size of the batch and the fixed noise of the
    clients. Slots that mean nothing are left out of sums and counted beside them.

    Args:
        served: accounts that got tokens; None without an issuer.
        tally: value -> slots, with INVALID.
        ruling: the release rule's, of this batch.
    """
    invalid = tally.get(INVALID, 0)
    protocol = task.collect(users)
    of_one_device = _epsilon(protocol.local_profile(), task)
    accounts = users if served is None else served
    of_this_batch, curve = _epsilons(task, users, accounts, ruling.honest, of_one_device)
    document: dict[str, Any] = {
        "task_id": task.task_id.hex(),
        "window": window,
        "protocol": task.protocol,
        "users": users,
        "accounts_served": served,
        "honest_users_assumed": ruling.honest,
        "invalid_slots": invalid,
        "promised": {"epsilon": task.epsilon, "delta": task.delta, "unit": task.unit},
        "epsilon_of_this_batch": of_this_batch,
        "epsilon_by_honest_share": curve,
        "epsilon_if_shuffler_and_analyzer_collude": of_one_device,
    }
    document |= estimate_of(task, users=users, tally=tally)
    document["sentence"] = sentence(task, users=users, served=served, ruling=ruling)
    document |= _warning(task, users, tally)
    return document


def _warning(task: Task, users: int, tally: Tally) -> dict[str, Any]:
    protocol = task.collect(users)
    if isinstance(protocol, Histogram | LowCommunicationHistogram):
        sent = sum(tally.get(value, 0) for value in range(task.size))
        silent, surplus = users - protocol.honest_at_most(sent), protocol.surplus(sent)
        if silent:
            return {
                "users_without_noise_at_least": silent,
                "warning": _without_noise(protocol, silent),
            }
        if surplus:
            return {
                "warning": (
                    f"{surplus} messages are more than users send who follow the protocol: counts "
                    "are too high"
                )
            }
    invalid = tally.get(INVALID, 0)
    if Fraction(invalid, users * task.slots) > _INVALID_WORTH_SAYING:
        return {"warning": f"{invalid} slots mean nothing: users may be missing"}
    return {}


def _without_noise(protocol: Histogram | LowCommunicationHistogram, silent: int) -> str:
    """Return what users without noise do to counts: those that it corrects for are not there."""
    if isinstance(protocol, Histogram):
        low = "as many"
    else:
        low = f"{number_up(float(silent * protocol.noise_probability))} on average"
    return (
        f"at least {silent} users sent no noise: every count is too low by {low}, and counts may "
        "be missing"
    )


def _epsilons(
    task: Task, users: int, accounts: int, honest: int, of_one_device: float | None
) -> tuple[float | None, dict[str, float | None]]:
    """Return the epsilon of so many honest users, and of honest shares of the accounts served.

    As in the release rule all others of the accounts may be among the users.

    Of more honest users it is no larger than of fewer (proofs/honest-users#2), and of one no
    larger than who sees the device itself has. The accountant's is where many users may draw
    noise anew, or few split their numbers: then that of fewer is said.
    """
    protocol = task.collect(users)
    shares = {
        share: max(1, users - math.floor((1 - Fraction(share)) * accounts))
        for share in CURVE_SHARES
    }
    counts = {honest, min(honest, task.honest(task.min_batch)), *shares.values()}
    known = {count: _epsilon(protocol.profile(n_honest=count), task) for count in counts}
    known[1] = of_one_device

    def least(count: int) -> float | None:
        fewer = [epsilon for n, epsilon in known.items() if n <= count and epsilon is not None]
        return min(fewer, default=None)

    return least(honest), {share: least(count) for share, count in shares.items()}


def _epsilon(profile: PrivacyProfile, task: Task) -> float | None:
    """Return the epsilon of a profile at the task's delta: the promised one where it is kept.

    The search for epsilon may end a little above it, where delta at the promised one is proved.
    None where no epsilon is enough: JSON has no infinity.
    """
    epsilon, promised = profile.epsilon(task.delta), Fraction(task.epsilon)
    if epsilon > promised and profile.log_delta(promised) <= log_bounds(Fraction(task.delta)).lower:
        return float_up(promised)
    return epsilon if math.isfinite(epsilon) else None
