"""The ledger: an append-only record of releases that refuses what would pass the budget."""

from smoothdp.ledger.amount import Amount
from smoothdp.ledger.entry import Entry
from smoothdp.ledger.filters import Filter
from smoothdp.ledger.ledger import Ledger
from smoothdp.ledger.spending import Spending

__all__ = ["Amount", "Entry", "Filter", "Ledger", "Spending"]
