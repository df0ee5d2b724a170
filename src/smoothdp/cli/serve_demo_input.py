"""The data of ``smoothdp serve demo``: a column of a file, and what is collected of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

import smoothdp as sd
from smoothdp.cli.collect_input import read_domain, require_bits, require_known


def read_data(
    file: Path,
    column: str,
    above: float | None,
    bounds: tuple[str, str] | None,
    domain: Path | None,
    missing: str | None,
) -> tuple[list[Any], dict[str, Any]]:
    """Return the users' data, and what is collected of them."""
    chosen = [option is not None for option in (above, bounds, domain)].count(True)
    if chosen > 1:
        raise click.UsageError(
            f"Expected one of --above, --bounds and --domain, or none for a column of 0 and 1; got "
            f"{chosen} of them. Say what to collect."
        )
    if domain is not None:
        names = read_domain(domain)
        values = sd.read_column(file, column, kind="category", missing=missing)
        require_known(values, names, domain, column=column)
        return list(values), {"protocol": "histogram", "domain": names}
    numbers = sd.read_column(file, column, missing=missing)
    if bounds is not None:
        return numbers.tolist(), {"protocol": "real_sum", "bounds": bounds}
    if above is None:
        require_bits(numbers, column=column)
        above = 0.5
    return [int(value > above) for value in numbers], {}
