"""Options that are numbers: nan, which click takes for one, is refused."""

from __future__ import annotations

import math

import click


def refuse_nan(
    context: click.Context, parameter: click.Parameter, value: float | None
) -> float | None:
    """Return a number, or raise BadParameter for nan: no comparison with it is ever true."""
    if value is not None and math.isnan(value):
        raise click.BadParameter(
            "Expected a number; got nan. Give one such as 10.", ctx=context, param=parameter
        )
    return value
