"""The protocol of an object that keeps a budget: mechanisms need not know a ledger."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from smoothdp.errors import InvalidParameter


@runtime_checkable
class Budget(Protocol):
    """Something that is charged before data are touched; `smoothdp.Ledger` is one.

    Both calls see the mechanism, with its guarantee, and never the data. A mechanism calls
    `check` first, which refuses early, then `charge`, then reads the data.
    """

    def check(self, mechanism: object, /) -> None:
        """Raise what `charge` would raise now, and charge nothing."""
        ...

    def charge(self, mechanism: object, /) -> object:
        """Record the cost durably, or raise (`BudgetExceeded`) and record nothing."""
        ...


def check_budget(ledger: Budget | None, mechanism: object) -> None:
    """Ask a ledger, if there is one, whether a mechanism may be charged.

    Raises:
        InvalidParameter: something else than a ledger.
        BudgetExceeded, IncompatibleClaims, LedgerError: the ledger refuses.
    """
    if ledger is None:
        return
    if not isinstance(ledger, Budget):
        raise InvalidParameter(
            expected="ledger as a Ledger",
            got=f"ledger={ledger!r}",
            remedy="Open one with Ledger(path), or leave ledger out",
        )
    ledger.check(mechanism)
