"""The guarantee that commands ask for, from the same options; what is 0 is refused by all alike."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import click

import smoothdp as sd
from smoothdp.cli.options.command_line import gathered
from smoothdp.exact import exact_real, sign

_KINDS = ("pure", "approx", "zcdp", "tcdp", "gdp")
_OPTIONS = (
    click.option("--guarantee", "kind", type=click.Choice(_KINDS), help="Default: by the options."),
    click.option("--epsilon", help="Epsilon; with zcdp and tcdp it means rho = epsilon^2 / 2."),
    click.option("--delta", help="Delta, with approx."),
    click.option("--rho", help="Rho, with zcdp and tcdp, instead of epsilon."),
    click.option("--omega", help="Omega, with tcdp."),
    click.option("--mu", help="Mu of Gaussian DP, with gdp and nothing else."),
)


@dataclass(frozen=True)
class GuaranteeOptions:
    """A guarantee as it stands on the command line; None where an option is left out.

    ``kind`` is "pure", "approx", "zcdp", "tcdp" or "gdp"; None means what the others say: gdp
    with mu, tcdp with omega, zcdp with rho, approx with delta, else pure.
    """

    kind: str | None
    epsilon: str | None
    delta: str | None
    rho: str | None
    omega: str | None
    mu: str | None = None


def guarantee_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command --guarantee, --epsilon, --delta, --rho, --omega and --mu, as ``guarantee``."""
    command = gathered(GuaranteeOptions, "guarantee")(command)
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def read_guarantee(asked: GuaranteeOptions) -> sd.Guarantee:
    """Return the guarantee; epsilon with zCDP and tCDP means rho = epsilon^2 / 2."""
    kind, epsilon, delta = asked.kind, asked.epsilon, asked.delta
    rho, omega = asked.rho, asked.omega
    if kind == "gdp" or asked.mu is not None:
        return _gaussian(asked)
    if epsilon is None and rho is None and kind not in ("zcdp", "tcdp"):
        alone = " alone" if delta or omega else ""
        raise click.UsageError(
            "Expected a guarantee: --epsilon (pure DP), --epsilon and --delta (approximate DP), "
            "--rho (zCDP), --rho and --omega (tCDP), or --mu (Gaussian DP); got "
            f"{'--delta' if delta else '--omega' if omega else 'none'}{alone}. Add --epsilon 1, "
            "for example."
        )
    require_positive("--epsilon", epsilon)
    require_positive("--rho", rho)
    if kind is None:
        kind = "tcdp" if omega else "zcdp" if rho else "approx" if delta else "pure"
    concentrated = kind in ("zcdp", "tcdp")
    if concentrated and (epsilon is None) == (rho is None):
        raise click.UsageError(
            f"Expected one of --epsilon and --rho with {kind}; got "
            f"{'neither' if epsilon is None else 'both'}. Give --rho alone, such as --rho 0.1."
        )
    if not concentrated and (epsilon is None or rho is not None):
        raise click.UsageError(
            f"Expected --epsilon, and no --rho, with {kind}; got --rho. Use --epsilon instead, or "
            "--guarantee zcdp."
        )
    if (kind == "approx") != (delta is not None):
        raise click.UsageError(
            "Expected --delta with approx and with nothing else. Give --delta 1e-6 with approx, or "
            "leave --delta out."
        )
    if (kind == "tcdp") != (omega is not None):
        raise click.UsageError(
            "Expected --omega with tcdp and with nothing else. Give --omega 10 with tcdp, or leave "
            "--omega out."
        )
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


def _gaussian(asked: GuaranteeOptions) -> sd.Guarantee:
    """Return mu-Gaussian DP, which no other number goes with."""
    others = {"--epsilon": asked.epsilon, "--delta": asked.delta, "--rho": asked.rho}
    given = [name for name, text in {**others, "--omega": asked.omega}.items() if text is not None]
    if asked.mu is None or given or asked.kind not in (None, "gdp"):
        named = [] if asked.kind in (None, "gdp") else [f"--guarantee {asked.kind}"]
        raise click.UsageError(
            "Expected --mu alone, for Gaussian DP; got "
            f"{', '.join([*given, *named]) or 'no --mu'}. Give --mu 1, for example."
        )
    require_positive("--mu", asked.mu)
    return sd.GaussianDP(asked.mu)


def read_approximate(epsilon: str | None, delta: str | None) -> sd.ApproxDP:
    """Return the (epsilon, delta) that a protocol keeps."""
    missing = [n for n, v in (("--epsilon", epsilon), ("--delta", delta)) if v is None]
    if epsilon is None or delta is None:
        raise click.UsageError(
            "Expected --epsilon and --delta, which give the guarantee, (epsilon, delta)-DP; got no "
            f"{' and no '.join(missing)}. Give both, such as --epsilon 1 --delta 1e-6."
        )
    require_positive("--epsilon", epsilon)
    return sd.ApproxDP(epsilon, delta=delta)


def require_positive(option: str, text: str | None) -> None:
    """Raise UsageError unless a parameter of a guarantee that needs noise is above 0."""
    if text is not None and sign(exact_real(text, name=option.lstrip("-"))) <= 0:
        raise click.UsageError(
            f"Expected a positive {option}; got {text}. At 0 the output may say "
            "nothing of the data: give a number such as 1."
        )
