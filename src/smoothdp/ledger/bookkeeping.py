"""The next entry of a ledger, and the check that its entries are as they were written."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path

from smoothdp.claims.release import library_version
from smoothdp.errors import BudgetExceeded, IncompatibleClaims, InvalidData, LedgerError
from smoothdp.exact.parameters.numbers import float_of
from smoothdp.ledger.charged import Charged
from smoothdp.ledger.entry import Entry, body_of, digest_of, entry_of
from smoothdp.ledger.filters import Amounts, Filter
from smoothdp.ledger.store import Head, Row, Tail

# Clocks are set right by seconds all the time; entries then keep the later time.
_CLOCK_SLACK = timedelta(minutes=1)


def last_entry(tail: Tail, path: Path) -> Entry | None:
    """Return the last entry, or raise LedgerError if the entry was changed."""
    if tail.row is None:
        return None
    return checked_entry(tail.row, tail.previous, path)


def checked_entry(row: Row, previous: str, path: Path) -> Entry:
    """Return the entry of a row whose digest is right."""
    if row.digest != digest_of(previous, row.number, row.body):
        raise damaged(path, f"entry {row.number} is not what was written")
    try:
        return entry_of(row.number, row.body, row.digest)
    except InvalidData as error:
        raise damaged(path, str(error)) from None


class EntryMeanwhile(LedgerError):
    """Somebody else has charged since the entries were read."""


def require_last(tail: Tail, last: Entry | None) -> None:
    """Raise EntryMeanwhile unless an entry is the last of a ledger; None: unless it has none."""
    row = None if tail.row is None else (tail.row.number, tail.row.digest)
    if row != (None if last is None else (last.number, last.digest)):
        raise EntryMeanwhile(
            expected="the entry that was read last to be the last one",
            got="a later one",
            remedy="Nothing was charged. Read the entries again",
        )


def next_row(
    kept: Filter, charged: Charged, costs: Amounts, tail: Tail, *, now: datetime, path: Path
) -> Row:
    """Return the entry that a charge adds, or raise why there is none."""
    last = last_entry(tail, path)
    if last is not None:
        _require_same_unit(last.parameters, charged.parameters)
    spent = kept.nothing() if last is None else last.spent
    total = kept.total(spent, costs)
    excess = kept.excess(total)
    if excess:
        raise _exceeded(kept, charged, spent, costs, excess)
    entry = Entry(
        number=1 if last is None else last.number + 1,
        time=_time_after(last, now, path).isoformat(),
        library_version=library_version(),
        mechanism=charged.mechanism,
        parameters=charged.parameters,
        guarantee=charged.guarantee,
        claim=charged.claim,
        costs=costs,
        spent=total,
        digest="",
    )
    previous = tail.head.identity if tail.row is None else tail.row.digest
    body = body_of(entry)
    return Row(entry.number, body, digest_of(previous, entry.number, body))


def unit_of(parameters: Mapping[str, str]) -> str:
    """Return whom the promise of an entry is about, in words.

    >>> unit_of({"person_column": "id"}), unit_of({})
    ("one person's rows, by the column 'id'", 'one row')
    """
    column = parameters.get("person_column")
    return f"one person's rows, by the column {column!r}" if column else "one row"


def _require_same_unit(before: Mapping[str, str], now: Mapping[str, str]) -> None:
    """Refuse to add up promises about rows and about persons: neither says how the sum is meant.

    A person's promise does not bound one row by its epsilon, nor a row's a person of many rows.
    """
    first, second = unit_of(before), unit_of(now)
    if first != second:
        raise IncompatibleClaims(
            expected=f"a release about {first}, as the ledger's entries before",
            got=f"one about {second}",
            remedy="Keep a ledger for each unit",
        )


def verify_rows(kept: Filter, head: Head, rows: list[Row], path: Path) -> None:
    """Raise LedgerError unless every entry and every sum is as it was written."""
    previous, spent = head.identity, kept.nothing()
    for number, row in enumerate(rows, start=1):
        if row.number != number:
            raise damaged(path, f"entry {number} is missing")
        entry = checked_entry(row, previous, path)
        spent = kept.total(spent, entry.costs)
        if dict(entry.spent) != spent or kept.excess(spent):
            raise damaged(path, f"the sum at entry {number} is wrong")
        previous = row.digest


def damaged(path: Path, fault: str) -> LedgerError:
    """Return the error of a ledger that cannot be trusted."""
    return LedgerError(
        expected="an undamaged ledger",
        got=f"{path}: {fault}",
        remedy="Nothing may be released. Restore the ledger, and count missing entries as spent",
    )


def read_clock(now: object) -> datetime:
    """Return a time in UTC, or raise LedgerError."""
    if not isinstance(now, datetime) or now.tzinfo is None:
        raise LedgerError(
            expected="a clock that returns a datetime with a time zone",
            got=f"{now!r}",
            remedy="Correct clock=, such as lambda: datetime.now(UTC)",
        )
    return now.astimezone(UTC)


def _time_after(last: Entry | None, now: datetime, path: Path) -> datetime:
    if last is None:
        return now
    try:
        before = datetime.fromisoformat(last.time)
        late = before - now
    except (ValueError, TypeError):
        raise damaged(path, f"entry {last.number} has no time") from None
    if late > _CLOCK_SLACK:
        raise LedgerError(
            expected=f"a clock not before the last entry ({last.time})",
            got=now.isoformat(),
            remedy=(
                "Nothing was charged. Set this machine's clock right (in Python: or pass clock=, "
                "if the entry was written in a wrong future)"
            ),
        )
    return max(before, now)


def _exceeded(
    kept: Filter, charged: Charged, spent: Amounts, costs: Amounts, excess: list[str]
) -> BudgetExceeded:
    left = kept.remaining(spent)
    room = ", ".join(f"{name} {float_of(left[name].lower()):.6g}" for name in excess)
    asked = ", ".join(f"{name} {costs[name].float_upper():.6g}" for name in excess if name in costs)
    remedy = "Nothing was charged. Ask for less, or stop"
    keeps_none = getattr(kept, "conversion", None) is not None
    if "delta" in excess and keeps_none and kept.limits["delta"].float_upper() == 0:
        remedy += (
            ". This ledger has no delta for releases: open another one whose conversion_delta is "
            "below the delta of its budget"
        )
    return BudgetExceeded(
        expected=f"a charge within what is left ({room})",
        got=f"{asked} for {charged.claim!r}",
        remedy=remedy,
    )
