"""``smoothdp report --protocol``: the options that belong to each protocol."""

from __future__ import annotations

from typing import Any

import click

from smoothdp.cli.positive_options import read_approximate
from smoothdp.report import html


def report_protocol(command: str, given: dict[str, Any]) -> html.HtmlReport:
    if given["n"] is None:
        raise click.UsageError("Expected --n as well; got none. Give the number of users.")
    guarantee = read_approximate(given["epsilon"], given["delta"])
    for name, protocol in (("bins", "histogram"), ("n_bits", "real-sum")):
        if given[name] is not None and given["protocol"] != protocol:
            option = f"--{name.replace('_', '-')}"
            raise click.UsageError(
                f"Expected {option} with --protocol {protocol} alone; got it with "
                f"{given['protocol']}. Leave it out."
            )
    if given["protocol"] == "histogram" and given["bins"] is None:
        raise click.UsageError(
            "Expected --bins with --protocol histogram; got none. Give the size of the domain, "
            "such as --bins 100."
        )
    return html.report_protocol(
        given["protocol"],
        given["n"],
        guarantee=guarantee,
        n_bins=given["bins"],
        n_bits=given["n_bits"],
        command=command,
    )
