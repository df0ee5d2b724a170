"""The estimate of a batch from its tally, with its error, for each protocol of a task."""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy as np

from smoothdp.exact.parameters.numbers import float_bounds
from smoothdp.services.formats.design.protocols import BINNED, BOUNDED
from smoothdp.services.formats.task import Task
from smoothdp.shuffle import BooleanSum, RealSum, SplitSum
from smoothdp.shuffle.accounting.float_estimates import half_unit, scaled_estimate
from smoothdp.shuffle.messages import ReadMessages

FAILURE_PROBABILITY = "0.05"
Tally = Mapping[int, int]


def estimate_of(task: Task, *, users: int, tally: Tally) -> dict[str, Any]:
    """Return the estimate, how wrong it may be, and how far one false user moves it.

    The error is that of the noise of users who all follow the protocol.
    """
    if task.protocol in BINNED:
        return _counts(task, users, tally)
    return _sum(task, users, tally)


def _sum(task: Task, users: int, tally: Tally) -> dict[str, Any]:
    protocol: Any = task.collect(users)
    # The largest floats that it may be: how far one is rounded tells nothing of the sum then.
    ends: list[float] = []
    if isinstance(protocol, BooleanSum | RealSum):
        n_messages = tally.get(0, 0) + tally.get(1, 0)
        total, *ends = (
            protocol.estimate_from_total(ones, n_messages=n_messages)
            for ones in (tally.get(1, 0), 0, n_messages)
        )
    else:
        total = protocol.estimate(_read(task, tally))
        if isinstance(protocol, SplitSum):
            ends = [protocol.modulus / protocol.resolution]
    error = protocol.error(FAILURE_PROBABILITY)
    rounding = max(map(half_unit, ends), default=Fraction(0))
    document: dict[str, Any] = {
        "sum": total,
        "error_of_sum": float_bounds(Fraction(error) + rounding)[1],
    }
    if math.isfinite(protocol.influence_of_one_liar):
        document["most_one_false_user_moves_the_sum"] = protocol.influence_of_one_liar
    else:
        document["one_false_user_moves_the_sum"] = "to any value, unseen"
    document["error_fails_with_probability"] = FAILURE_PROBABILITY
    if task.protocol in BOUNDED and task.bounds:
        low, high = (Fraction(bound) for bound in task.bounds)
        document["mean"], document["error_of_mean"] = scaled_estimate(
            total, error, factor=(high - low) / users, offset=low
        )
    return document


def _counts(task: Task, users: int, tally: Tally) -> dict[str, Any]:
    protocol: Any = task.collect(users)
    if task.protocol == "paired_histogram":
        estimate = protocol.estimate(_read(task, tally))
    else:
        counts = np.array([tally.get(value, 0) for value in range(task.size)], dtype=np.int64)
        # The document says it where users sent no noise.
        estimate = protocol.estimate_counts(counts, warn=False)
    names = task.names_of_bins
    influence, hidden = protocol.influence_of_one_liar, protocol.hidden_up_to
    document = {
        "counts": {names[value]: count for value, count in sorted(estimate.counts.items())},
        "error_of_all_counts": protocol.error(FAILURE_PROBABILITY, simultaneous=True),
        "error_fails_with_probability": FAILURE_PROBABILITY,
        "most_one_false_user_moves_a_count": int(influence),
    }
    if hidden:
        # A count that is shown as 0 may be as large, and one user decides whether it is.
        document["most_one_false_user_makes_appear_or_disappear"] = math.nextafter(
            hidden + influence, math.inf
        )
    if task.protocol == "histogram":
        document["most_one_silent_user_lowers_every_count"] = 1
    return document


def _read(task: Task, tally: Tally) -> ReadMessages:
    """Return the messages of a tally as the protocol reads them; dummies are left out."""
    values = [(value, n) for value, n in sorted(tally.items()) if 0 <= value < task.design.n_values]
    repeated = np.repeat(
        np.array([value for value, _ in values], dtype=np.int64), [n for _, n in values]
    )
    return ReadMessages(values=repeated, rejected={}, n_missing=0)
