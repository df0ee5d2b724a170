"""What ``smoothdp collect`` prints of a collection."""

from __future__ import annotations

import json
from typing import Literal

import click

import smoothdp as sd
from smoothdp.cli.options.bins import Bins
from smoothdp.text import percent_text

What = Literal["share", "mean", "counts"]


def error_words(collected: sd.report.Collection, *, what: What, n_users: int, level: str) -> str:
    """Return what the error of a collection covers, and what it does not."""
    flips = collected.named.get("protocol") in ("boolean-sum", "real-sum")
    noise = "random flips" if flips else "random noise"
    near = f"within {collected.printed_error()} of"
    if what == "counts":
        within = (
            f"all {len(collected.estimates)} counts at once are {near} the true counts of these "
            f"{n_users} users, those estimated as 0 included; more closely, {collected.bars}"
        )
        alone = "the random messages"
    elif what == "mean":
        within = f"the estimate is {near} the mean of these {n_users} users' clipped values"
        alone = f"random rounding and {noise}"
    else:
        within = f"the estimate is {near} the share among these {n_users} users"
        alone = noise
    return (
        f"with probability at least {level}, whatever the data, {within}. It covers {alone} alone: "
        "not how these users were chosen from others, nor users who lie or leave the protocol."
    )


def show_collection(
    collected: sd.report.Collection,
    *,
    what: What,
    n_users: int,
    level: str,
    bins: Bins | None,
    as_json: bool,
) -> None:
    """Print a collection with what its error covers, and its bins if it has any."""
    covers = error_words(collected, what=what, n_users=n_users, level=level)
    if as_json:
        more: dict[str, object] = {"error_covers": covers}
        if bins is not None:
            more["bins"] = bins.to_dict()
        click.echo(json.dumps(collected.to_dict() | more, indent=2))
        return
    click.echo(collected.text())
    click.echo(f"\n{percent_text(collected.confidence)} error: {covers}")
    if bins is not None:
        by_size = sorted(collected.estimates.items(), key=lambda item: -item[1])
        click.echo("\n" + bins.text([name for name, _ in by_size]))
