"""What is shown of a batch: the estimate, how wrong it may be, and what it promises whom."""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from smoothdp.claims import PrivacyProfile
from smoothdp.exact.balls.balls import log_bounds
from smoothdp.exact.balls.compare import float_up
from smoothdp.services.wire.envelope import INVALID, REPEATED
from smoothdp.services.wire.task import Task
from smoothdp.shuffle import Histogram
from smoothdp.shuffle.accounting.float_estimates import scaled_estimate

CURVE_SHARES = ("0", "0.1", "0.25", "0.5", "0.75", "0.9")
FAILURE_PROBABILITY = "0.05"
_INVALID_WORTH_SAYING = Fraction(1, 100)


def describe_batch(
    task: Task, *, window: int, users: int, tally: Mapping[int, int]
) -> dict[str, Any]:
    """Return the result of a counted batch as a document.

    The estimate is corrected by the real size of the batch and the fixed noise of the
    clients. Slots that mean nothing are left out of sums and counted beside them.
    """
    protocol = task.collect(users)
    honest = task.honest(users)
    invalid, repeated = tally.get(INVALID, 0), tally.get(REPEATED, 0)
    profile = protocol.profile(n_honest=honest)
    document: dict[str, Any] = {
        "task_id": task.task_id.hex(),
        "window": window,
        "protocol": task.protocol,
        "users": users,
        "honest_users_assumed": honest,
        "invalid_slots": invalid,
        "repeated_slots": repeated,
        "promised": {"epsilon": task.epsilon, "delta": task.delta, "unit": task.unit},
        "epsilon_of_this_batch": _finite(_epsilon(profile, task)),
        "epsilon_by_dishonest_share": _curve(task, users),
        "epsilon_if_shuffler_and_analyzer_collude": _finite(
            protocol.local_profile().epsilon(task.delta)
        ),
    }
    document |= _estimate(task, users, tally)
    document["sentence"] = (
        f"To each honest user: {task.guarantee.sentence()} It holds if at least {honest} of "
        f"the {users} users followed the protocol, who answered did not depend on what they hold "
        "or drew, and the shuffler and the analyser do not work together."
    )
    silent = _silent(task, users, tally)
    if silent:
        document["users_without_noise_at_least"] = silent
        document["warning"] = (
            f"at least {silent} users sent no noise: every count is too low by as many, and counts "
            "may be missing"
        )
    elif surplus := _surplus(task, users, tally):
        document["warning"] = (
            f"{surplus} messages are more than users send who follow the protocol: counts are too "
            "high"
        )
    elif Fraction(invalid + repeated, users * task.slots) > _INVALID_WORTH_SAYING:
        document["warning"] = f"{invalid + repeated} slots were not genuine: users may be missing"
    return document


def refusal(task: Task, *, users: int, tally: Mapping[int, int]) -> tuple[bool, str]:
    """Return (quarantine, why) if a batch must not be released, or (False, "")."""
    dishonest = users - task.honest(users)
    shown = math.ceil((tally.get(INVALID, 0) + tally.get(REPEATED, 0)) / task.slots)
    if shown > dishonest:
        return True, (
            f"at least {shown} users sent slots that are not genuine, more than the {dishonest} "
            "that the task assumes"
        )
    if not task.keeps_promise(task.honest(users)):
        return False, "the promise is not kept with so few honest users"
    return False, ""


def _silent(task: Task, users: int, tally: Mapping[int, int]) -> int:
    """Return how many users of a histogram certainly did not send the noise that they should."""
    protocol = task.collect(users)
    if not isinstance(protocol, Histogram):
        return 0
    sent = sum(tally.get(value, 0) for value in range(task.size))
    return users - protocol.honest_at_most(sent)


def _surplus(task: Task, users: int, tally: Mapping[int, int]) -> int:
    """Return how many messages of a histogram are more than its honest users send."""
    protocol = task.collect(users)
    if not isinstance(protocol, Histogram):
        return 0
    return protocol.surplus(sum(tally.get(value, 0) for value in range(task.size)))


def _estimate(task: Task, users: int, tally: Mapping[int, int]) -> dict[str, Any]:
    protocol = task.collect(users)
    if isinstance(protocol, Histogram):
        import numpy as np

        counts = np.array([tally.get(value, 0) for value in range(task.size)], dtype=np.int64)
        # The document says it where users sent no noise.
        estimate = protocol.estimate_counts(counts, warn=False)
        names = task.domain or tuple(str(value) for value in range(task.size))
        return {
            "counts": {names[value]: count for value, count in sorted(estimate.counts.items())},
            "error_of_all_counts": protocol.error(FAILURE_PROBABILITY, simultaneous=True),
            "error_fails_with_probability": FAILURE_PROBABILITY,
            "most_one_false_user_moves_a_count": task.slots,
            "most_one_silent_user_lowers_every_count": 1,
        }
    total = protocol.estimate_from_total(
        tally.get(1, 0), n_messages=tally.get(0, 0) + tally.get(1, 0)
    )
    gain = float(1 / (1 - 2 * protocol.flip_probability))
    error = protocol.error(FAILURE_PROBABILITY)
    document: dict[str, Any] = {
        "sum": total,
        "error_of_sum": error,
        "error_fails_with_probability": FAILURE_PROBABILITY,
        "most_one_false_user_moves_the_sum": gain,
    }
    if task.bounds:
        low, high = (Fraction(bound) for bound in task.bounds)
        document["mean"], document["error_of_mean"] = scaled_estimate(
            total, error, factor=(high - low) / users, offset=low
        )
    return document


def _curve(task: Task, users: int) -> dict[str, float | None]:
    protocol, curve = task.collect(users), {}
    for share in CURVE_SHARES:
        honest = max(1, math.floor(users * (1 - Fraction(share))))
        curve[share] = _finite(_epsilon(protocol.profile(n_honest=honest), task))
    return curve


def _epsilon(profile: PrivacyProfile, task: Task) -> float:
    """Return the epsilon of a profile at the task's delta: the promised one where it is kept.

    The search for epsilon may end a little above it, where delta at the promised one is proved.
    """
    epsilon, promised = profile.epsilon(task.delta), Fraction(task.epsilon)
    if epsilon > promised and profile.log_delta(promised) <= log_bounds(Fraction(task.delta)).lower:
        return float_up(promised)
    return epsilon


def _finite(epsilon: float) -> float | None:
    """Return None where no epsilon is enough: JSON has no infinity."""
    return epsilon if math.isfinite(epsilon) else None
