"""``smoothdp collect --plan``: the protocols for so many users, compared; nothing is sent."""

from __future__ import annotations

import json
from typing import Any, Literal

import click

import smoothdp as sd

_TASKS: dict[str, Literal["count", "sum", "histogram"]] = {
    "share": "count",
    "mean": "sum",
    "counts": "histogram",
}


def show_plan(what: str, *, most_slots: int | None, as_json: bool, **asked: Any) -> None:
    """Print the table of protocols and the one that is recommended, from public numbers alone."""
    slots = 64 if most_slots is None else most_slots
    plan = sd.plan_collect(_TASKS[what], most_slots=slots, **asked)
    click.echo(json.dumps(plan.to_dict(), indent=2) if as_json else plan.text())
