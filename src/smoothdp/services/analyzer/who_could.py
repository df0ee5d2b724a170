"""The sentence of a result: what is promised, and who could single a user out.

To single a user out is to have all others of a batch invented or known, so that the noise of the
user's own device alone is left.
"""

from __future__ import annotations

import math

from smoothdp.services.analyzer.release_rule import Ruling
from smoothdp.services.formats.design.protocols import FLIPPED
from smoothdp.services.formats.task import Task
from smoothdp.text import number_up


def sentence(task: Task, *, users: int, served: int | None, ruling: Ruling) -> str:
    """Return the sentence, its numbers computed.

    The shuffler's cost is max(min_batch, h0 + floor(gamma X)) - 1 accounts: a batch is released
    only if it has min_batch users, and h0 of them beside the floor(gamma X) that are assumed to
    be dishonest; one of these users is the one singled out. The analyser can invent people, but
    each needs a pass: min_batch - 1 of them.

    Args:
        users: of the batch.
        served: X; None without an issuer.
        ruling: the release rule's, of this batch.
    """
    promise = (
        f"To each honest user: {task.guarantee.sentence()} It holds if at least {ruling.honest} "
        f"of the {users} users followed the protocol, who answered did not depend on what they "
        "hold or drew, and the shuffler and the analyser do not work together"
    )
    if task.protocol not in FLIPPED:
        promise += ", and the shuffler hands on whole reports"
    passes, needed = task.dishonest(users), task.min_batch - 1
    if served is None:
        who = (
            f"It allows for an analyser with {passes} of the shuffler's passes. The shuffler "
            f"alone, which can fill a batch with people that it invents, an analyser with {needed} "
            "passes, whoever made the users' passes, or both services together could single a "
            "user out."
        )
    else:
        accounts = max(task.min_batch, task.fewest_honest + ruling.dishonest) - 1
        who = (
            f"It allows for a shuffler with {ruling.dishonest} of the analyser's accounts, or an "
            f"analyser with {passes} of the shuffler's passes. A shuffler with {accounts} "
            f"accounts, an analyser with {needed} passes, whoever made the users' invitations and "
            "passes, or both services together could single a user out."
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
