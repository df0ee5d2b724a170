"""Making a task: noise calibrated to the smallest batch, or the smallest batch to the noise."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from smoothdp.claims import ApproxDP
from smoothdp.errors import InvalidParameter
from smoothdp.exact.parameters.numbers import (
    exact_fraction,
    exact_int,
    exact_text,
    proper_probability,
)
from smoothdp.services.wire.hybrid import PublicKey
from smoothdp.services.wire.task import LARGEST_BATCH, Task
from smoothdp.shuffle import BooleanSum, Histogram, RealSum

_LARGEST_EPSILON = 10**9
"""What is more says nothing, and the budget of many windows must remain a short number."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskRequest:
    """What a task shall promise, before there is noise for it. Nothing is checked yet.

    Its fields and their defaults are those of `create_task`.
    """

    protocol: str
    epsilon: str
    delta: str
    min_batch: int
    analyzer_key: PublicKey
    size: int = 1
    dishonest_share: str = "0.1"
    window_seconds: int = 86_400
    grace_seconds: int = 3_600
    windows: int = 1
    unit: str = "one client"
    bounds: Sequence[str] = ()
    domain: Sequence[str] = ()

    @property
    def messages(self) -> int:
        """Bits of a real sum, or bins of a histogram: the names of its domain, if it has any."""
        named = self.protocol == "histogram" and self.domain
        return len(self.domain) if named else self.size


def create_task(
    protocol: str,
    *,
    epsilon: str,
    delta: str,
    min_batch: int,
    analyzer_key: PublicKey,
    size: int = 1,
    dishonest_share: str = "0.1",
    window_seconds: int = 86_400,
    grace_seconds: int = 3_600,
    windows: int = 1,
    unit: str = "one client",
    bounds: Sequence[str] = (),
    domain: Sequence[str] = (),
) -> Task:
    """Return the task with the least noise that keeps a promise in batches of ``min_batch``.

    Args:
        protocol: "boolean_sum", "real_sum" (needs bounds) or "histogram".
        epsilon: of each window, to be written as a decimal or a ratio, > 0 and up to 10^9.
        delta: of each window, in (0, 1).
        min_batch: smallest batch; the noise is calibrated to its honest users.
        size: bits per user of a real sum; bins of a histogram.
        dishonest_share: share of a batch assumed to be absent, colluding or false.
        windows: how many windows the budget pays for, by basic composition.

    Raises:
        InvalidParameter: a field outside its domain, or too few users for the promise.

    >>> from smoothdp.services.wire.hybrid import PrivateKey
    >>> task = create_task("boolean_sum", epsilon="1", delta="1e-6", min_batch=500,
    ...     analyzer_key=PrivateKey.generate().public)
    >>> task.slots, task.honest(500), task.required_batch <= 500
    (1, 450, True)
    """
    return make_task(
        TaskRequest(
            protocol=protocol,
            epsilon=epsilon,
            delta=delta,
            min_batch=min_batch,
            analyzer_key=analyzer_key,
            size=size,
            dishonest_share=dishonest_share,
            window_seconds=window_seconds,
            grace_seconds=grace_seconds,
            windows=windows,
            unit=unit,
            bounds=bounds,
            domain=domain,
        )
    )


def make_task(request: TaskRequest) -> Task:
    """Return the task that a request asks for: see `create_task`."""
    min_batch, honest = _read_users(request)
    goal = ApproxDP(request.epsilon, delta=request.delta)
    epsilon, delta = _read_budget(request)
    try:
        noise = _least_noise(request, honest, goal)
    except InvalidParameter as error:
        if "n_users" not in str(error):
            raise
        # The caller gave no such number.
        raise InvalidParameter(
            expected=error.expected,
            got=error.got,
            remedy=f"{error.remedy.rstrip('.')}. These are the {honest} users of "
            f"min_batch={min_batch} that are honest if dishonest_share={request.dishonest_share} "
            "is not: so change min_batch",
        ) from None
    return Task(
        protocol=request.protocol,
        size=request.messages,
        noise=noise,
        epsilon=request.epsilon,
        delta=request.delta,
        dishonest_share=request.dishonest_share,
        min_batch=min_batch,
        window_seconds=request.window_seconds,
        grace_seconds=request.grace_seconds,
        budget_epsilon=exact_text(epsilon),
        budget_delta=exact_text(delta),
        analyzer_key=request.analyzer_key.to_bytes().hex(),
        analyzer_key_id=1,
        unit=request.unit,
        bounds=tuple(request.bounds),
        domain=tuple(request.domain),
    )


def _read_users(request: TaskRequest) -> tuple[int, int]:
    """Return the users of the smallest batch, and how many of them are honest."""
    min_batch = exact_int(request.min_batch, name="min_batch", minimum=1)
    if min_batch > LARGEST_BATCH:
        raise InvalidParameter(
            expected=f"min_batch up to {LARGEST_BATCH}",
            got=f"min_batch={min_batch}",
            remedy="Give the fewest users of a batch",
        )
    exact_int(request.windows, name="windows", minimum=1)
    if not isinstance(request.analyzer_key, PublicKey):
        raise InvalidParameter(
            expected="a PublicKey",
            got=type(request.analyzer_key).__name__,
            remedy="Give PrivateKey.generate().public",
        )
    share = exact_fraction(request.dishonest_share, name="dishonest_share")
    if not 0 <= share < 1:
        raise InvalidParameter(
            expected="0 <= dishonest_share < 1",
            got=request.dishonest_share,
            remedy="Give a share of the users",
        )
    honest = math.floor(min_batch * (1 - share))
    if honest < 1:
        raise InvalidParameter(
            expected="a min_batch of which at least one user is honest",
            got=f"min_batch={min_batch} with dishonest_share={request.dishonest_share}",
            remedy="Raise min_batch, or lower the share",
        )
    return min_batch, honest


def _read_budget(request: TaskRequest) -> tuple[Fraction, Fraction]:
    """Return epsilon and delta of all windows together, by basic composition."""
    epsilon = exact_fraction(request.epsilon, name="epsilon")
    windows = exact_int(request.windows, name="windows", minimum=1)
    if not 0 < epsilon <= _LARGEST_EPSILON:
        raise InvalidParameter(
            expected=f"0 < epsilon <= {_LARGEST_EPSILON}",
            got=f"epsilon={request.epsilon}",
            remedy="Give an epsilon such as 1",
        )
    remedy = "Give a small number such as 1e-6"
    delta = proper_probability(request.delta, name="delta", remedy=remedy)
    if delta * windows > 1:
        raise InvalidParameter(
            expected="1 <= windows <= 1 / delta",
            got=f"windows={windows}",
            remedy="Pay for fewer windows",
        )
    return epsilon * windows, delta * windows


def _least_noise(request: TaskRequest, honest: int, goal: ApproxDP) -> str:
    """Return the noise of a task whose promise so many honest users keep."""
    # The users are the honest ones of the smallest batch already: all of them count.
    wanted: dict[str, Any] = {"guarantee": goal, "honest_share": 1}
    if request.protocol == "boolean_sum":
        return str(BooleanSum.calibrate(honest, **wanted).threshold)
    if request.protocol == "real_sum":
        return str(RealSum.calibrate(honest, n_bits=request.messages, **wanted).threshold)
    if request.protocol == "histogram":
        protocol = Histogram.calibrate(honest, n_bins=request.messages, **wanted)
        return str(protocol.omission_probability)
    raise InvalidParameter(
        expected="boolean_sum, real_sum or histogram",
        got=f"protocol={request.protocol}",
        remedy="Name one of these protocols",
    )
