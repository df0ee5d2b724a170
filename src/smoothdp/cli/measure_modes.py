"""The ways to use ``smoothdp measure``, and which options belong to which: nothing is ignored."""

from __future__ import annotations

from typing import NamedTuple

import click

from smoothdp.cli.strict import given_options, refuse_strays


class Mode(NamedTuple):
    """A way to use the command: what asks for it, and the parameters that it has a use for."""

    words: str
    options: frozenset[str]


_SAMPLE = ("sampling_rate", "n_draws", "sampling", "keep_probability")
_AT_COUNTS = (*_SAMPLE, "epsilon", "threshold", "public", "as_json", "plot")
_OF_MODEL = ("model", "n_records", "epsilon", "as_json")

MODES = {
    "counts": Mode("--counts", frozenset(("counts", *_AT_COUNTS))),
    "column": Mode(
        "a FILE with --column", frozenset(("file", "column", "universe", "missing", *_AT_COUNTS))
    ),
    "model": Mode("--model", frozenset((*_OF_MODEL, *_SAMPLE, "sharpen"))),
    "databases": Mode("--model with --databases", frozenset((*_OF_MODEL, *_SAMPLE, "databases"))),
    "design": Mode(
        "--model with --target-delta", frozenset((*_OF_MODEL, "sampling", "target_delta"))
    ),
}


def read_mode(context: click.Context) -> str:
    """Return the mode that the command line asks for, or raise UsageError for other options."""
    given = given_options(context)
    if "model" in given:
        if {"sharpen", "databases"} <= set(given):
            raise click.UsageError(
                "Expected one of --sharpen and --databases; got both. An estimate is not sharpened."
            )
        signs = (("design", "target_delta"), ("databases", "databases"))
        mode = next((name for name, sign in signs if sign in given), "model")
    elif ("counts" in given and "file" in given) or not {"counts", "file"} & set(given):
        got = "both" if "counts" in given else "neither"
        raise click.UsageError(
            f"Expected either --counts or a FILE with --column; got {got}. Give exactly one."
        )
    else:
        mode = "counts" if "counts" in given else "column"
    refuse_strays(context, MODES[mode].options, mode=MODES[mode].words)
    return mode
