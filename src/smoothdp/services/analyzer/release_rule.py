"""The release rule: how many honest users there are when everybody missing was one of them.

The shuffler may leave people out, and will leave out honest ones if it is dishonest. What it
cannot do is to have more accounts at the issuer than are assumed to be dishonest, gamma X of
the X that were served. So h = users - floor(gamma X) users of a batch are honest, whoever was
left out; without an issuer nobody counts X, and h = users - floor(gamma users). For the two sums
that is a theorem, whatever slots are left out (proofs/issued-tokens#2, #3).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from smoothdp.services.analyzer.analyzer_tables import QUARANTINED, REFUSED
from smoothdp.services.formats.design.values import INVALID
from smoothdp.services.formats.task import Task
from smoothdp.shuffle import Histogram, LowCommunicationHistogram, PairedCount, PairedHistogram


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
    dishonest, honest = task.dishonest(accounts), task.honest(users, accounts=served)
    if users > accounts:
        return Ruling(
            honest,
            dishonest,
            QUARANTINED,
            f"{users} users are more than the {accounts} accounts that the issuer served",
        )
    if users > task.max_batch:
        return Ruling(
            honest, dishonest, REFUSED, f"more than the {task.max_batch} users of a batch"
        )
    if not task.keeps_promise(honest):
        return Ruling(
            honest,
            dishonest,
            REFUSED,
            f"the promise is not kept: of {accounts} accounts that were served {users} are here, "
            f"and up to {dishonest} of these may be dishonest",
        )
    for shown, what in _shown(task, users, tally):
        if shown > dishonest:
            return Ruling(
                honest,
                dishonest,
                QUARANTINED,
                f"at least {shown} users {what}, more than the {dishonest} that the task assumes",
            )
    if task.protocol == "split_sum" and tally.get(INVALID, 0):
        return Ruling(
            honest,
            dishonest,
            REFUSED,
            f"{tally[INVALID]} shares mean nothing, and make the total any number",
        )
    return Ruling(honest, dishonest)


def _shown(task: Task, users: int, tally: Mapping[int, int]) -> Iterator[tuple[int, str]]:
    """Yield how many users cannot have followed the protocol by what is in the slots, and why.

    How many messages honest users send does not depend on their data, so neither does this. But
    for the first it is wrong with probability below 1e-12. Slots that mean nothing take the place
    of messages: no honest user sends them.
    """
    invalid = tally.get(INVALID, 0)
    yield -(-invalid // task.slots), "sent slots that mean nothing"
    sent = sum(n for value, n in tally.items() if 0 <= value < task.design.n_values)
    protocol = task.collect(users)
    if isinstance(protocol, PairedCount | PairedHistogram):
        yield users - protocol.honest_by_few_signs(sent), "sent too few signs"
        yield users - protocol.honest_by_many_signs(sent + invalid), "sent too many signs"
    elif isinstance(protocol, Histogram | LowCommunicationHistogram):
        yield users - protocol.honest_at_most(sent), "sent too little noise"
        yield users - protocol.honest_despite(sent + invalid), "sent too many messages"
