"""What somebody types who looks for the accountant: the nearest names are of other commands."""

from __future__ import annotations

import click

_WORDS = frozenset(
    (
        *("accountant", "accounting", "budget", "compose", "delta", "dp-sgd", "dpsgd", "epsilon"),
        *("ledger", "noise-multiplier", "privacy", "rdp", "sgd", "sigma", "train"),
    )
)


def lead_to_account(name: str) -> None:
    """Raise UsageError, which names the commands of ``smoothdp account``, for such a word."""
    if name.lower().replace("_", "-") in _WORDS:
        raise click.UsageError(
            f"Expected a command of smoothdp; got {name}. The epsilon of a training run is said by "
            "smoothdp account training, the noise or the steps of a budget by smoothdp account "
            "calibrate, and what a ledger holds by smoothdp account FILE --delta 1e-6."
        )
