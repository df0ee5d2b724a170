"""``smoothdp account calibrate``: the noise, or the number of steps, that a budget allows."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import click

import smoothdp as sd
from smoothdp.cli.accounting.account_training import settings_of_samplings
from smoothdp.cli.options.command_line import StrictCommand
from smoothdp.text import number_down

_MOST_STEPS = 10_000_000
_LAWS: dict[str, Any] = {"gaussian": sd.GaussianMechanism, "laplace": sd.LaplaceMechanism}


@click.command(cls=StrictCommand)
@click.option("--epsilon", required=True, help="Epsilon of the budget.")
@click.option("--delta", required=True, help="Delta of the budget, such as 1e-5.")
@click.option("--law", type=click.Choice(tuple(_LAWS)), help="Noise of releases, not training.")
@click.option("--releases", type=int, default=1, show_default=True, help="How many, with --law.")
@click.option("--n", "n_records", type=int, help="Records of the data of a training run.")
@click.option("--batch", help="Records in a batch, on average.")
@click.option("--epochs", help="Passes over the data; or --steps.")
@click.option("--steps", type=int, help="Steps; or --epochs.")
@click.option("--noise", help="Noise over clipping norm: then the steps are found.")
@click.option(
    "--sampling", type=click.Choice(sd.training_runs.SAMPLINGS), help="How batches are drawn."
)
@settings_of_samplings
@click.option("--json", "as_json", is_flag=True, help="Print JSON on stdout.")
def calibrate(epsilon: str, delta: str, as_json: bool, **asked: Any) -> None:
    """Find the least noise, or the most steps, within (epsilon, delta): certified on both sides.

    \b
    Examples:
      smoothdp account calibrate --law gaussian --releases 100 --epsilon 1 --delta 1e-6
      smoothdp account calibrate --n 60000 --batch 256 --epochs 15 --sampling poisson \\
        --epsilon 1 --delta 1e-5
    """
    what, make, limits = _question(**asked)
    try:
        found = sd.calibrate(make, (epsilon, delta), **limits)
    except sd.errors.OutOfReach as error:
        if (
            limits
            and sd.compose([make(1)]).delta(epsilon) > sd.ApproxDP(epsilon, delta=delta).delta
        ):
            # The range of steps is not the user's to widen.
            raise click.UsageError(
                f"Expected noise with which one step meets (epsilon={epsilon}, delta={delta}); got "
                f"--noise {asked['noise']}. Raise the noise, epsilon or delta, or lower the batch."
            ) from error
        raise
    fields = {"what": what, "value": found.value, "refuted": found.refuted}
    epochs = about = ""
    if isinstance(run := found.item, sd.training_runs.TrainingRun):
        fields["neighbours"] = run.neighbours.value
        about = f" It protects against {run.neighbours.sentence('one record')}."
        if limits:
            passes = number_down(run.steps * run.sampling_rate)
            fields["epochs"], epochs = float(passes), f" ({passes} epochs)"
    if as_json:
        click.echo(json.dumps(fields | {"delta_bounds": found.bounds}, indent=2))
        return
    click.echo(f"{what}{epochs}: {found.sentence()}{about}")


def _said(given: dict[str, Any], noise: str | None) -> str:
    """Return the options of a training run that were given, as a user writes them."""
    options = ["--n" if name == "n_records" else f"--{name.replace('_', '-')}" for name in given]
    return ", ".join([*options, *([] if noise is None else ["--noise"])]) or "none of these"


def _question(
    *, law: str | None, releases: int, noise: str | None, **run: Any
) -> tuple[str, Callable[[Any], Any], dict[str, int]]:
    """Return what is looked for, the items at a number, and the range of whole numbers."""
    given = {name: value for name, value in run.items() if value is not None}
    if law is not None:
        if given or noise is not None:
            raise click.UsageError(
                "Expected --law with --releases alone; got options of a training run too. Leave "
                "these out, or --law."
            )
        return f"{law} scale over sensitivity", lambda scale: (_LAWS[law](scale), releases), {}
    missing = [name for name in ("n_records", "batch", "sampling") if name not in given]
    if missing or (noise is None) is not ("epochs" in given or "steps" in given):
        raise click.UsageError(
            "Expected --n, --batch and --sampling with --epochs or --steps (to find the noise) or "
            f"with --noise (to find the steps), or --law; got {_said(given, noise)}. Say what to "
            "find; what a run with both costs is said by smoothdp account training."
        )
    if noise is None:
        return "noise over clipping norm", lambda value: sd.training(noise=value, **given), {}
    return (
        "steps",
        lambda steps: sd.training(noise=noise, steps=steps, **given),
        {"low": 1, "high": _MOST_STEPS},
    )
