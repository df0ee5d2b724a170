"""Writes one file of each format: ``python -m tests.formats.write FOLDER``.

Run it at the last commit before a format changes, into ``tests/formats/written_by_<version>``; what
is there is never written anew.
"""

from __future__ import annotations

import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from click.testing import CliRunner

import smoothdp as sd
from smoothdp.cli.main import commands
from smoothdp.services import Task
from tests.services.worlds.small_tasks import small_task


def claims() -> list[sd.PureDP | sd.ApproxDP | sd.ZCDP | sd.TruncatedCDP | sd.GaussianDP]:
    """Return a claim of each kind but the smoothed one, which has a model."""
    return [
        sd.PureDP("1/3"),
        sd.PureDP("ln(51/49)", neighbours="add_remove"),
        sd.ApproxDP(1, delta="1e-6"),
        sd.ZCDP("0.125"),
        sd.TruncatedCDP("0.1", omega=12),
        sd.GaussianDP("2/3"),
    ]


def smoothed() -> sd.SmoothedDP:
    """Return a smoothed claim over two distributions."""
    model = sd.DataModel([("0.6", "0.4"), ("1/3", "2/3")])
    return sd.SmoothedDP("0.5", delta="1e-9", model=model)


def plans() -> list[sd.planning.Plan]:
    """Return a plan with nothing assumed, and one that assumes a law and has error bars."""
    from scipy import stats

    median, mean = sd.queries.Median((0, 120)), sd.queries.TrimmedMean("0.1", bounds=(0, 100))
    return [
        sd.plan(median, guarantee=sd.PureDP(1), n_records=1000),
        sd.plan(
            mean,
            guarantee=sd.ZCDP("0.5"),
            n_records=500,
            assuming=stats.norm(45, 15),
            confidence="0.95",
        ),
    ]


def main() -> None:
    """Write them all into a folder that is not there."""
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True)
    texts = [claim.to_json() for claim in (*claims(), smoothed())]
    (folder / "claims.jsonl").write_text("\n".join(texts) + "\n")
    (folder / "model.json").write_text(smoothed().model.to_json())
    for number, plan in enumerate(plans(), start=1):
        (folder / f"plan{number}.json").write_text(plan.to_json())
    for name, budget in (("pure", sd.PureDP(5)), ("zcdp", sd.ZCDP(2)), ("mu", sd.GaussianDP(4))):
        ledger = sd.Ledger(folder / f"{name}.db", budget=budget)
        ledger.charge(sd.GaussianMechanism(40) if name == "mu" else sd.PureDP("1/3"))
        ledger.charge(sd.GaussianDP("0.1") if name == "mu" else sd.PureDP("0.25"))
    several = sd.Ledger(
        folder / "concentrated.db", budget=sd.ApproxDP(6, delta="1e-6"), kept="concentrated"
    )
    several.charge(sd.ZCDP("0.05"))
    several.charge(sd.PureDP("ln(51/49)"))
    (folder / "task.json").write_bytes(make_task().encoded)
    (folder / "release.json").write_text(released())


def make_task() -> Task:
    """Return a task of parties whose keys are nobody's: they are published."""
    return small_task(
        "low_communication_histogram",
        epsilon="1",
        delta="1e-6",
        min_batch=500,
        domain=("tea", "coffee", "neither"),
    )


def released() -> str:
    """Return what `smoothdp release --json` prints, with error bars."""
    with TemporaryDirectory() as folder:
        column = Path(folder) / "column.csv"
        column.write_text("x\n" + "\n".join(str(i % 100) for i in range(1000)) + "\n")
        options = "--column x --statistic median --bounds 0 100 --epsilon 1 --confidence 0.9"
        done = CliRunner().invoke(commands, ["release", str(column), *options.split(), "--json"])
    assert done.exit_code == 0, done.output
    return done.stdout


if __name__ == "__main__":
    main()
