"""The budget that ``smoothdp account create`` is asked for."""

from __future__ import annotations

import click

import smoothdp as sd


def read_budget(
    epsilon: str | None, delta: str | None, rho: str | None, mu: str | None, method: str | None
) -> sd.Guarantee:
    """Return the budget that the options describe."""
    if sum(given is not None for given in (epsilon, rho, mu)) != 1 or (
        delta is not None and epsilon is None
    ):
        raise click.UsageError(
            "Expected a budget: --epsilon, --epsilon and --delta, --rho or --mu; got another "
            "choice. Give one, such as --epsilon 1 --delta 1e-6."
        )
    if method == "concentrated" and delta is None:
        raise click.UsageError(
            "Expected --epsilon and --delta with --method concentrated; got no --delta. Give it, "
            "or leave --method out."
        )
    if epsilon is not None:
        return sd.PureDP(epsilon) if delta is None else sd.ApproxDP(epsilon, delta=delta)
    return sd.ZCDP(rho or "") if mu is None else sd.GaussianDP(mu)
