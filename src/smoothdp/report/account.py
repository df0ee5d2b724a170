"""The account of a ledger: its entries, what is spent in any notion, and what is left."""

from __future__ import annotations

import json
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from smoothdp.claims.curves.profile import PrivacyProfile
from smoothdp.claims.domains import read_delta
from smoothdp.claims.guarantees.guarantee import Guarantee
from smoothdp.errors import InvalidData
from smoothdp.exact.balls.balls import log_bounds
from smoothdp.exact.parameters.numbers import Parameter
from smoothdp.ledger import Entry, Ledger
from smoothdp.ledger.amount import Amount
from smoothdp.ledger.bookkeeping import unit_of
from smoothdp.ledger.sum_filters import ConcentratedFilter, GaussianFilter
from smoothdp.plots.canvas import save
from smoothdp.plots.profile import plot_profile
from smoothdp.text import number_down, number_up, share_text, table

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
        words: what was spent and what is left, as the budget is kept.
        sums_of_claims: whether the claims of the charges add up to what was spent.

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
    words: str
    sums_of_claims: bool

    @classmethod
    def of(cls, ledger: Ledger, *, delta: Parameter | None = None) -> Account:
        """Return the account of a ledger, after verifying all of it."""
        ledger.verify()
        profile, totals, kept = ledger.profile(), ledger.totals(), ledger.filter
        if isinstance(kept, ConcentratedFilter | GaussianFilter) and totals:
            # The sum of epsilons alone may be above a budget that is kept otherwise.
            totals = [ledger.spent(), *totals]
        epsilon = None
        if delta is not None:
            profiles = [claim.profile() for claim in totals] + ([profile] if profile else [])
            epsilon = min((each.epsilon(delta) for each in profiles), default=0.0)
            epsilon = min(
                epsilon,
                kept.epsilon(
                    {name: one[0] for name, one in ledger.amounts().items()}, read_delta(delta)
                ),
            )
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
            ledger.sentence(),
            kept.sums_of_claims,
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
                *(() if self.sums_of_claims else (_share(spent, limit),)),
            )
            for name, (spent, limit, left) in self.amounts.items()
        ]
        rows = [
            (str(e.number), e.time[:19], _cut(e.mechanism), self._charged(e))
            for e in self.entries[-_SHOWN:]
        ]
        hidden = len(self.entries) - len(rows)
        blocks = [
            f"{self.path}: {_entries(len(self.entries))}, verified. Budget: {self.budget!r}",
            table(
                amounts,
                header=(
                    "",
                    "spent",
                    "budget",
                    "left",
                    *(() if self.sums_of_claims else ("share",)),
                ),
            ),
        ]
        if rows:
            note = f"The last {len(rows)} of them:\n" if hidden else ""
            blocks.append(
                note + table(rows, header=("entry", "time (UTC)", "mechanism", "charged"))
            )
            sums = [f"  {claim!r}" for claim in self.totals]
            if self.epsilon is not None:
                sums.append(f"  epsilon {number_up(self.epsilon)} at delta {self.delta}")
            if not self.sums_of_claims:
                at_delta = [
                    f"Had it been fixed in advance: {line.strip()}."
                    for line in sums[len(self.totals) :]
                ]
                blocks.append("\n".join([self.words, *at_delta]))
            elif sums:
                blocks.append("\n".join(["All guarantees together:", *sums, _CAVEAT]))
        blocks.append(f"All releases together, the budget: {self.sentence()}")
        return "\n\n".join(blocks)

    def _charged(self, entry: Entry) -> str:
        """Return what a charge took of the budget: its claim, or the share of its costs."""
        if self.sums_of_claims:
            return repr(entry.claim)
        shares = [
            _ratio(entry.costs[name], limit)
            for name, (_, limit, _) in self.amounts.items()
            if name in entry.costs
        ]
        return f"{share_text(max(shares))} of the budget"

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
            "words": self.words,
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


def _ratio(part: Amount, limit: Amount) -> Fraction:
    """Return the share of a limit, rounded up where it is irrational; 0 of a limit of 0."""
    whole = _exactly(limit)
    return Fraction(part.float_upper()) / whole if whole else Fraction(0)


def _share(part: Amount, limit: Amount) -> str:
    return share_text(min(Fraction(1), _ratio(part, limit)))


def _exactly(amount: Amount) -> Fraction:
    """Return an amount exactly; an irrational amount is rounded down."""
    value = amount.lower()
    return value if isinstance(value, Fraction) else Fraction(log_bounds(value.ratio).lower)


def _cut(text: str) -> str:
    return text if len(text) <= _WIDEST else text[: _WIDEST - 3] + "..."
