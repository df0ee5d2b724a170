"""The guarantee that ``release``, ``noise`` and ``plan`` ask for, from the same options."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import click

import smoothdp as sd
from smoothdp.cli.positive_options import require_positive

_KINDS = ("pure", "approx", "zcdp", "tcdp")
_OPTIONS = (
    click.option("--guarantee", "kind", type=click.Choice(_KINDS), help="Default: by the options."),
    click.option("--epsilon", help="Epsilon; with zcdp and tcdp it means rho = epsilon^2 / 2."),
    click.option("--delta", help="Delta, with approx."),
    click.option("--rho", help="Rho, with zcdp and tcdp, instead of epsilon."),
    click.option("--omega", help="Omega, with tcdp."),
)


def guarantee_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command --guarantee, --epsilon, --delta, --rho and --omega."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def read_guarantee(
    kind: str | None, epsilon: str | None, delta: str | None, rho: str | None, omega: str | None
) -> sd.Guarantee:
    """Return the guarantee; epsilon with zCDP and tCDP means rho = epsilon^2 / 2.

    Args:
        kind: "pure", "approx", "zcdp" or "tcdp"; None for what the others say: tcdp with omega,
            zcdp with rho, approx with delta, else pure.
        epsilon, delta, rho, omega: what was given on the command line.
    """
    if epsilon is None and rho is None and kind not in ("zcdp", "tcdp"):
        given = " alone" if delta or omega else ""
        raise click.UsageError(
            "Expected a guarantee: --epsilon (pure DP), --epsilon and --delta (approximate DP), "
            "--rho (zCDP), or --rho and --omega (tCDP); got "
            f"{'--delta' if delta else '--omega' if omega else 'none'}{given}. Give one, such as "
            "--epsilon 1."
        )
    require_positive("--epsilon", epsilon)
    require_positive("--rho", rho)
    if kind is None:
        kind = "tcdp" if omega else "zcdp" if rho else "approx" if delta else "pure"
    concentrated = kind in ("zcdp", "tcdp")
    if concentrated and (epsilon is None) == (rho is None):
        raise click.UsageError(
            f"Expected one of --epsilon and --rho with {kind}; got "
            f"{'neither' if epsilon is None else 'both'}. Give one."
        )
    if not concentrated and (epsilon is None or rho is not None):
        raise click.UsageError(
            f"Expected --epsilon, and no --rho, with {kind}; got --rho. Use --epsilon instead, or "
            "--guarantee zcdp."
        )
    if (kind == "approx") != (delta is not None):
        raise click.UsageError("Expected --delta with approx and with nothing else. Mend it.")
    if (kind == "tcdp") != (omega is not None):
        raise click.UsageError("Expected --omega with tcdp and with nothing else. Mend it.")
    if kind == "pure":
        assert epsilon is not None
        return sd.PureDP(epsilon)
    if kind == "approx":
        assert epsilon is not None
        assert delta is not None
        return sd.ApproxDP(epsilon, delta=delta)
    if rho is not None:
        budget: str | Fraction = rho
    else:
        assert epsilon is not None
        exact = sd.PureDP(epsilon).exact_epsilon
        if not isinstance(exact, Fraction):
            raise click.UsageError(f"Expected a rational --epsilon with {kind}; got {epsilon}.")
        budget = exact**2 / 2
        click.echo(f"Note: {kind} with rho = epsilon^2 / 2 = {float(budget):g}", err=True)
    if kind == "zcdp":
        return sd.ZCDP(budget)
    assert omega is not None
    return sd.TruncatedCDP(budget, omega=omega)
