"""Making a task: noise calibrated to the smallest batch, or the smallest batch to the noise."""

from __future__ import annotations

import math
from collections.abc import Sequence

from smoothdp import ApproxDP
from smoothdp.errors import InvalidParameter
from smoothdp.exact.parameters.numbers import exact_fraction, exact_int, exact_text
from smoothdp.services.hybrid import PublicKey
from smoothdp.services.task import LARGEST_BATCH, Task
from smoothdp.shuffle import BooleanSum, Histogram, RealSum

_LARGEST_EPSILON = 10**9
"""What is more says nothing, and the budget of many windows must remain a short number."""


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

    >>> from smoothdp.services.hybrid import PrivateKey
    >>> task = create_task("boolean_sum", epsilon="1", delta="1e-6", min_batch=500,
    ...     analyzer_key=PrivateKey.generate().public)
    >>> task.slots, task.honest(500), task.required_batch <= 500
    (1, 450, True)
    """
    min_batch = exact_int(min_batch, name="min_batch", minimum=1)
    if min_batch > LARGEST_BATCH:
        raise InvalidParameter(
            expected=f"min_batch up to {LARGEST_BATCH}",
            got=f"min_batch={min_batch}",
            remedy="Give the fewest users of a batch",
        )
    windows = exact_int(windows, name="windows", minimum=1)
    if not isinstance(analyzer_key, PublicKey):
        raise InvalidParameter(
            expected="a PublicKey",
            got=type(analyzer_key).__name__,
            remedy="Give PrivateKey.generate().public",
        )
    share = exact_fraction(dishonest_share, name="dishonest_share")
    if not 0 <= share < 1:
        raise InvalidParameter(
            expected="0 <= dishonest_share < 1",
            got=dishonest_share,
            remedy="Give a share of the users",
        )
    honest = math.floor(min_batch * (1 - share))
    if honest < 1:
        raise InvalidParameter(
            expected="a min_batch of which at least one user is honest",
            got=f"min_batch={min_batch} with dishonest_share={dishonest_share}",
            remedy="Raise min_batch, or lower the share",
        )
    goal = ApproxDP(epsilon, delta=delta)
    costs = exact_fraction(epsilon, name="epsilon"), exact_fraction(delta, name="delta")
    if not 0 < costs[0] <= _LARGEST_EPSILON:
        raise InvalidParameter(
            expected=f"0 < epsilon <= {_LARGEST_EPSILON}",
            got=f"epsilon={epsilon}",
            remedy="Give one such as 1",
        )
    if not 0 < costs[1] < 1:
        raise InvalidParameter(
            expected="0 < delta < 1",
            got=f"delta={delta}",
            remedy="Give a small number such as 1e-6",
        )
    if costs[1] * windows > 1:
        raise InvalidParameter(
            expected="1 <= windows <= 1 / delta",
            got=f"windows={windows}",
            remedy="Pay for fewer windows",
        )
    size = len(domain) if protocol == "histogram" and domain else size
    try:
        noise = _least_noise(protocol, honest, size, goal)
    except InvalidParameter as error:
        if "n_users" not in str(error):
            raise
        # The caller gave no such number.
        raise InvalidParameter(
            expected=error.expected,
            got=error.got,
            remedy=f"{error.remedy.rstrip('.')}. These are the {honest} users of "
            f"min_batch={min_batch} that are honest if dishonest_share={dishonest_share} is not: "
            "so change min_batch",
        ) from None
    return Task(
        protocol=protocol,
        size=size,
        noise=noise,
        epsilon=epsilon,
        delta=delta,
        dishonest_share=dishonest_share,
        min_batch=min_batch,
        window_seconds=window_seconds,
        grace_seconds=grace_seconds,
        budget_epsilon=exact_text(costs[0] * windows),
        budget_delta=exact_text(costs[1] * windows),
        analyzer_key=analyzer_key.to_bytes().hex(),
        analyzer_key_id=1,
        unit=unit,
        bounds=tuple(bounds),
        domain=tuple(domain),
    )


def _least_noise(protocol: str, honest: int, size: int, goal: ApproxDP) -> str:
    """Return the noise of a task whose promise so many honest users keep."""
    if protocol == "boolean_sum":
        return str(BooleanSum.calibrate(honest, guarantee=goal).threshold)
    if protocol == "real_sum":
        return str(RealSum.calibrate(honest, guarantee=goal, n_bits=size).threshold)
    if protocol == "histogram":
        found = Histogram.calibrate(honest, n_bins=size, guarantee=goal)
        return str(found.omission_probability)
    raise InvalidParameter(
        expected="boolean_sum, real_sum or histogram", got=f"protocol={protocol}", remedy="Use one"
    )
