"""Before any noise: who answered, one row each, and the mark of the rows that noise depends on."""

from __future__ import annotations

from dataclasses import dataclass
from operator import add
from typing import Generic, Literal, TypeVar, cast

from smoothdp.engines.collection import (
    Collected,
    MarkRows,
    job_name,
    joined,
    noise_name,
    require_distinct,
)
from smoothdp.engines.job import Job, Run
from smoothdp.engines.keyed_random import check_key
from smoothdp.errors import InvalidData, InvalidParameter

Users = Literal["check", "unique"]
AnyProtocol = TypeVar("AnyProtocol", bound=Collected)


@dataclass(frozen=True)
class MarkedRows(Generic[AnyProtocol]):
    """The rows of a collection, as the first pass found them.

    Attributes:
        protocol: for those who answered.
        marks: marks rows again, without the users: every pass does.
        data_mark: of all rows.
    """

    protocol: AnyProtocol
    marks: MarkRows
    data_mark: int

    def noise_name(self, *round_words: str) -> bytes:
        """Return the name that noise is derived from; words tell rounds on the same rows apart."""
        job = self.marks.job + joined(round_words)
        return noise_name(job, self.data_mark, key=self.marks.key)

    def require_same(self, data_mark: int) -> None:
        """Raise InvalidData if a later pass saw other rows: nothing of its noise leaves."""
        if data_mark != self.data_mark:
            raise InvalidData(
                expected="the same rows in every pass",
                got="others in a later one",
                remedy="Write the rows down once, such as to Parquet, and count from there",
            )


def marked_rows(
    run: Run,
    protocol: AnyProtocol,
    *,
    key: bytes,
    column: str,
    window: int,
    users: Users,
    n_answered: int | None,
) -> MarkedRows[AnyProtocol]:
    """Return the rows of (user, datum) with their mark: the first pass of every collection.

    Raises:
        InvalidData: a datum outside the protocol's domain, another number of users than
            answered, fewer than the promise needs, or a user with two rows.
        InvalidParameter: another protocol, no key of 32 bytes, no column, a window outside
            0, ..., 2^64 - 1, or a number of users who answered above n_users.
        OutOfReach: more users than can be checked.
    """
    job_name(protocol, column=column, window=window)
    with_users, secret = require_users(users) == "check", check_key(key)
    used = protocol if n_answered is None else _answered(protocol, n_answered)
    name = job_name(used, column=column, window=window)
    found = run(Job(MarkRows(used, secret, name, with_users), add))
    if found.n_users != used.n_users:
        said = "n_users" if n_answered is None else "n_answered"
        raise InvalidData(
            expected=f"data of {said}={used.n_users} users",
            got=f"{found.n_users}",
            remedy="Give one row per user who answered; build the protocol for all of them, and "
            "say n_answered if some stayed away",
        )
    require_distinct(found.users)
    return MarkedRows(used, MarkRows(used, secret, name, with_users=False), found.data_mark)


def _answered(protocol: AnyProtocol, n_answered: int) -> AnyProtocol:
    """Return the protocol for those who answered, if they keep its promise."""
    used = cast("AnyProtocol", protocol.answered(n_answered))
    needed = getattr(protocol, "honest_needed", 1)
    if used.n_users < needed:
        raise InvalidData(
            expected=f"at least {needed} honest users, as the promise needs",
            got=f"{used.n_users} users who answered",
            remedy="Wait for more users; next time, calibrate for fewer than you expect",
        )
    return used


def require_users(users: Users) -> Users:
    """Return "check" or "unique", or raise InvalidParameter."""
    if users not in ("check", "unique"):
        raise InvalidParameter(
            expected="users='check' or users='unique'",
            got=f"users={users!r}",
            remedy="Leave users out to check that no user has two rows",
        )
    return users
