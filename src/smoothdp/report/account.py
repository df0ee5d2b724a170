"""The account of a ledger: its entries, what is spent in any notion, and what is left."""

from __future__ import annotations

import json
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from smoothdp.claims.curves.profile import PrivacyProfile
from smoothdp.claims.guarantees.guarantee import Guarantee
from smoothdp.errors import InvalidData
from smoothdp.exact.balls.balls import log_bounds
from smoothdp.exact.parameters.numbers import Parameter
from smoothdp.ledger import Entry, Ledger
from smoothdp.ledger.amount import Amount
from smoothdp.ledger.bookkeeping import unit_of
from smoothdp.plots.canvas import save
from smoothdp.plots.profile import plot_profile
from smoothdp.text import number_down, number_up, table

_SHOWN = 20
_WIDEST = 60
_CAVEAT = (
    "That is for releases that were fixed in advance. For releases that were chosen after seeing "
    "others, what is proved is the budget."
)


@dataclass(frozen=True)
class Account:
    """What a ledger says.

    Attributes:
        path: the file.
        budget: what everything released together meets.
        amounts: (spent, limit, left) by currency, exactly.
        left: a claim that may still be spent.
        totals: the sum of the guarantees in every notion that has one.
        delta, epsilon: the epsilon of all guarantees together at the delta asked for.
        entries: all charges.
        profile: of all guarantees together; None without entries.

    >>> import tempfile
    >>> from smoothdp.claims import PureDP
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     ledger = Ledger(folder + "/l.db", budget=PureDP(1))
    ...     entry = ledger.charge(PureDP("0.4"))
    ...     Account.of(ledger).left
    PureDP(epsilon=3/5, neighbours='replace_one')
    """

    path: Path
    budget: Guarantee
    amounts: dict[str, tuple[Amount, Amount, Amount]]
    left: Guarantee
    totals: list[Guarantee]
    delta: Parameter | None
    epsilon: float | None
    entries: list[Entry]
    profile: PrivacyProfile | None

    @classmethod
    def of(cls, ledger: Ledger, *, delta: Parameter | None = None) -> Account:
        """Return the account of a ledger, after verifying all of it."""
        ledger.verify()
        profile, totals = ledger.profile(), ledger.totals()
        epsilon = None
        if delta is not None:
            profiles = [claim.profile() for claim in totals] + ([profile] if profile else [])
            epsilon = min((each.epsilon(delta) for each in profiles), default=0.0)
        return cls(
            ledger.path,
            ledger.budget,
            ledger.amounts(),
            ledger.left(),
            totals,
            delta,
            epsilon,
            ledger.entries(),
            profile,
        )

    def sentence(self) -> str:
        """Return the budget in plain English, about the unit of the entries."""
        return self.budget.sentence(
            unit=unit_of(self.entries[-1].parameters if self.entries else {})
        )

    def text(self) -> str:
        """Return the tables and the sentences."""
        amounts = [
            (
                name,
                number_up(spent.float_upper()),
                number_down(_exactly(limit)),
                number_down(_exactly(left)),
            )
            for name, (spent, limit, left) in self.amounts.items()
        ]
        rows = [
            (str(e.number), e.time[:19], _cut(e.mechanism), repr(e.claim))
            for e in self.entries[-_SHOWN:]
        ]
        hidden = len(self.entries) - len(rows)
        blocks = [
            f"{self.path}: {_entries(len(self.entries))}, verified. Budget: {self.budget!r}",
            table(amounts, header=("", "spent", "budget", "left")),
        ]
        if rows:
            note = f"The last {len(rows)} of them:\n" if hidden else ""
            blocks.append(
                note + table(rows, header=("entry", "time (UTC)", "mechanism", "charged"))
            )
            sums = [f"  {claim!r}" for claim in self.totals]
            if self.epsilon is not None:
                sums.append(f"  epsilon {number_up(self.epsilon)} at delta {self.delta}")
            if sums:
                blocks.append("\n".join(["All guarantees together:", *sums, _CAVEAT]))
        blocks.append(f"All releases together, the budget: {self.sentence()}")
        return "\n\n".join(blocks)

    def to_dict(self) -> dict[str, Any]:
        """Return everything for JSON."""
        return {
            "path": str(self.path),
            "budget": json.loads(self.budget.to_json()),
            "sentence": self.sentence(),
            "amounts": {
                name: {"spent": spent.text(), "limit": limit.text(), "left": left.text()}
                for name, (spent, limit, left) in self.amounts.items()
            },
            "left": json.loads(self.left.to_json()),
            "fixed_in_advance": {
                "totals": [json.loads(claim.to_json()) for claim in self.totals],
                "delta": None if self.delta is None else str(self.delta),
                "epsilon": self.epsilon,
            },
            "entries": [entry.to_dict() for entry in self.entries],
        }

    def draw(self, path: str | Path) -> Path:
        """Write a picture of the profile of all guarantees together, and return its path.

        Raises:
            InvalidData: a ledger without entries.
            InvalidParameter: a path without the ending of a picture, such as .png.
            MissingExtra: matplotlib is not installed.
        """
        if self.profile is None:
            raise InvalidData(
                expected="a ledger with entries",
                got=f"none in {self.path}",
                remedy="Charge the ledger first",
            )
        largest = max(1.0, 1.5 * min(self.profile.epsilon("1e-6"), 1e6))
        title = f"{self.path.name}: {len(self.entries)} releases, as if fixed in advance"
        return save(plot_profile(self.profile, largest_epsilon=largest, title=title), path)


def _entries(count: int) -> str:
    return "1 entry" if count == 1 else f"{count} entries"


def _exactly(amount: Amount) -> Fraction:
    """Return an amount exactly; an irrational amount is rounded down."""
    value = amount.lower()
    return value if isinstance(value, Fraction) else Fraction(log_bounds(value.ratio).lower)


def _cut(text: str) -> str:
    return text if len(text) <= _WIDEST else text[: _WIDEST - 3] + "..."
