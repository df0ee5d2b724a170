"""What is said when a task is made: the price of an envelope, what no theorem covers, the room."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

from smoothdp.services.formats.design.protocols import FLIPPED
from smoothdp.services.formats.design.task_shape import TaskNumbers
from smoothdp.services.tokens.token import REQUEST_BYTES

SECONDS_PER_SIGNATURE = 0.0016
"""Of one core, with gmpy2; measured on a shared virtual machine, the slowest of five runs."""
_PEOPLE = 10_000
_MANY = 100
"""Times the smallest batch: nobody is warned of more people than that."""


def cost_sentence(task: TaskNumbers) -> str:
    """Return what a person's envelope costs the issuer; "" without one."""
    if task.proof != "slots":
        return ""
    each = task.slots * SECONDS_PER_SIGNATURE
    signatures = "1 signature" if task.slots == 1 else f"{task.slots} signatures"
    return (
        f"Each person and window costs the issuer {signatures}, {duration(each)} of one core and "
        f"{task.slots * REQUEST_BYTES:,} bytes in: {duration(each * _PEOPLE)} for "
        f"{_PEOPLE:,} people."
    )


def theorem_sentence(task: TaskNumbers) -> str:
    """Return what is not proved against a shuffler that departs from the protocol, or ""."""
    if task.proof != "slots":
        return (
            "There is no issuer: the shuffler alone can fill a batch with people it invents, and "
            "so single anybody out."
        )
    if task.protocol in FLIPPED:
        return ""
    return (
        f"No theorem covers {task.protocol} against a shuffler that takes single slots out of "
        "envelopes: the promise holds if the shuffler hands on whole reports."
    )


def room_sentence(task: TaskNumbers, fewest_honest: Callable[[], int]) -> str:
    """Return how many people are too many for the largest batch, or "" if that is no concern.

    Who finds a window full counts as missing, and gamma X of the X that were served may be
    dishonest: with floor(gamma X) > max_batch - h0 no batch is released.

    Args:
        fewest_honest: finds h0, asked only where the largest batch is near.
    """
    dishonest = 1 - Fraction(task.honest_share)
    if task.proof != "slots" or not dishonest:
        return ""
    many = _MANY * task.min_batch
    if task.max_batch - task.min_batch + 1 >= dishonest * many:  # h0 is at most the smallest batch
        return ""
    too_many = math.ceil((task.max_batch - fewest_honest() + 1) / dishonest)
    if too_many >= many:
        return ""
    return (
        f"Once {too_many:,} people got tokens for a window it is not released: it holds "
        f"{task.max_batch:,} reports, and of all who got tokens a share of {float(dishonest):.3g} "
        "may be dishonest. Invite fewer, or let the largest batch be larger."
    )


def duration(seconds: float) -> str:
    """Return a time in the unit that suits it.

    >>> [duration(s) for s in (0.0016, 0.099, 0.2, 16, 992, 100_000)]
    ['1.6 ms', '99 ms', '200 ms', '16 s', '17 minutes', '28 hours']
    """
    units = (("hours", 3600, 2), ("minutes", 60, 2), ("s", 1, 1))
    unit, length = next(((u, n) for u, n, least in units if seconds >= least * n), ("ms", 0.001))
    number = seconds / length
    return f"{number:.2g} {unit}" if number < 10 else f"{number:.0f} {unit}"
