"""Plan files, and the public assumption that a plan is made under."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

import smoothdp as sd
from smoothdp.data.refusals import reason
from smoothdp.whole_file import whole_file


def read_plan(path: Path) -> sd.Plan:
    """Return the plan of a file that ``smoothdp plan --out`` wrote."""
    try:
        return sd.plan_from_json(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        found = reason(error)
    except (sd.InvalidData, sd.InvalidParameter) as error:
        found = str(error).partition("; got ")[2].partition(". ")[0] or "something else"
    raise click.UsageError(
        f"Expected a plan as JSON in {path}; got {found}. Give a file that smoothdp plan wrote."
    )


def check_size(plan: sd.Plan, n_records: int) -> None:
    """Refuse data of another size than the plan's, and name the command that mends it."""
    if n_records != plan.n_records:
        raise click.UsageError(
            f"Expected {plan.n_records} records, as the plan was made for; got {n_records}. The "
            f"number is public: make a plan for it with smoothdp plan --n {n_records}, and the "
            "other options as before."
        )


def write_plan(plan: sd.Plan, path: Path) -> None:
    """Write a plan, whole or not at all."""
    with whole_file(path) as partial:
        partial.write_text(plan.to_json() + "\n", encoding="utf-8")


def check_assumption(
    assume: str | None,
    public_sample: Path | None,
    column: str | None,
    missing: str | None,
    plot: Path | None,
) -> None:
    """Refuse options about the assumption of a plan that do not go together."""
    if (public_sample is None) != (column is None) or None not in (assume, public_sample):
        raise click.UsageError(
            "Expected --assume, or --public-sample with its --column, or none; got another mix. "
            "Give one."
        )
    if missing is not None and public_sample is None:
        raise click.UsageError("Expected --missing with --public-sample; got none. Leave it out.")
    if plot is not None and assume is None and public_sample is None:
        raise click.UsageError(
            "Expected --assume or --public-sample with --plot, as errors depend on the data; got "
            "none. Give one."
        )


def read_law(text: str) -> Any:
    """Return the scipy distribution of a text such as ``lognorm(s=1, scale=20)``."""
    from scipy import stats

    name, parenthesis, rest = text.strip().partition("(")
    family = getattr(stats, name.strip(), None)
    if not isinstance(family, stats.rv_continuous | stats.rv_discrete) or (
        parenthesis and not rest.endswith(")")
    ):
        raise _refused(text, "no distribution of scipy.stats")
    places: list[float] = []
    named: dict[str, float] = {}
    for part in filter(None, (part.strip() for part in rest[:-1].split(","))):
        key, equals, value = part.rpartition("=")
        try:
            number = float(value)
        except ValueError:
            raise _refused(text, f"{part!r}, which is no number") from None
        if equals:
            named[key.strip()] = number
        else:
            places.append(number)
    try:
        return family(*places, **named)
    except TypeError as error:
        raise _refused(text, str(error)) from None


def _refused(text: str, got: str) -> click.UsageError:
    return click.UsageError(
        f'Expected --assume such as "lognorm(s=1, scale=20)", with numbers of scipy.stats; got '
        f"{text!r} ({got}). Mend it, or leave it out."
    )
