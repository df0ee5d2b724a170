"""The release rule: how many honest users there are when everybody missing was one of them.

The shuffler may leave people out, and will leave out honest ones if it is dishonest. What it
cannot do is to have more accounts at the issuer than are assumed to be dishonest, gamma X of
the X that were served. So h = users - floor(gamma X) users of a batch are honest, whoever was
left out; without an issuer nobody counts X, and h = users - floor(gamma users).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from smoothdp.services.analyzer.windows.tables import QUARANTINED, REFUSED
from smoothdp.services.formats.slots import INVALID
from smoothdp.services.formats.task import Task
from smoothdp.text import number_up


@dataclass(frozen=True, slots=True)
class Ruling:
    """What the rule says of a batch.

    Attributes:
        honest: users that are honest by assumption, at least.
        dishonest: accounts that are not, by assumption, at most: floor(gamma X).
        state: "" if the batch may be released, else its end.
        reason: why it may not.
    """

    honest: int
    dishonest: int
    state: str = ""
    reason: str = ""


def rule(task: Task, *, users: int, served: int | None, tally: Mapping[int, int]) -> Ruling:
    """Return whether a counted batch may be released.

    Args:
        users: of the batch, slots / M.
        served: X, the accounts that got tokens; None without an issuer.
        tally: value -> slots.
    """
    accounts = users if served is None else served
    dishonest = math.floor(accounts * Fraction(task.dishonest_share))
    honest = users - dishonest
    if users > accounts:
        return Ruling(
            honest,
            dishonest,
            QUARANTINED,
            f"{users} users are more than the {accounts} accounts that the issuer served",
        )
    if not task.keeps_promise(honest):
        return Ruling(
            honest,
            dishonest,
            REFUSED,
            f"the promise is not kept: of {accounts} accounts that were served {users} are here, "
            f"and up to {dishonest} of these may be dishonest",
        )
    shown = math.ceil(tally.get(INVALID, 0) / task.slots)
    if shown > dishonest:
        return Ruling(
            honest,
            dishonest,
            QUARANTINED,
            f"at least {shown} users sent slots that mean nothing, more than the {dishonest} "
            "that the task assumes",
        )
    return Ruling(honest, dishonest)


def fewest_honest(task: Task) -> int:
    """Return h0, the smallest number of honest users with which the promise is kept."""
    low, high = 0, task.honest(task.min_batch)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if task.keeps_promise(middle) else (middle, high)
    return high


def who_could(task: Task, *, users: int, ruling: Ruling, served: int | None) -> str:
    """Return the sentence of a result: what is promised, and who could single a user out.

    To single out is to have all others of a batch invented or known, so that the noise of the
    user's own device alone is left.
    """
    promise = (
        f"To each honest user: {task.guarantee.sentence()} It holds if at least {ruling.honest} "
        f"of the {users} users followed the protocol, who answered did not depend on what they "
        "hold or drew, and the shuffler and the analyser do not work together"
    )
    if task.protocol not in ("boolean_sum", "real_sum"):
        promise += ", and the shuffler hands on whole reports"
    passes = math.floor(users * Fraction(task.dishonest_share))
    least = max(task.min_batch, fewest_honest(task) + ruling.dishonest) - 1
    if served is None:
        who = (
            f"It allows for an analyser with {passes} of the shuffler's passes. The shuffler "
            "alone, which can fill a batch with people that it invents, an analyser with "
            f"{task.min_batch - 1} passes, whoever made the users' passes, or both services "
            "together could single a user out."
        )
    else:
        who = (
            f"It allows for a shuffler with {ruling.dishonest} of the analyser's accounts, or an "
            f"analyser with {passes} of the shuffler's passes. A shuffler with {least} accounts, "
            f"an analyser with {task.min_batch - 1} passes, whoever made the users' invitations "
            "and passes, or both services together could single a user out."
        )
    return f"{promise}. {who} {_left(task, users)}"


def _left(task: Task, users: int) -> str:
    epsilon = task.collect(users).local_profile().epsilon(task.delta)
    if math.isinf(epsilon):
        return "Then nothing is left: the noise of the user's own device alone promises nothing."
    return (
        "Then the noise of the user's own device is left: "
        f"epsilon {number_up(epsilon)} at delta {task.delta}."
    )
