"""``smoothdp account``: what was spent, what is left, and a ledger with a budget."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import click

import smoothdp as sd
from smoothdp.cli.accounting.account_calibrate import calibrate
from smoothdp.cli.accounting.account_training import training
from smoothdp.cli.options.command_line import NEIGHBOURS, gathered
from smoothdp.cli.options.files import open_ledger


@dataclass(frozen=True)
class BudgetOptions:
    """A budget as it stands on the command line; None where an option is left out."""

    epsilon: str | None
    delta: str | None
    rho: str | None
    omega: str | None
    mu: str | None
    neighbours: str
    kept: str | None
    orders: tuple[str, ...]


def read_budget(asked: BudgetOptions) -> sd.Guarantee:
    """Return the budget that the options describe."""
    epsilon, delta, rho, mu = asked.epsilon, asked.delta, asked.rho, asked.mu
    if sum(option is not None for option in (epsilon, rho, mu)) != 1 or (
        delta is not None and epsilon is None
    ):
        raise click.UsageError(
            "Expected a budget: --epsilon, --epsilon and --delta, --rho or --mu; got another "
            "choice. Name a budget such as --epsilon 1 --delta 1e-6."
        )
    if asked.omega is not None and rho is None:
        raise click.UsageError(
            "Expected --omega with --rho; got no --rho. Add --rho 0.5, or leave --omega out."
        )
    if asked.kept in ("concentrated", "gdp", "renyi") and delta is None:
        raise click.UsageError(
            f"Expected --epsilon and --delta with --kept {asked.kept}; got no --delta. Add "
            "--delta 1e-6, or leave --kept out."
        )
    if asked.orders and asked.kept != "renyi":
        raise click.UsageError(
            "Expected --order with --kept renyi; got no --kept renyi. Add it, or leave --order out."
        )
    about = asked.neighbours.replace("-", "_")
    if rho is not None:
        if asked.omega is not None:
            return sd.TruncatedCDP(rho, omega=asked.omega, neighbours=about)
        return sd.ZCDP(rho, neighbours=about)
    if mu is not None:
        return sd.GaussianDP(mu, neighbours=about)
    assert epsilon is not None
    if delta is None:
        return sd.PureDP(epsilon, neighbours=about)
    return sd.ApproxDP(epsilon, delta=delta, neighbours=about)


class _ShowByDefault(click.Group):
    """A group in which a file name stands for ``show FILE``."""

    def parse_args(self, context: click.Context, arguments: list[str]) -> list[str]:
        arguments = arguments or ["--help"]
        first = arguments[0]
        if first not in (*self.commands, "-h", "--help"):
            if first.isidentifier() and not Path(first).exists():
                raise click.UsageError(
                    f"Expected a ledger, or one of {', '.join(sorted(self.commands))}; got "
                    f"{first}, and no such file. Name one of these, or make a ledger "
                    f"with: smoothdp account create {first} --epsilon EPSILON --delta DELTA."
                )
            arguments = ["show", *arguments]
        return super().parse_args(context, arguments)


@click.group(cls=_ShowByDefault)
def account() -> None:
    """Ledgers, what a training run costs, and the noise of a budget.

    A file name alone shows the ledger: what was released, what it cost, and what is left.

    \b
    Examples:
      smoothdp account ledger.db --delta 1e-6
      smoothdp account training --n 60000 --batch 256 --epochs 15 --noise 1.1 \\
        --sampling poisson --delta 1e-5
    """


account.add_command(training)
account.add_command(calibrate)


@account.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--delta", help="Print the epsilon of all releases together at this delta.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON on stdout.")
@click.option("--plot", type=click.Path(path_type=Path), help="Draw delta against epsilon.")
def show(file: Path, delta: str | None, as_json: bool, plot: Path | None) -> None:
    """Verify a ledger and show its entries, what is spent in any notion, and what is left.

    \b
    Example:
      smoothdp account show ledger.db --delta 1e-6
    """
    shown = sd.report.Account.of(open_ledger(file), delta=delta)
    if plot is not None:
        click.echo(f"Picture: {shown.draw(plot)}", err=True)
    click.echo(json.dumps(shown.to_dict(), indent=2) if as_json else shown.text())


@account.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--jsonl", "--json", is_flag=True, help="One JSON object a line (the only form).")
def export(file: Path, jsonl: bool) -> None:
    """Print every entry of a ledger as one line of JSON, oldest first.

    \b
    Example:
      smoothdp account export ledger.db --jsonl > ledger.jsonl
    """
    del jsonl
    for entry in open_ledger(file).entries():
        click.echo(json.dumps(entry.to_dict()))


@account.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--epsilon", help="A budget in epsilon, with --delta or without.")
@click.option("--delta", help="Delta of a budget (epsilon, delta).")
@click.option("--rho", help="Or: a budget of zero-concentrated DP.")
@click.option("--omega", help="With --rho: a budget of truncated concentrated DP.")
@click.option("--mu", help="Or: a budget of Gaussian DP.")
@click.option(
    "--neighbours",
    type=click.Choice((*NEIGHBOURS, "zero_out", "zero-out")),
    default="replace_one",
    show_default=True,
    metavar="[replace_one|add_remove|zero_out]",
    help="What the promises protect: another row in the place of one, the number of rows being "
    "public (replace_one); or that a row is there at all (add_remove), as for tables of groups "
    "and for training on Poisson samples.",
)
@click.option(
    "--kept",
    type=click.Choice(("basic", "concentrated", "gdp", "renyi")),
    help="What adds up of a budget in epsilon and delta: these, rhos, squares of mu, or Renyi "
    "divergences.",
)
@click.option(
    "--order",
    "orders",
    multiple=True,
    help="With --kept renyi, maybe several times: the orders, fixed for good. A charge is taken "
    "within the limits at all of them. Left out: the one that Gaussian noise has most room at.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON on stdout.")
@gathered(BudgetOptions, "budget")
def create(file: Path, budget: BudgetOptions, as_json: bool) -> None:
    """Make a ledger with a budget, or check that there is one with this budget.

    \b
    Example:
      smoothdp account create ledger.db --epsilon 1 --delta 1e-6
      smoothdp account create tables.db --epsilon 2 --neighbours add_remove
      smoothdp account create steps.db --epsilon 2 --delta 1e-5 --kept renyi --order 8
    """
    ledger = sd.Ledger(
        file, budget=read_budget(budget), kept=budget.kept, orders=budget.orders or None
    )
    made = sd.report.Account.of(ledger)
    click.echo(json.dumps(made.to_dict(), indent=2) if as_json else made.text())
