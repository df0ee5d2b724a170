"""`Ledger`: the record of all charges, kept across crashes, processes and people."""

from __future__ import annotations

import os
import uuid
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from types import EllipsisType
from typing import Any, ClassVar

from smoothdp.claims.guarantees.guarantee import Guarantee
from smoothdp.claims.label import Label, with_label
from smoothdp.composition import ComposedProfile, compose
from smoothdp.errors import InvalidParameter, LedgerError
from smoothdp.exact.parameters.numbers import Parameter
from smoothdp.ledger.amount import Amount
from smoothdp.ledger.bookkeeping import (
    checked_entry,
    damaged,
    last_entry,
    next_row,
    read_clock,
    require_last,
    verify_rows,
)
from smoothdp.ledger.budgets import filter_from_text, filter_of, filter_to_text
from smoothdp.ledger.charged import Charged
from smoothdp.ledger.entry import Entry, entry_of
from smoothdp.ledger.filters import Amounts, Filter
from smoothdp.ledger.odometer import first_level
from smoothdp.ledger.prices.pricing import priced
from smoothdp.ledger.spending import Spending
from smoothdp.ledger.store import Head, Row, Store, Tail
from smoothdp.ledger.totals import totals_of
from smoothdp.sources import Source


def _now() -> datetime:
    return datetime.now(UTC)


class Ledger:
    """An append-only record of releases, which refuses what would pass the budget.

    A charge is on the disk before `charge` or `spend` returns, so a crash at any moment leaves
    no release uncharged. Processes on one machine may share the file (not over a network file
    system). Mechanisms may be chosen after seeing earlier releases: everything released
    together meets the budget (`smoothdp.ledger.filters` has the proof for each notion).

    Args:
        path: the file; made if ``budget`` is given and there is none.
        budget: PureDP, ApproxDP, ZCDP, TruncatedCDP, GaussianDP, or SmoothedDP with
            adaptive=False. None: whatever the existing ledger has; another one is refused, and
            so are ``kept`` and what follows it without a budget.
        kept: for a budget ApproxDP, what is added up: "basic" (default), epsilons and deltas;
            "concentrated", rhos of zCDP and deltas; "gdp", squares of mu and deltas; "renyi",
            Renyi divergences at each of ``orders``, and deltas. The last three allow far more
            small releases; the last takes steps on samples, too, which are chosen on the way.
        orders: for "renyi", the orders, fixed for good: a charge is taken if the sums stay within
            the limits at all of them. None: the one order at which Gaussian noise has most room.
        conversion_delta: for these three: the part of delta that turns rho, mu or a divergence
            into epsilon (default: half, all, all); the rest is for claims with a delta themselves.
        allow: for a budget ApproxDP or PureDP, items of `compose` with counts: they are checked
            to meet the budget together, and then nothing else is charged. So steps of training,
            which add up in no notion, are charged one by one at the price of their composition.
        adaptive: False says that all mechanisms are fixed before the first output, as a budget
            of smoothed DP needs.
        timeout: seconds to wait for other processes.
        clock: returns the time, with a time zone.

    Raises:
        InvalidParameter, IncompatibleClaims: a budget that cannot be kept, or another one than
            the ledger has.
        LedgerError: a file that is missing, locked, damaged, read-only, or no ledger of a
            format that this version knows.

    >>> import tempfile
    >>> from smoothdp.claims import PureDP
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     ledger = Ledger(folder + "/ledger.db", budget=PureDP(1))
    ...     entry = ledger.spend(PureDP("0.3")).entry
    ...     ledger.left()
    PureDP(epsilon=7/10, neighbours='replace_one')
    """

    source: ClassVar[Source] = Source("rogers-roth-ullman-vadhan", "privacy filters")

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        budget: Guarantee | None = None,
        kept: str | None = None,
        orders: Iterable[Parameter] | None = None,
        conversion_delta: Parameter | None = None,
        adaptive: bool = True,
        allow: Iterable[Any] | None = None,
        timeout: float = 30.0,
        clock: Callable[[], datetime] = _now,
    ) -> None:
        if isinstance(timeout, bool) or not 0 <= timeout <= 86400:
            raise InvalidParameter(
                expected="0 <= timeout <= 86400 seconds",
                got=f"timeout={timeout}",
                remedy="Give a number of seconds such as 30",
            )
        rules = {
            "kept": kept,
            "orders": orders,
            "conversion_delta": conversion_delta,
            "allow": allow,
            "adaptive": None if adaptive else adaptive,
        }
        named = [name for name, rule in rules.items() if rule is not None]
        if budget is None and named:
            raise InvalidParameter(
                expected=f"a budget beside {', '.join(named)}",
                got="no budget",
                remedy="Give the budget that the ledger has, or leave them out to use it as it is",
            )
        self._clock = clock
        self._store = Store(Path(path), float(timeout))
        wanted = None
        if budget is not None:
            wanted = filter_of(
                budget,
                kept=kept,
                orders=orders,
                conversion_delta=conversion_delta,
                adaptive=adaptive,
                allow=allow,
            )
            time = read_clock(clock()).isoformat()
            self._store.create(Head(uuid.uuid4().hex, time, filter_to_text(wanted)))
        tail = self._store.tail()
        self._head = tail.head
        self._filter = _read_filter(tail.head, self.path)
        if wanted is not None and wanted != self._filter:
            raise InvalidParameter(
                expected=f"the budget that the ledger {self.path} has, {self._filter.budget!r}",
                got=f"another budget, or another way to keep it: {budget!r}, {kept or 'basic'}",
                remedy=(
                    "A budget is never changed: use the ledger as it is (in Python: leave "
                    "budget= out), or give another path"
                ),
            )
        if wanted is not None:
            # The same rule, with the declared items themselves, which no file holds.
            self._filter = wanted
        last_entry(tail, self.path)

    @property
    def path(self) -> Path:
        """The file."""
        return self._store.path

    @property
    def budget(self) -> Guarantee:
        """The claim that everything released together meets."""
        return self._filter.budget

    @property
    def filter(self) -> Filter:
        """The rule by which the budget is kept."""
        return self._filter

    def spend(
        self, mechanism: object, *, claim: Guarantee | None = None, label: object = None
    ) -> Spending:
        """Charge a mechanism and return the right to one release.

        Args:
            mechanism: a mechanism or protocol with a guarantee; a guarantee, for a release
                that is made elsewhere; or with ``claim`` anything that `compose` takes.
            claim: the claim to charge instead of the guarantee: one that follows from it,
                such as ApproxDP(epsilon, delta=) from the profile of a training run.
            label: a name for the entry and the release, or a `smoothdp.claims.label.Label` with
                purpose and who.

        Raises:
            InvalidParameter: a label that is none.
            BudgetExceeded: the budget would be passed. Nothing is charged.
            IncompatibleClaims: other neighbours, another unit than the entries before have (rows,
                or persons by a column), or a claim that does not follow, or that
                the budget has no cost for. Nothing is charged.
            LedgerError: the file failed, or the clock went back. Nothing may be released.
        """
        entry = self.charge(mechanism, claim=claim, label=label)
        return Spending(mechanism, entry, Label.read(label))

    def charge(
        self,
        mechanism: object,
        /,
        *,
        claim: Guarantee | None = None,
        label: object = None,
        following: Entry | EllipsisType | None = ...,
    ) -> Entry:
        """Charge like `spend` and return the entry, once it is on the disk.

        Args:
            following: the entry that must be the last one, None for the first charge of all. Who
                has looked whether something was charged already charges it once that way,
                whoever else charges meanwhile. By default any.

        Raises:
            LedgerError: what `spend` raises; and where another entry is the last one (of the class
                `bookkeeping.EntryMeanwhile`). Nothing is charged.

        >>> import tempfile
        >>> from smoothdp.claims import PureDP
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     ledger = Ledger(folder + "/l.db", budget=PureDP(1))
        ...     first = ledger.charge(PureDP("0.1"), following=None)
        ...     ledger.charge(PureDP("0.1"), following=first).number
        2
        """
        charged, costs = priced(self._filter, with_label(mechanism, Label.read(label)), claim)

        def row_after(tail: Tail) -> Row:
            if following is not ...:
                require_last(tail, following)
            return self._next_row(charged, costs, tail)

        return entry_of(*self._store.append(row_after))

    def check(self, mechanism: object, /, *, claim: Guarantee | None = None) -> None:
        """Raise what `charge` would raise now; charge nothing."""
        charged, costs = priced(self._filter, mechanism, claim)
        self._next_row(charged, costs, self._store.tail())

    def entries(self, *, after: Entry | None = None) -> list[Entry]:
        """Return the entries, oldest first, each checked against its digest.

        Args:
            after: an entry of this ledger: those that came later alone are returned, and none
                before it is read. So who keeps the last entry sees each entry once.

        Raises:
            LedgerError: the file failed, is another one, was damaged, or has lost ``after``.
        """
        head, rows = self._store.rows(1 if after is None else after.number)
        self._check_same(head)
        previous = head.identity
        if after is not None:
            if not rows or (rows[0].number, rows[0].digest) != (after.number, after.digest):
                raise damaged(self.path, f"entry {after.number} is not what was read before")
            previous, rows = after.digest, rows[1:]
        chain = [previous, *(row.digest for row in rows)]
        return [
            checked_entry(row, digest, self.path) for row, digest in zip(rows, chain, strict=False)
        ]

    def amounts(self) -> dict[str, tuple[Amount, Amount, Amount]]:
        """Return (spent, limit, left) by currency, exactly."""
        spent = self._spent()
        left = self._filter.remaining(spent)
        return {
            name: (spent[name], limit, left[name]) for name, limit in self._filter.limits.items()
        }

    def spent(self) -> Guarantee:
        """Return the sum of the charges as one claim.

        What is *proved* for releases that were chosen after seeing others is the budget. This
        claim holds if all of them were fixed in advance.
        """
        return self._filter.spent(self._spent())

    def left(self) -> Guarantee:
        """Return a claim that may still be spent.

        With kept="renyi" that is one of zCDP, which costs at all orders; with declared items it
        is none, and what is left are uses of them. `sentence` says both in words.
        """
        return self._filter.left(self._spent())

    def sentence(self) -> str:
        """Return what was spent and what is left, in words that fit how the budget is kept.

        >>> import tempfile
        >>> from smoothdp.claims import ApproxDP, ZCDP
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     budget = ApproxDP(3, delta="1e-5")
        ...     ledger = Ledger(folder + "/l.db", budget=budget, kept="renyi", orders=[8])
        ...     entry = ledger.charge(ZCDP("0.05"))
        ...     ledger.sentence()[:46]
        'Spent: 22.4% of the limit at the order 8; had '
        """
        return self._filter.sentence(self._spent())

    def odometer(self, levels: Sequence[Guarantee]) -> Guarantee | None:
        """Return the first of several levels that the charges have not passed; None beyond all.

        The levels are claims in the budget's notion, each weaker than the one before, and fixed
        before the first release. For every event S that includes this report,
        P(S) <= e^epsilon Q(S) + delta with the level's own epsilon and all of its delta, although
        what was released was chosen on the way. Over several reports the deltas add up.

        Source: proofs/privacy-filters#3.

        Raises:
            InvalidParameter: no levels, levels of another notion, or not in order.
        """
        return first_level(self._filter, levels, self._spent())

    def profile(self) -> ComposedProfile | None:
        """Return the profile of all guarantees together, as if fixed in advance; None if empty.

        This is for display, in any notion: never below the truth for mechanisms that were
        fixed in advance, and no promise for those that were chosen after seeing others.
        """
        counts = Counter(entry.guarantee for entry in self.entries())
        return compose(list(counts.items())) if counts else None

    def totals(self) -> list[Guarantee]:
        """Return the sum of the guarantees in every notion that has one, as if fixed in advance.

        Where the claims of single charges add up to nothing (kept="renyi", declared items) it is
        `spent` alone.
        """
        guarantees = [entry.guarantee for entry in self.entries()]
        if not self._filter.sums_of_claims:
            return [self.spent()] if guarantees else []
        return totals_of(guarantees, self.budget.neighbours)

    def verify(self) -> int:
        """Check the whole file, every entry and every sum; return the number of entries.

        Raises:
            LedgerError: something was changed, lost or damaged.
        """
        fault = self._store.fault()
        if fault is not None:
            raise damaged(self.path, fault)
        head, rows = self._store.rows()
        self._check_same(head)
        verify_rows(self._filter, head, rows, self.path)
        return len(rows)

    def _next_row(self, charged: Charged, costs: Amounts, tail: Tail) -> Row:
        self._check_same(tail.head)
        now = read_clock(self._clock())
        return next_row(self._filter, charged, costs, tail, now=now, path=self.path)

    def _spent(self) -> Amounts:
        tail = self._store.tail()
        self._check_same(tail.head)
        last = last_entry(tail, self.path)
        return self._filter.nothing() if last is None else last.spent

    def _check_same(self, head: Head) -> None:
        if head != self._head:
            raise LedgerError(
                expected="the ledger that was opened",
                got=f"another one at {self.path}",
                remedy="Nothing may be released. Find out who replaced the file",
            )


def _read_filter(head: Head, path: Path) -> Filter:
    try:
        return filter_from_text(head.kept)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise damaged(path, f"its budget cannot be read ({error})") from None
