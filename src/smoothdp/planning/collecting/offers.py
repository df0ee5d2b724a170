"""The offers for each task: every protocol that can answer it, calibrated for one guarantee."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Literal

from smoothdp.claims.guarantees.guarantee import Guarantee
from smoothdp.errors import InvalidParameter, OutOfReach
from smoothdp.planning.collecting.offer import Offer
from smoothdp.shuffle.flipped.boolean_sum import BooleanSum
from smoothdp.shuffle.flipped.real_sum import RealSum
from smoothdp.shuffle.histogram.low_communication import LowCommunicationHistogram
from smoothdp.shuffle.paired.count import DEFAULT_NOISE_SHARE, PairedCount
from smoothdp.shuffle.paired.design import slots_of_signs
from smoothdp.shuffle.paired.histogram import PairedHistogram
from smoothdp.shuffle.split.split_sum import SplitSum
from smoothdp.shuffle.strings.prefix_tree import DEFAULT_CANDIDATES, PrefixTree
from smoothdp.shuffle.strings.tree_levels import BYTE
from smoothdp.shuffle.users.honest_share import least_honest
from smoothdp.text import number_up

Task = Literal["count", "sum", "histogram", "strings"]
_BITS_OF_COUNTS = (2, 4, 8)
_BITS_OF_SUMS = (8, 16, 32, 64)
_LEAST_GAIN = Fraction(1, 5)
_ANY_SLOTS = 1 << 14
# More than these of a user's bits cost slots and win little: paired histograms stay below.
_LARGEST_CLUMP = 4
_MESSAGES_OF_PAIRS = Fraction(2)


@dataclass(frozen=True)
class Limits:
    """What a user may send in the whole collection.

    Attributes:
        messages: on average; None for any number (two, for protocols of pairs).
        slots, n_bytes: at most; None for any number of bytes.
    """

    messages: Fraction | None
    slots: int
    n_bytes: int | None

    def refusal(self, offer: Offer) -> str:
        """Return what an offer needs beyond the limits, or ""."""
        beyond = []
        if offer.slots > self.slots:
            beyond.append(f"{offer.slots} slots")
        if self.messages is not None and offer.messages > self.messages:
            beyond.append(f"{number_up(offer.messages)} messages on average")
        if self.n_bytes is not None and offer.n_bytes > self.n_bytes:
            beyond.append(f"{offer.n_bytes} bytes")
        return f"needs {' and '.join(beyond)} of a user" if beyond else ""


@dataclass(frozen=True)
class Wanted:
    """A collection: users, promise, domain, limits, and whether liars are ruled out."""

    n_users: int
    guarantee: Guarantee
    honest_share: Fraction
    n_bins: int | None
    string_bits: int | None
    limits: Limits
    no_liars: bool


def offers(task: Task, wanted: Wanted) -> tuple[Offer, ...]:
    """Return all offers for a task, in the order of the documentation."""
    return tuple(_MAKERS[task](wanted))


def _of_counts(wanted: Wanted) -> Iterator[Offer]:
    yield _offer(
        "BooleanSum", wanted, lambda common: BooleanSum.calibrate(**common), name_of="boolean-sum"
    )
    for r in _BITS_OF_COUNTS:
        yield replace(_real_sum(wanted, r), of_bits=True)
    yield _paired(
        "PairedCount",
        wanted,
        lambda common, paid: PairedCount.calibrate(**common, **paid),
        name_of="paired-count",
        by_name=True,
    )
    yield _only_honest(
        "SplitSum of bits",
        wanted,
        lambda common: SplitSum.calibrate(**common, resolution=1, most_slots=_ANY_SLOTS),
    )


def _of_sums(wanted: Wanted) -> Iterator[Offer]:
    useful = max(_BITS_OF_SUMS[0], min(wanted.limits.slots, _useful_bits(wanted)))
    for r in _BITS_OF_SUMS:
        if r <= useful:
            yield _real_sum(wanted, r)
    yield _only_honest(
        "SplitSum", wanted, lambda common: SplitSum.calibrate(**common, most_slots=_ANY_SLOTS)
    )


def _of_histograms(wanted: Wanted) -> Iterator[Offer]:
    bins: dict[str, Any] = {"n_bins": wanted.n_bins}
    yield _offer(
        "LowCommunicationHistogram",
        wanted,
        lambda common: LowCommunicationHistogram.calibrate(**common, **bins),
        name_of="low-communication-histogram",
    )
    if wanted.no_liars:
        yield _paired(
            "PairedHistogram",
            wanted,
            lambda common, paid: _few_slots(
                lambda clump: PairedHistogram.calibrate(
                    **common, **bins, **paid, largest_clump=clump
                )
            ),
            name_of="paired-histogram",
            n_cells=wanted.n_bins or 1,
        )
    else:
        yield Offer("PairedHistogram", refused=_UNBOUNDED)


def _of_strings(wanted: Wanted) -> Iterator[Offer]:
    bits = wanted.string_bits
    yield _offer(
        "PrefixTree, all levels",
        wanted,
        lambda common: PrefixTree.calibrate(**common, string_bits=bits),
    )
    assert bits is not None
    levels = math.ceil(bits / 8)
    yield _offer(
        "PrefixTree, one level a user",
        wanted,
        lambda common: LowCommunicationHistogram.calibrate(
            **{**common, "n_users": wanted.n_users // levels},
            n_bins=DEFAULT_CANDIDATES * BYTE + 1,
        ),
        groups=levels,
    )


_MAKERS: dict[Task, Callable[[Wanted], Iterator[Offer]]] = {
    "count": _of_counts,
    "sum": _of_sums,
    "histogram": _of_histograms,
    "strings": _of_strings,
}
_UNBOUNDED = "only if liars=0 is declared: one user who sends anything may move it too far"


def _common(wanted: Wanted) -> dict[str, Any]:
    return {
        "n_users": wanted.n_users,
        "guarantee": wanted.guarantee,
        "honest_share": wanted.honest_share,
    }


def _offer(
    name: str,
    wanted: Wanted,
    make: Callable[[dict[str, Any]], Any],
    *,
    groups: int = 1,
    name_of: str = "",
) -> Offer:
    """Return a protocol within the limits, or why it is none."""
    try:
        protocol = make(_common(wanted))
    except (InvalidParameter, OutOfReach) as error:
        return Offer(name, refused=f"refuses: {str(error).rstrip('.')}", groups=groups)
    offer = Offer(name, protocol, groups=groups, named={"protocol": name_of} if name_of else {})
    return replace(offer, refused=wanted.limits.refusal(offer))


def _real_sum(wanted: Wanted, n_bits: int) -> Offer:
    offer = _offer(
        f"RealSum of {n_bits} bits",
        wanted,
        lambda common: RealSum.calibrate(**common, n_bits=n_bits),
    )
    return replace(offer, named={"protocol": "real-sum", "n_bits": n_bits})


def _useful_bits(wanted: Wanted) -> int:
    """Return the r beyond which even many more bits save less than a quarter of the error.

    From where the next doubling saves less than a fifth of the mean squared error, and each one
    after it about half as much as the one before.
    """
    try:
        return RealSum.best_n_bits(
            wanted.n_users,
            guarantee=wanted.guarantee,
            honest_share=wanted.honest_share,
            least_gain=_LEAST_GAIN,
            at_most=_BITS_OF_SUMS[-1],
        )
    except InvalidParameter:
        return _BITS_OF_SUMS[0]


def _only_honest(name: str, wanted: Wanted, make: Callable[[dict[str, Any]], Any]) -> Offer:
    """Return a protocol that one liar can move anywhere: only where liars are ruled out."""
    offer = _offer(name, wanted, make, name_of="split-sum")
    if wanted.no_liars or not offer.fits:
        return offer
    return replace(offer, refused=_UNBOUNDED)


def _paired(
    name: str,
    wanted: Wanted,
    make: Callable[[dict[str, Any], dict[str, Any]], Any],
    *,
    name_of: str,
    n_cells: int = 1,
    by_name: bool = False,
) -> Offer:
    """Return a protocol of pairs, whose design follows the limits."""
    limits = wanted.limits
    most = _MESSAGES_OF_PAIRS if limits.messages is None else limits.messages
    paid = {"most_messages": most, "most_slots": limits.slots}

    def made(common: dict[str, Any]) -> Any:
        least = slots_of_signs(
            wanted.guarantee,
            n_honest=least_honest(wanted.n_users, wanted.honest_share),
            n_cells=n_cells,
            noise_share=DEFAULT_NOISE_SHARE,
        )
        if least > limits.slots:
            # Known at once; a design that needs more still is long to find.
            raise _Beyond(least)
        return make(common, paid)

    try:
        offer = _offer(name, wanted, made, name_of=name_of)
    except _Beyond as beyond:
        return Offer(name, refused=f"needs at least {beyond.slots} slots of a user")
    return replace(offer, by_name=by_name)


class _Beyond(Exception):
    """A protocol needs at least so many slots, more than are allowed."""

    def __init__(self, slots: int) -> None:
        super().__init__(slots)
        self.slots = slots


def _few_slots(make: Callable[[int], Any]) -> Any:
    """Return the protocol of the least clump up to the largest, or raise the last refusal."""
    for clump in range(1, _LARGEST_CLUMP):
        try:
            return make(clump)
        except InvalidParameter:
            continue
    return make(_LARGEST_CLUMP)
