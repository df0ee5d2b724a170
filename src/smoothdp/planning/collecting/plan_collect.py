"""`plan_collect`: which protocol for a collection, by error, messages, slots, and who may lie."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

from smoothdp.claims.guarantees.guarantee import Guarantee
from smoothdp.errors import InvalidParameter, OutOfReach
from smoothdp.exact.parameters.numbers import Parameter, exact_fraction, exact_int
from smoothdp.planning.collecting.offer import Offer
from smoothdp.planning.collecting.offers import Limits, Task, Wanted, offers
from smoothdp.shuffle.goals import require_replace_one
from smoothdp.shuffle.protocol import read_users
from smoothdp.shuffle.users.honest_share import (
    DEFAULT_HONEST_SHARE,
    least_honest,
    read_honest_share,
)
from smoothdp.sources import Source
from smoothdp.text import number_up

_NEAR = 1.25
_TASKS = ("count", "sum", "histogram", "strings")


@dataclass(frozen=True)
class CollectPlan:
    """All protocols for one collection with their figures, and the one that is recommended.

    Attributes:
        task: "count", "sum", "histogram" or "strings".
        n_users: n.
        guarantee: what each protocol that fits promises.
        honest_share: the share of the users on whose honesty it rests.
        liars: how many users who send anything the error counts; 0 if they were ruled out.
        limits: what a user may send.
        table: one offer a protocol.

    Raises:
        InvalidParameter: an offer that fits, and whose protocol was made for other users or
            another promise, as in an edited plan.

    >>> import smoothdp as sd
    >>> plan = plan_collect("count", n_users=1000, guarantee=sd.ApproxDP(1, delta="1e-6"), liars=0)
    >>> plan.recommended.name, plan.recommended.slots
    ('SplitSum of bits', 6)
    """

    source: ClassVar[Source] = Source("balcer-cheu", "protocols compared, rule of ours")
    task: Task
    n_users: int
    guarantee: Guarantee
    honest_share: Fraction
    liars: int
    limits: Limits
    table: tuple[Offer, ...]

    def __post_init__(self) -> None:
        for offer in self.table:
            if offer.fits and not self._is_kept_by(offer):
                raise InvalidParameter(
                    expected=f"protocols that were made for {self.n_users} users and this promise",
                    got=f"another one as {offer.name}",
                    remedy="Plan anew, by plan_collect",
                )

    def _is_kept_by(self, offer: Offer) -> bool:
        """Whether the protocol of an offer states what the plan says of it."""
        made = offer.protocol
        return bool(
            made.n_users == self.n_users // offer.groups
            and made.promise == self.guarantee
            and made.honest_share == self.honest_share
        )

    @property
    def recommended(self) -> Offer:
        """The offer with the least error; of those within 25% of it the one of fewest slots.

        Raises:
            OutOfReach: nothing fits the limits; says what each protocol needs.
        """
        fitting = [offer for offer in self.table if offer.fits and not offer.by_name]
        if not fitting:
            raise self._nothing_fits()
        least = min(offer.total_error(self.liars) for offer in fitting)
        near = [one for one in fitting if one.total_error(self.liars) <= _NEAR * least]
        return min(near, key=lambda one: (one.slots, one.total_error(self.liars)))

    @property
    def protocol(self) -> Any:
        """The recommended protocol, calibrated and ready to run."""
        return self.recommended.protocol

    @property
    def reason(self) -> str:
        """Why the recommended protocol is taken, in one sentence, and whether it keeps its word."""
        best = self.recommended
        counted = {0: "no liars, as declared", 1: "one liar"}.get(self.liars, f"{self.liars} liars")
        return (
            f"{best.name}: an error of at most {number_up(best.total_error(self.liars))} users in "
            f"95% of the runs, with {counted}, for {_slots(best)} ({best.n_bytes} bytes) a user: "
            "the fewest slots of those within 25% of the least error."
            f"{self._too_many_liars()}"
        )

    @property
    def why(self) -> str:
        """The rule's answer in words, with the condition that the promise rests on."""
        best = self.recommended
        others = [
            f"{offer.name} {offer.refused}" if offer.refused else _compared(offer, self.liars)
            for offer in self.table
            if offer is not best
        ]
        return (
            f"{self.reason} The others: {'; '.join(others)}. It keeps the promise {self.condition}."
        )

    @property
    def condition(self) -> str:
        """What the promise of the recommended protocol rests on, in each of its groups."""
        groups = self.recommended.groups
        condition = str(self.recommended.protocol.condition())
        if groups == 1:
            return condition
        return (
            f"{condition}, in each of the {groups} groups of users, into which users are drawn at "
            "random whatever they hold"
        )

    def _too_many_liars(self) -> str:
        """Say that the liars who are counted break the condition, or nothing."""
        honest = self.n_users - self.liars
        if not self.liars or honest >= least_honest(self.n_users, self.honest_share):
            return ""
        left = "nobody follows" if honest <= 0 else f"at most {honest:,} follow"
        who = "one liar" if self.liars == 1 else f"{self.liars:,} liars"
        return (
            f" With {who} {left} the protocol, so that the promise is not kept: lower honest_share."
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the plan as plain values, for JSON."""
        return {
            "task": self.task,
            "n_users": self.n_users,
            "honest_share": str(self.honest_share),
            "liars": self.liars,
            "recommended": self.recommended.name,
            "why": self.why,
            "table": [offer.to_dict() for offer in self.table],
        }

    def text(self) -> str:
        """Return the table and the recommendation as text."""
        head = ("protocol", "rmse", "95%", "messages", "slots", "bytes", "one liar", "colluding")
        rows = [head, *(_row(offer) for offer in self.table if offer.protocol is not None)]
        widths = [max(len(row[i]) for row in rows) for i in range(len(head))]
        lines = [
            "  ".join(
                cell.ljust(width) if i == 0 else cell.rjust(width)
                for i, (cell, width) in enumerate(zip(row, widths, strict=True))
            )
            for row in rows
        ]
        return "\n".join([*lines, "", self.why])

    def _nothing_fits(self) -> OutOfReach:
        needs = [f"{one.name} {one.refused}" for one in self.table if one.refused]
        named = [f"{one.name} fits if it is asked for by name" for one in self.table if one.fits]
        return OutOfReach(
            expected="limits that some protocol fits",
            got=f"most_slots={self.limits.slots}; {'; '.join([*needs, *named])}",
            remedy="Allow what one of them needs, or ask for a weaker guarantee",
        )


def plan_collect(
    task: Task,
    *,
    n_users: int,
    guarantee: Guarantee,
    honest_share: Parameter = DEFAULT_HONEST_SHARE,
    n_bins: int | None = None,
    string_bits: int | None = None,
    most_messages: Parameter | None = None,
    most_slots: int = 64,
    most_bytes: int | None = None,
    liars: int | None = None,
) -> CollectPlan:
    """Return the protocols for a collection through a shuffler, and which one to take.

    Each protocol is calibrated for the guarantee. Its total error is what 95% of the runs stay
    below, plus what the liars can move. The least is taken; among those within 25% of it the one
    with the fewest slots. `SplitSum`, which one liar can move without limit, and `PairedHistogram`,
    which one can move far, are offered only if ``liars=0`` says that there is none; `PairedCount`,
    whose promise falls off a cliff below the honest share, only by name.

    Args:
        task: "count" (users who hold a 1), "sum" (of numbers in [0, 1]), "histogram" (of n_bins
            values), or "strings" (those that many users hold).
        n_users: n.
        guarantee: `ApproxDP`, replacing one record.
        honest_share: share of the users who are sure to follow the protocol, in (0, 1].
        n_bins: of a histogram. string_bits: of the longest string.
        most_messages: on average, of a user (None: any number, two for pairs).
        most_slots: of a user in the whole collection.
        most_bytes: of a user, 48 bytes of each slot being its seal.
        liars: users who may send anything; None counts one, 0 declares that there is none. With
            more than honest_share leaves, `why` says that the promise is not kept.

    Raises:
        InvalidParameter: an unknown task, a domain that is missing or not asked for, numbers out
            of range.
        OutOfReach (from ``recommended``): no protocol fits; says what would.

    >>> import smoothdp as sd
    >>> plan = plan_collect("histogram", n_users=10**6, n_bins=100,
    ...     guarantee=sd.ApproxDP(1, delta="1e-6"))
    >>> plan.recommended.name, plan.recommended.slots
    ('LowCommunicationHistogram', 6)
    """
    if task not in _TASKS:
        raise InvalidParameter(
            expected=f"a task of {', '.join(_TASKS)}",
            got=f"{task!r}",
            remedy='Say what is collected, such as plan_collect("count", ...)',
        )
    _require_domain(task, n_bins=n_bins, string_bits=string_bits)
    require_replace_one(guarantee)
    limits = Limits(
        None if most_messages is None else exact_fraction(most_messages, name="most_messages"),
        exact_int(most_slots, name="most_slots", minimum=1),
        None if most_bytes is None else exact_int(most_bytes, name="most_bytes", minimum=1),
    )
    counted = 1 if liars is None else exact_int(liars, name="liars", minimum=0)
    wanted = Wanted(
        n_users=read_users(n_users),
        guarantee=guarantee,
        honest_share=read_honest_share(honest_share),
        n_bins=None if n_bins is None else exact_int(n_bins, name="n_bins", minimum=1),
        string_bits=None
        if string_bits is None
        else exact_int(string_bits, name="string_bits", minimum=1),
        limits=limits,
        no_liars=counted == 0,
    )
    found = offers(task, wanted)
    return CollectPlan(task, wanted.n_users, guarantee, wanted.honest_share, counted, limits, found)


def _require_domain(task: str, **given: int | None) -> None:
    """Refuse a domain that is missing, or that the task has not."""
    for name, of in (("n_bins", "histogram"), ("string_bits", "strings")):
        if (given[name] is None) == (task == of):
            raise InvalidParameter(
                expected=f'{name} with the task "{of}", and with no other',
                got=f"{name}={given[name]} with {task!r}",
                remedy=f"Give {name}=, or leave it out",
            )


def _compared(offer: Offer, liars: int) -> str:
    named = ", by name only" if offer.by_name else ""
    total = number_up(offer.total_error(liars))
    return f"{offer.name} {total} for {_slots(offer)}{named}"


def _slots(offer: Offer) -> str:
    return "1 slot" if offer.slots == 1 else f"{offer.slots} slots"


def _row(offer: Offer) -> tuple[str, ...]:
    return (
        offer.name,
        number_up(offer.rmse),
        number_up(offer.error),
        number_up(offer.messages),
        str(offer.slots),
        str(offer.n_bytes),
        number_up(offer.influence) if offer.influence < float("inf") else "anything",
        offer.collusion,
    )
