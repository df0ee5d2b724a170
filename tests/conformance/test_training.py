"""`sd.training`: what it refuses, what it says, how it composes, and its command."""

from __future__ import annotations

import json
from statistics import NormalDist
from typing import Any

import pytest
from click.testing import CliRunner

import smoothdp as sd
from smoothdp.claims.curves.profile import FunctionProfile
from smoothdp.cli.main import commands
from smoothdp.exact.logspace.bounds import LogBounds

WHOLE: dict[str, Any] = {"n_records": 1000, "batch": 50, "steps": 40, "noise": 2}
REFUSED = [
    ({"sampling": None}, sd.errors.InvalidParameter, "how the trainer draws"),
    ({"sampling": "uniform"}, sd.errors.InvalidParameter, "poisson, truncated_poisson"),
    ({"sampling": "poisson", "epochs": 1}, sd.errors.InvalidParameter, "epochs or steps"),
    ({"sampling": "poisson", "steps": None}, sd.errors.InvalidParameter, "epochs or steps"),
    ({"sampling": "poisson", "noise": 0}, sd.errors.InvalidParameter, "a positive number for"),
    ({"sampling": "poisson", "batch": 1001}, sd.errors.InvalidParameter, "at most n_records"),
    ({"sampling": "poisson", "max_batch": 60}, sd.errors.InvalidParameter, "truncated_poisson"),
    ({"sampling": "poisson", "column_norm": 2}, sd.errors.InvalidParameter, "banded or ftrl"),
    ({"sampling": "truncated_poisson"}, sd.errors.InvalidParameter, "max_batch"),
    (
        {"sampling": "truncated_poisson", "max_batch": 0},
        sd.errors.InvalidParameter,
        "max_batch of at least 1",
    ),
    (
        {"sampling": "truncated_poisson", "max_batch": 60, "neighbours": "replace_one"},
        sd.errors.IncompatibleClaims,
        "add_remove",
    ),
    (
        {"sampling": "fixed", "neighbours": "add_remove"},
        sd.errors.IncompatibleClaims,
        "number of records is public",
    ),
    ({"sampling": "fixed", "batch": "50.5"}, sd.errors.InvalidParameter, "whole number"),
    (
        {"sampling": "balls_in_bins", "neighbours": "replace_one"},
        sd.errors.IncompatibleClaims,
        "as_replace_one",
    ),
    ({"sampling": "balls_in_bins", "choices": 3}, sd.errors.InvalidParameter, "divide the 20"),
    (
        {"sampling": "shuffled", "neighbours": "add_remove"},
        sd.errors.IncompatibleClaims,
        "shifts all batches",
    ),
    ({"sampling": "banded"}, sd.errors.InvalidParameter, "bands"),
    ({"sampling": "banded", "bands": 21}, sd.errors.InvalidParameter, "n_records / bands"),
    ({"sampling": "ftrl"}, sd.errors.InvalidParameter, "bands for records"),
    (
        {"sampling": "ftrl", "participations": 1},
        sd.errors.InvalidParameter,
        "at least 2 participations",
    ),
    ({"sampling": "ftrl", "bands": 40}, sd.errors.InvalidParameter, "bands steps apart"),
]


@pytest.mark.parametrize(("given", "kind", "words"), REFUSED, ids=str)
def test_what_does_not_fit_is_refused(given: dict[str, Any], kind: Any, words: str) -> None:
    with pytest.raises(kind, match=words):
        sd.training(**{**WHOLE, **given})


def test_sampling_has_no_default() -> None:
    with pytest.raises(TypeError, match="sampling"):
        sd.training(**WHOLE)


@pytest.mark.parametrize(
    ("given", "mu"),
    [
        ({"sampling": "shuffled", "steps": None, "epochs": 4}, 1),
        ({"sampling": "shuffled", "steps": 20, "neighbours": "replace_one"}, 1),
        ({"sampling": "ftrl", "steps": 20, "column_norm": 3}, "3/2"),
        ({"sampling": "ftrl", "steps": 20, "neighbours": "replace_one"}, 1),
        ({"sampling": "ftrl", "participations": 4, "bands": 10}, 1),
        ({"sampling": "poisson", "batch": 1000, "steps": 4}, 1),
        ({"sampling": "fixed", "batch": 1000, "steps": 4}, 2),
        ({"sampling": "banded", "batch": 250, "bands": 4, "steps": 16}, 1),
    ],
    ids=str,
)
def test_closed_forms(given: dict[str, Any], mu: Any) -> None:
    run = sd.training(**{**WHOLE, **given})
    truth = sd.GaussianDP(mu, neighbours=run.neighbours).profile()
    assert run.profile().delta_bounds(1) == pytest.approx(truth.delta_bounds(1), rel=1e-12)


def test_a_banded_run_is_as_many_poisson_steps() -> None:
    run = sd.training(**{**WHOLE, "sampling": "banded", "bands": 3})
    steps = sd.SubsampledGaussian("3/20", noise_multiplier=2)
    assert run.profile().delta(1) == sd.compose([(steps, 14)]).delta(1)


def test_a_run_composes_with_releases_and_itself() -> None:
    run = sd.training(**WHOLE, sampling="poisson")
    count = sd.LaplaceMechanism(2, neighbours="add_remove")
    both = sd.compose([run, count])
    assert run.profile().delta(1) < both.delta(1) < 1
    twice = sd.compose([(run, 2)])
    longer = sd.training(**{**WHOLE, "steps": 80}, sampling="poisson")
    assert twice.delta(1) == longer.profile().delta(1)
    with pytest.raises(sd.errors.IncompatibleClaims, match="same neighbours"):
        sd.compose([run, sd.PureDP(1)])


def test_directions_of_a_run() -> None:
    run = sd.training(**WHOLE, sampling="poisson")
    ways = [run.directed(way).delta(1) for way in ("remove", "add")]
    assert ways[1] < ways[0] == run.profile().delta(1)
    with pytest.raises(sd.errors.InvalidParameter, match="remove"):
        run.directed("both")  # type: ignore[arg-type]
    with pytest.raises(sd.errors.IncompatibleClaims, match="record"):
        sd.training(**WHOLE, sampling="fixed").directed("remove")


@pytest.mark.parametrize("sampling", ["fixed", "shuffled", "poisson", "ftrl"])
def test_conditions_are_said(sampling: Any) -> None:
    more = {"steps": 20} if sampling == "ftrl" else {}
    run = sd.training(**{**WHOLE, **more}, sampling=sampling)
    said = run.sentence()
    assert run.conditions
    assert all(condition in said for condition in run.conditions)
    assert ("bound" in said) == (run.ends == "bound")
    if sampling == "shuffled":
        assert "the figure of Poisson batches would be wrong" in said
    if sampling == "poisson":
        assert "divided by the size that a batch turned out to have" in said


def test_a_run_in_a_ledger(tmp_path: Any) -> None:
    run = sd.training(**WHOLE, sampling="poisson")
    budget = sd.ApproxDP(2, delta="1e-5", neighbours="add_remove")
    ledger = sd.Ledger(tmp_path / "l.db", budget=budget)
    entry = ledger.charge(run, claim=sd.ApproxDP(1, delta="1e-5", neighbours="add_remove"))
    assert "40 steps, sampling poisson, batch 50 of 1000, noise 2" in entry.mechanism
    with pytest.raises(sd.errors.IncompatibleClaims, match="follows from the mechanism"):
        ledger.charge(run, claim=sd.ApproxDP("0.1", delta="1e-5", neighbours="add_remove"))


COMMAND = [
    *("account", "training", "--n", "1000", "--batch", "50", "--steps", "40", "--noise", "2"),
    *("--delta", "1e-5", "--sampling"),
]


@pytest.mark.parametrize(
    ("n_records", "steps"),
    [
        (1000, 20),
        # Two epochs: of few batches, and of many, which random allocation takes long for.
        (100, 4),
        pytest.param(1000, 40, marks=pytest.mark.slow),
    ],
)
def test_the_command_prints_both_ends_and_other_samplings(n_records: int, steps: int) -> None:
    put = {"1000": str(n_records), "40": str(steps)}
    command = [put.get(word, word) for word in [*COMMAND, "poisson"]]
    asked = {**WHOLE, "n_records": n_records, "steps": steps}
    done = CliRunner().invoke(commands, [*command, "--json"])
    assert done.exit_code == 0, done.output
    found = json.loads(done.output)
    run = sd.training(**asked, sampling="poisson")
    assert tuple(found["epsilon"][end] for end in ("lower", "upper")) == (
        run.profile().epsilon_bounds("1e-5")
    )
    assert {each["sampling"]: each["ends"] for each in found["other_samplings"]} == {
        "balls_in_bins": "two-sided",
        "fixed": "bound",
        "shuffled": "bound",
    }
    attack = found["attacks"][1]
    assert attack["true_positive_rate"] == sd.attacks.best_attack(
        run.profile(), false_positive_rate=attack["false_positive_rate"]
    )
    beside = next(o for o in found["other_samplings"] if o["sampling"] == "balls_in_bins")
    alone = sd.training(**asked, sampling="balls_in_bins").profile()
    assert beside["epsilon"] == alone.epsilon("1e-5")


def test_the_command_says_which_figures_are_bounds() -> None:
    small = {"1000": "100", "40": "4"}
    text = CliRunner().invoke(commands, [small.get(o, o) for o in [*COMMAND, "poisson"]]).output
    assert "at most" in text
    assert "bound" in text
    assert (
        sd.training(**{**WHOLE, "n_records": 100, "steps": 4}, sampling="poisson").sentence()
        in text
    )


def test_small_epsilons_are_attacked_where_they_lie() -> None:
    # Far beyond the scale of the profile a delta is dear to bound, as for rates of 1e-5.
    profile, asked = sd.GaussianDP("0.001").profile(), []

    def bounds(epsilon: Any) -> LogBounds:
        asked.append(float(epsilon))
        return profile.log_delta_bounds(epsilon)

    seen = FunctionProfile(bounds, profile.neighbours)
    power = sd.attacks.best_attack(seen, false_positive_rate="1/1000")
    assert max(asked) < 0.05
    truth = NormalDist().cdf(NormalDist().inv_cdf(0.001) + 0.001)
    assert truth <= power <= truth * (1 + 1e-9)


def test_the_lower_end_of_a_bound_is_of_no_run() -> None:
    few: dict[str, Any] = {"n_records": 100, "batch": 10, "steps": 3, "noise": 2}
    text = sd.report.TrainingCost.of(sd.training(**few, sampling="shuffled"), delta="1e-5").text()
    assert "(a bound: no run costs more; how much less is open)" in text.splitlines()[0]
    text = sd.report.TrainingCost.of(sd.training(**few, sampling="fixed"), delta="1e-5").text()
    assert text.splitlines()[0].count("at least") == 1
    assert "whether one record was there or another one in its place" in text


def test_no_infinite_numbers_in_json() -> None:
    run = sd.training(**{**WHOLE, "steps": 20}, sampling="poisson")
    cost = sd.report.TrainingCost.of(run, delta=0)
    assert json.loads(cost.to_json(), parse_constant=pytest.fail)["epsilon"]["upper"] is None
    assert "no finite one is proved" in cost.text()


@pytest.mark.parametrize("read", [sd.attacks.advantage, sd.attacks.bayes_success])
def test_an_attack_is_read_off_a_profile(read: Any) -> None:
    for given in (sd.training(**WHOLE, sampling="poisson"), sd.PureDP(1)):
        with pytest.raises(sd.errors.InvalidParameter, match=r"Pass its \.profile\(\)"):
            read(given)


def test_the_command_refuses_in_its_own_words() -> None:
    done = CliRunner().invoke(commands, [*COMMAND, "truncated_poisson"])
    assert done.exit_code != 0
    assert "--max-batch" in done.output


# ---- events of dp_accounting


def test_events_there_and_back() -> None:
    events = pytest.importorskip("dp_accounting")
    for sampling, more in (("poisson", {}), ("banded", {"bands": 2}), ("shuffled", {})):
        run = sd.training(**{**WHOLE, **more}, sampling=sampling)  # type: ignore[arg-type]
        event = sd.interop.to_dp_event(run)
        assert isinstance(event, events.SelfComposedDpEvent)
        items = sd.interop.from_dp_event(event, neighbours=run.neighbours)
        assert sd.compose(items).delta(1) == run.profile().delta(1)


def test_a_tree_of_events_is_composed() -> None:
    events = pytest.importorskip("dp_accounting")
    step = events.PoissonSampledDpEvent(0.05, events.GaussianDpEvent(2.0))
    tree = events.ComposedDpEvent(
        [events.SelfComposedDpEvent(step, 40), events.LaplaceDpEvent(2.0), events.NoOpDpEvent()]
    )
    items = sd.interop.from_dp_event(tree, neighbours="add_remove")
    run = sd.training(**WHOLE, sampling="poisson")
    both = sd.compose([run, sd.LaplaceMechanism(2, neighbours="add_remove")])
    assert sd.compose(items).delta(1) == both.delta(1)


def test_events_that_are_not_covered_are_refused() -> None:
    events = pytest.importorskip("dp_accounting")
    fixed = events.SampledWithoutReplacementDpEvent(100, 10, events.GaussianDpEvent(2.0))
    with pytest.raises(sd.errors.InvalidParameter, match="SampledWithoutReplacement"):
        sd.interop.from_dp_event(fixed, neighbours="replace_one")
    bare = events.SelfComposedDpEvent(events.NonPrivateDpEvent(), 3)
    with pytest.raises(sd.errors.InvalidParameter, match="without noise: no epsilon holds"):
        sd.interop.from_dp_event(bare, neighbours="add_remove")
    with pytest.raises(sd.errors.InvalidParameter, match="sampling='fixed'"):
        sd.interop.to_dp_event(sd.training(**WHOLE, sampling="fixed"))
