"""Who states a guarantee was checked: every public name that takes one, by its signature.

A new class or function whose parameters hold a guarantee, a promise, a claim, a calibration or a
profile has no entry below and fails by name, until it says how it checks what it is given.
"""

from __future__ import annotations

import inspect
import json
import pickle
from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from typing import Any, cast

import pytest

import smoothdp as sd
from smoothdp.mechanisms.release.bars.error_bars import ErrorBars
from smoothdp.services import Task
from smoothdp.shuffle import (
    BooleanSum,
    Histogram,
    LowCommunicationHistogram,
    PairedCount,
    PairedHistogram,
    PrefixTree,
    RealSum,
    SplitSum,
    ZeroPreservingCount,
)
from tests.checkers.windows import smooth
from tests.services.worlds.small_tasks import small_task

REFUSALS = (sd.errors.InvalidParameter, sd.errors.IncompatibleClaims, sd.errors.InvalidData)
ROOMS = (
    *(
        "claims",
        "composition",
        "data",
        "design",
        "engines",
        "interop",
        "ledger",
        "mechanisms",
        "noise",
    ),
    *("paper_bounds", "papers", "planning", "plots", "queries", "report", "services", "shuffle"),
    *("smoothed", "testing", "training_runs", "selection"),
)
KINDS = ("Guarantee", "DP", "Calibration", "ErrorBars", "PrivacyProfile", "Release[", "Budget")
NAMES = {"guarantee", "promise", "claim", "calibration", "bars", "profile", "budget", "met"}
NAMES |= {"log_delta", "smoothed"}


def is_claim(parameter: inspect.Parameter) -> bool:
    """Whether a parameter can hold something that is stated about privacy."""
    annotation = str(parameter.annotation)
    return parameter.name in NAMES or any(kind in annotation for kind in KINDS)


def callables(room: Any) -> Iterator[tuple[str, Callable[..., Any]]]:
    """Every public function, class, and public method of a class, with its name."""
    for name in room.__all__:
        found = getattr(room, name)
        if inspect.isclass(found):
            yield name, found
            for attribute in dir(found):
                static = inspect.getattr_static(found, attribute)
                if not attribute.startswith("_") and (
                    isinstance(static, classmethod | staticmethod) or inspect.isfunction(static)
                ):
                    yield f"{name}.{attribute}", getattr(found, attribute)
        elif callable(found):
            yield name, found


def takers() -> dict[str, Callable[..., Any]]:
    found = {}
    for room in (sd, *(import_module(f"smoothdp.{name}") for name in ROOMS)):
        for name, call in callables(room):
            try:
                parameters = inspect.signature(call).parameters.values()
            except (TypeError, ValueError):
                continue
            # `implies` and `follows_from` ask about a claim and state none.
            if not name.endswith((".implies", ".follows_from")) and any(map(is_claim, parameters)):
                found[name] = call
    # Its claim is in words: epsilon, delta and noise as text.
    return found | {"Task": Task, "plan_from_json": sd.planning.plan_from_json}


GOAL = sd.ApproxDP(1, delta="1e-6")
MEDIAN = sd.queries.Median((0, 100), window=3)
STUDENT: sd.noise.Calibration[sd.noise.NoiseDistribution] = sd.noise.StudentT(3).calibrate(
    sd.PureDP(1), smoothing="0.1"
)

JOINT = sd.noise.JointPolyPlace(3).calibrate(sd.PureDP(1), smoothing="0.1")


def smooth_noise() -> sd.mechanisms.SmoothNoise:
    return sd.mechanisms.SmoothNoise.calibrate(MEDIAN, guarantee=sd.PureDP(1), n_records=101)


def task(**changes: Any) -> Task:
    return replace(small_task(epsilon="1", delta="1e-6", min_batch=500), **changes)


def edited_task(name: str) -> Task:
    made = task()
    document = json.loads(made.encoded)
    document["epsilon" if name == "epsilon" else "noise"] = {"epsilon": "1/2", "noise": "9"}[name]
    return Task.decode(json.dumps(document, sort_keys=True, separators=(",", ":")).encode())


def with_bars(**changes: Any) -> sd.mechanisms.SmoothNoise:
    """Bars that say they cost other than they do, beside noise for the whole budget."""
    from smoothdp.mechanisms.release.bars.coverage import Coverage

    made = sd.mechanisms.SmoothNoise.calibrate(
        MEDIAN, guarantee=sd.PureDP(1), n_records=100_001, coverage=Coverage.read("0.95")
    )
    assert made.bars is not None
    # The same numbers are taken.
    replace(made, bars=replace(made.bars, factor=made.bars.factor * 2))
    assert isinstance(made.bars, ErrorBars)
    return replace(made, bars=replace(made.bars, **changes))


def half_shift() -> sd.mechanisms.HalfShift:
    query = sd.queries.Quantiles([0.25, 0.75], bounds=(0, 100))
    return sd.mechanisms.HalfShift.calibrate(query, guarantee=sd.ZCDP("1/2"), n_records=101)


def with_shifted_bars(**changes: Any) -> sd.mechanisms.HalfShift:
    """Bars that say they cost, or cover, other than they do."""
    from smoothdp.mechanisms.release.bars.coverage import Coverage
    from smoothdp.mechanisms.release.request import ReleaseRequest

    query = sd.queries.Quantiles([0.25, 0.75], bounds=(0, 100))
    request = ReleaseRequest.read(query, guarantee=sd.ZCDP(1), coverage=Coverage.read("0.9"))
    made = sd.mechanisms.HalfShift.of_request(request, n_records=101)
    first, *others = made.parts
    assert first.bars is not None
    return replace(made, parts=(replace(first, bars=replace(first.bars, **changes)), *others))


def claimed_collection() -> Any:
    found = sd.report.collect_share([0, 1] * 50, guarantee=sd.ApproxDP(2, delta="1e-3"))
    release = replace(found.release, guarantee=sd.ApproxDP(2, delta="1e-5"))
    return replace(found, release=release)


def claimed_delta() -> Any:
    model = sd.DataModel([("1/2", "1/2")])
    found = sd.smoothed_delta(sd.SamplingHistogram(4, n_draws=2), model, epsilon=1)
    return replace(found, guarantee=sd.SmoothedDP(1, delta="1e-9", model=model))


def claimed_table() -> Any:
    return replace(sd.report.noise_table(sd.PureDP(1), smoothing="0.1"), guarantee=sd.PureDP("0.5"))


def spent(name: str, tmp_path: Path) -> Any:
    ledger = sd.Ledger(tmp_path / "ledger.db", budget=sd.PureDP(10))
    return getattr(ledger, name)(sd.LaplaceMechanism(1), claim=sd.PureDP("0.5"))


SMALL: dict[str, tuple[Any, dict[str, Any]]] = {
    "BooleanSum": (BooleanSum, {"expected_random_users": 1}),
    "RealSum": (RealSum, {"expected_random_users": 1, "n_bits": 3}),
    "Histogram": (Histogram, {"n_bins": 3, "omission_probability": "0.01"}),
    "LowCommunicationHistogram": (
        LowCommunicationHistogram,
        {"n_bins": 3, "noise_probability": "0.01"},
    ),
    "PairedCount": (
        PairedCount,
        {"noise_rate": 2, "clump_probability": "0.01", "largest_clump": 1},
    ),
    "PairedHistogram": (
        PairedHistogram,
        {"n_bins": 2, "noise_rate": 2, "clump_probability": "0.01", "largest_clump": 1},
    ),
    "ZeroPreservingCount": (ZeroPreservingCount, {"omission_probability": "0.01"}),
    "SplitSum": (SplitSum, {"noise_epsilon": 4, "n_shares": 5, "modulus_bits": 8}),
    "PrefixTree": (PrefixTree, {"n_levels": 1, "noise_probability": "0.01"}),
}


def false_promises(name: str) -> list[Callable[[], Any]]:
    kind, noise = SMALL[name]
    claims: list[Any] = [GOAL, sd.ApproxDP("0.001", delta="1e-12"), sd.PureDP("0.1")]
    claims += [sd.GaussianDP("0.01"), sd.ZCDP("0.01"), "hello", 1.0]
    claims += [sd.ApproxDP(50, delta="0.9", neighbours="add_remove")]
    calls: list[Callable[[], Any]] = [
        lambda claim=claim: kind(100, promise=claim, **noise)  # type: ignore[misc]
        for claim in claims
    ]
    return calls


@lru_cache
def the_design(*, by_stratum: bool = False) -> sd.RateDesign:
    cells = {"north": 5000, "south": 3000, "isles": 40}
    chosen: Any = {"1": cells, "2": {**cells, "isles": 50}} if by_stratum else cells
    return sd.rate_design(chosen, epsilon=1, delta="1e-6", merge=[2])


@lru_cache
def the_sample() -> Any:
    return sd.smoothed.largest_sample(
        sd.DataModel([("1/3", "2/3")]), n_records=50, epsilon=1, delta="1e-3"
    )


def the_measurement() -> Any:
    mechanism = sd.SamplingHistogram(20, n_draws=10)
    return sd.report.measure_histogram(mechanism, {"yes": 12, "no": 8}, epsilon="0.5")


def the_strata() -> Any:
    table = sd.mechanisms.StratifiedHistogram([sd.SamplingHistogram(40, n_draws=20)])
    return sd.smoothed.smoothed_strata(table, sd.DataModel([("2/5", "3/5")]), epsilon=1)


def the_step() -> Any:
    model = sd.DataModel([("1/2", "1/2")])
    return sd.sgd_step_delta(model, n_records=200, batch=5, epsilon=1)


def smoothed_claim(epsilon: Any, *, share: str = "1/2") -> sd.SmoothedDP:
    """A claim of the same delta, over another model or at another epsilon."""
    rest = 1 - Fraction(share)
    made = claimed_delta_of().guarantee
    return sd.SmoothedDP(epsilon, delta=made.exact_delta, model=sd.DataModel([(share, rest)]))


def edited_pickle(made: Any, old: Any, new: Any) -> Any:
    """What a pickle with other bytes for a number is read as."""
    data = pickle.dumps(made, protocol=2)
    assert pickle.loads(data) == made
    before, after = (pickle.dumps(value, protocol=2)[2:-1] for value in (old, new))
    assert before in data
    return pickle.loads(data.replace(before, after))


DESIGN_CHANGES: tuple[Callable[[Any], dict[str, Any]], ...] = (
    lambda made: {"n_draws": made.n_draws + 1},
    lambda made: {"n_draws": made.n_draws + 1, "rate": made.rate * Fraction(1001, 1000)},
    lambda _: {"rate": Fraction(9, 10)},
    lambda _: {"target": Fraction(1, 10**9)},
    lambda made: {"epsilon": made.epsilon / 2},
    lambda made: {"n_records": made.n_records + 1},
    lambda made: {"log_delta": type(made.log_delta)(-90.0, -80.0)},
    lambda _: {"is_largest": False},
    lambda _: {"undecided": range(5)},
    lambda made: {"merges": (replace(made.merges[0], n_draws=8000),)},
    lambda made: {"merges": (replace(made.merges[0], rate=Fraction(1)),)},
    lambda _: {"merges": "hello"},
    lambda made: {"noise": (replace(made.noise[0], noise_epsilon=Fraction(9)), *made.noise[1:])},
    lambda made: {"sampling_errors": dict.fromkeys(made.sampling_errors, 1.0)},
    lambda made: {"cells": (replace(made.cells[0], count=9000), *made.cells[1:])},
    lambda _: {"cells": None},
    lambda made: {"binding": made.cells[:1]},
    lambda made: {"strata": made.strata[:1] if made.strata else the_design(by_stratum=True).strata},
    lambda _: {"model": "hello"},
    lambda _: {"method": "sure"},
)

STRONGER = sd.PureDP("0.9")
REFUSED: dict[str, list[Callable[[], Any]]] = {
    **{name: false_promises(name) for name in SMALL},
    "Calibration": [
        lambda: replace(STUDENT, exact_shift=STUDENT.exact_shift * Fraction(1001, 1000)),
        lambda: replace(STUDENT, guarantee=STRONGER),
        lambda: replace(STUDENT, smoothing=Fraction(1, 9)),
        lambda: replace(STUDENT, law=sd.noise.StudentT(4)),
        lambda: replace(STUDENT, law=sd.noise.Laplace()),
        lambda: replace(STUDENT, guarantee="hello"),  # type: ignore[arg-type]
        lambda: replace(STUDENT, exact_shift=-STUDENT.exact_shift),
        lambda: replace(
            sd.noise.StudentT(13).calibrate(sd.ZCDP("1/2"), smoothing="0.1"), label="proved"
        ),
        lambda: replace(STUDENT, relative_gap=-1.0),
        lambda: replace(STUDENT, label="sure"),
    ],
    "JointCalibration": [
        lambda: replace(JOINT, guarantee=STRONGER),
        lambda: replace(JOINT, guarantee="hello"),  # type: ignore[arg-type]
        lambda: replace(JOINT, guarantee=sd.PureDP(1, neighbours="add_remove")),
        lambda: replace(JOINT, guarantee=sd.ZCDP(1)),
        lambda: replace(JOINT, smoothing=JOINT.smoothing * 2),
        lambda: replace(JOINT, smoothing=-JOINT.smoothing),
        lambda: replace(JOINT, shape=JOINT.shape * Fraction(1001, 1000)),
        lambda: replace(JOINT, shape=Fraction(3)),
        lambda: replace(JOINT, law=sd.noise.JointPolyPlace(6)),
        lambda: replace(JOINT, smoothings=(JOINT.smoothing / 2,) * 3),
        lambda: replace(JOINT, smoothings=(2 * JOINT.smoothing,) * 3),
        lambda: replace(JOINT, smoothings=(JOINT.smoothing, -JOINT.smoothing, JOINT.smoothing)),
    ],
    "SmoothNoise": [
        lambda: replace(smooth_noise(), calibration=replace(STUDENT, guarantee=STRONGER)),
        lambda: with_bars(guarantee=STRONGER),
        lambda: with_bars(cost=Fraction(1, 10**6)),
        lambda: with_bars(spread=Fraction(1, 10**6)),
        lambda: with_bars(cost=Fraction(-5), spread=Fraction(-5)),
        lambda: with_bars(cost=Fraction(-5), spread=Fraction(0)),
    ],
    "HalfShift": [
        lambda: replace(half_shift(), guarantee=sd.ZCDP("0.49")),
        lambda: replace(half_shift(), guarantee=sd.PureDP(9)),
        lambda: replace(half_shift(), guarantee=sd.ZCDP(1, neighbours="add_remove")),
        lambda: replace(half_shift(), shift_variance=Fraction(3, 2)),
        lambda: replace(half_shift(), shift_variance=Fraction(-1)),
        lambda: replace(half_shift(), parts=()),
        lambda: replace(half_shift(), parts=half_shift().parts[:1] * 3),
        lambda: with_shifted_bars(cost=Fraction(0)),
        lambda: with_shifted_bars(spread=Fraction(1, 10**6)),
        lambda: with_shifted_bars(factor=1.0),
    ],
    "QuantilesRelease": [
        lambda: sd.mechanisms.QuantilesRelease((1.0,), cast("Any", "hello"), "", True, "0", (), ())
    ],
    "Task": [
        lambda: task(epsilon="1/2"),
        lambda: task(delta="1e-7"),
        lambda: task(min_batch=100),
        lambda: task(honest_share="1/2"),
        lambda: task(noise="9"),
        lambda: edited_task("epsilon"),
        lambda: edited_task("noise"),
    ],
    "Collection": [claimed_collection],
    "SmoothedDelta": [
        claimed_delta,
        lambda: replace(claimed_delta_of(), guarantee=sd.PureDP(1)),
        lambda: replace(claimed_delta_of(), delta=1e-9),
        lambda: replace(claimed_delta_of(), log_delta=-20.0),
        lambda: replace(claimed_delta_of(), log_lower=-0.1),
        # Not at another epsilon, and not over another model.
        lambda: replace(claimed_delta_of(), guarantee=smoothed_claim("0.1")),
        lambda: replace(claimed_delta_of(), guarantee=smoothed_claim(1, share="1/5")),
        lambda: replace(claimed_delta_of(), _asked=None),
    ],
    "SampleDesign": [
        lambda: replace(the_sample(), n_draws=the_sample().n_draws + 1),
        lambda: replace(the_sample(), n_records=10**6),
        lambda: replace(the_sample(), undecided=range(7, 9)),
        lambda: replace(the_sample(), smoothed=claimed_delta_of()),
    ],
    "StrataDelta": [
        lambda: replace(the_strata(), log_delta=-90.0),
        lambda: replace(the_strata(), log_lower=-0.1),
        lambda: replace(the_strata(), strata={}),
    ],
    "SgdStepDelta": [
        *(
            lambda change=change: replace(the_step(), **change)
            for change in (
                {"log_delta": -90.0},
                {"log_lower": -0.1},
                {"log_ordinary": -90.0},
                {"decided_by": "T/n"},
                {"n_records": 10**6},
                {"batch": 6},
                {"epsilon": Fraction(2)},
                {"model": sd.DataModel([("1/5", "4/5")])},
                {"model": "hello"},
            )
        ),
        lambda: edited_pickle(the_step(), the_step().log_delta, -90.0),
    ],
    "RateDesign": [
        *(
            lambda change=change, make=make: replace(make(), **change(make()))
            for make in (the_design, lambda: the_design(by_stratum=True))
            for change in DESIGN_CHANGES
        ),
        lambda: edited_pickle(the_design(), 3905, 3906),
        lambda: edited_pickle(the_design(), the_design().log_delta.upper, -90.0),
    ],
    "Measurement": [
        lambda: replace(the_measurement(), delta=(0.0, 1e-9)),
        lambda: replace(the_measurement(), log_delta=type(the_measurement().log_delta)(-90, -80)),
        lambda: replace(the_measurement(), log_utility=None, utility_limit=1e-9),
        lambda: replace(the_measurement(), worst_case_delta=0.1),
        lambda: replace(the_measurement(), epsilon=Fraction(2)),
        lambda: replace(the_measurement(), threshold=Fraction(99, 100)),
        lambda: replace(the_measurement(), counts={"yes": 10, "no": 10}),
        lambda: replace(the_measurement(), mechanism=sd.SamplingHistogram(20, n_draws=9)),
        lambda: edited_pickle(
            the_measurement(), the_measurement().delta[1], the_measurement().delta[1] / 2
        ),
    ],
    "StratumDesign": [
        lambda: replace(
            the_design(by_stratum=True),
            strata=tuple(
                replace(one, log_delta=type(one.log_delta)(-90.0, -90.0))
                for one in the_design(by_stratum=True).strata
            ),
        )
    ],
    "NoiseTable": [claimed_table],
    "Release": [lambda: sd.claims.Release(1.0, "hello", "none", True, "0", ())],  # type: ignore[arg-type]
    "IntervalRelease": [
        lambda: sd.mechanisms.IntervalRelease(
            1.0, cast("Any", "hello"), "none", True, "0", (), (0.0, 1.0), Fraction("0.95"), ""
        )
    ],
    "Plan": [lambda: replace(the_plan(), guarantee=cast("Any", "hello"))],
    "plan_from_json": [
        lambda: edited_plan({"type": "hello"}),
        lambda: edited_method(method="half"),
        lambda: edited_method(method="exponential mechanism"),
        lambda: edited_method(method="midpoint"),
        lambda: edited_method(method="global sensitivity"),
        lambda: edited_method(method="clipped mean", smoothing="0"),
        lambda: edited_method(noise=None),
        lambda: edited_method(asked={"type": "Median", "bounds": ["0", "9"], "window": 3}),
        lambda: edited_method(asked={"type": "Median", "bounds": ["0", "100"], "window": 5}),
        lambda: edited_method(asked={"type": "Mean", "bounds": ["0", "100"]}),
        lambda: edited_method(noise=None, smoothing=None),
        lambda: edited_method(
            method="exponential mechanism", noise=None, smoothing=None, confidence="0.95"
        ),
    ],
}
"""What is false and must be refused, by the name that is given it."""


def claimed_delta_of() -> Any:
    model = sd.DataModel([("1/2", "1/2")])
    return sd.smoothed_delta(sd.SamplingHistogram(4, n_draws=2), model, epsilon=1)


def the_plan() -> sd.planning.Plan:
    return sd.plan(MEDIAN, guarantee=sd.PureDP(1), n_records=1001)


def edited_plan(guarantee: Any) -> sd.planning.Plan:
    fields = json.loads(the_plan().to_json())
    fields["guarantee"] = guarantee
    return sd.planning.plan_from_json(json.dumps(fields))


def edited_method(**changes: Any) -> sd.planning.Plan:
    fields = json.loads(the_plan().to_json()) | changes
    return sd.planning.plan_from_json(json.dumps(fields))


MADE: dict[str, Callable[[], Any]] = {
    **{
        f"{name}.calibrate": lambda kind=kind, noise=noise: kind.calibrate(  # type: ignore[misc]
            1000,
            guarantee=GOAL,
            honest_share=1,
            **{k: v for k, v in noise.items() if k in ("n_bits", "n_bins", "n_levels")},
        )
        for name, (kind, noise) in SMALL.items()
    },
    "collect_share": lambda: sd.report.collect_share([0, 1] * 100, guarantee=GOAL),
    "collect_mean": lambda: sd.report.collect_mean([0, 1] * 100, bounds=(0, 1), guarantee=GOAL),
    "collect_histogram": lambda: sd.report.collect_histogram(
        ["a", "b"] * 100, domain=["a", "b"], guarantee=GOAL
    ),
}
"""What is made for a target: its own profile lies below the guarantee that it states."""

_CALIBRATED = "a target of a law's calibrate(): what it returns is checked when it is made"
NO_CLAIM = {
    **{
        f"{law}.calibrate": _CALIBRATED
        for law in (
            *("ArsinhNormal", "Gaussian", "GeneralizedCauchy", "Laplace", "LaplaceLogNormal"),
            *("Log1pNormal", "NoiseDistribution", "PolyPlace", "StudentT", "UniformLogNormal"),
        )
    },
    **dict.fromkeys(
        (
            *("add_remove_to_replace_one", "approx_at"),
            *("zcdp_to_approx", "zcdp_triangle"),
            *("Person.cost", "Person.row_cost", "Person.row_share"),
            *("smoothed_distribution_reduction", "smoothed_post_processing"),
            "smoothed_pre_processing",
        ),
        "what follows from a claim, itself a claim",
    ),
    "HalfShift.calibrate": _CALIBRATED,
    "SmoothNoise.calibrate": _CALIBRATED,
    "JointPolyPlace.calibrate": _CALIBRATED,
    "JointExponentialQuantiles": "a target: the density is made of it",
    "MaxLaw.calibrate": _CALIBRATED,
    "Conformance": "what a check of a law found, in words",
    "Entry": "a row of a ledger, whose hash chain is verified when it is read",
    "Filter": "a budget is a limit",
    "Filter.costs": "what a claim costs, itself no claim",
    "Filter.price": "what a claim costs, itself no claim",
    "LossLaw.cost": "an amount of work: its budget is an error",
    "LossLaw.transform": "its budget is an error of rounding",
    "released_words": "the words of a release that was made",
    "report_protocol": "a target of the protocol's calibrate",
    "release": _CALIBRATED,
    "ExponentialQuantile": "a target: the slope is made of it (test_exponential_quantile_proof)",
    **dict.fromkeys(
        ("SkewedNoise", "SumNoise"),
        "a target: the noise is made of it (whole joint laws in test_private_sums_proof)",
    ),
    "release_table": "a target: what its parts cost adds up to it (test_tables_proof)",
    "plan": _CALIBRATED,
    "Plan.release": _CALIBRATED,
    "Account": "a view of a ledger, whose hash chain is verified when it is read",
    "Ledger": "the budget is a limit",
    "CollectPlan": "a target; its offers hold protocols, whose promises were checked",
    "plan_collect": "a target of the protocols' calibrate",
    "Ledger.odometer": "levels are limits: the first one not passed is returned",
    "compose_smoothed": "adds up claims that were made elsewhere",
    "default_trim": "a target",
    "errors_by_epsilon": "targets of plans",
    "errors_by_size": "a target of plans",
    "noise_table": "a target; each calibration is checked when it is made",
    "smoothed_to_distributional": "what follows from a claim, itself a claim",
    "variance_lower_bound": "a target",
    "tail_lower_bound": "a target",
    "Histogram.smallest_n_users": "a target",
    "ZeroPreservingCount.smallest_n_users": "a target",
    "RealSum.best_n_bits": "a target",
    "samples_needed": "a target",
    "MultiPartyPointerJumping.protocol": "a target of Histogram.calibrate",
    "PointerChasing.protocol": "a target of Histogram.calibrate",
    "ChordProfile.of": "asks a profile for a few of its values",
    "plot_profile": "draws what it is given",
    "plot_profiles": "draws what it is given",
    "Ledger.charge": "see test_a_ledger_refuses_what_does_not_follow",
    "Ledger.check": "see test_a_ledger_refuses_what_does_not_follow",
    "Ledger.spend": "see test_a_ledger_refuses_what_does_not_follow",
}
"""Takes a guarantee and states none, with the reason."""


def test_every_public_name_that_takes_a_guarantee_has_an_entry() -> None:
    found = set(takers())
    entries = set(REFUSED) | set(MADE) | set(NO_CLAIM)
    assert found - entries == set(), "say in this file how these check what they are given"
    assert entries - found == set(), "these are gone"


def test_the_walk_sees_what_it_must() -> None:
    """A name without an entry fails: the walk is shown a class that it has not met."""

    class Unchecked:
        def __init__(self, *, promise: object) -> None: ...

        @classmethod
        def from_json(cls, guarantee: object) -> None: ...

    class Room:
        __all__ = ("Unchecked",)

    Room.Unchecked = Unchecked  # type: ignore[attr-defined]
    names = {
        name
        for name, call in callables(Room)
        if any(map(is_claim, inspect.signature(call).parameters.values()))
    }
    assert names == {"Unchecked", "Unchecked.from_json"}
    assert {"Calibration", "SmoothNoise", "BooleanSum", "Task", "Collection"} <= set(takers())


@pytest.mark.parametrize(
    "call",
    [
        pytest.param(call, id=f"{name}-{place}")
        for name, calls in REFUSED.items()
        for place, call in enumerate(calls)
    ],
)
def test_a_false_claim_is_refused(call: Callable[[], Any]) -> None:
    with pytest.raises(REFUSALS):
        call()


@pytest.mark.parametrize("name", MADE)
def test_what_is_made_keeps_what_it_states(name: str) -> None:
    made = MADE[name]()
    stated = made.release.guarantee if isinstance(made, sd.report.Collection) else made.guarantee
    profile = made.profile if isinstance(made, sd.report.Collection) else made.profile()
    assert stated == GOAL
    assert Fraction(profile.delta(GOAL.exact_epsilon)) <= GOAL.exact_delta
    # Not vacuous: at half of epsilon it is above.
    assert profile.delta_bounds("1/2")[0] > GOAL.delta


@pytest.mark.parametrize("name", ["charge", "check", "spend"])
def test_a_ledger_refuses_what_does_not_follow(name: str, tmp_path: Path) -> None:
    with pytest.raises(sd.errors.IncompatibleClaims, match="claim"):
        spent(name, tmp_path)


def test_a_plan_file_with_another_guarantee_gets_noise_for_it() -> None:
    """What the file says of noise is not believed: the release is calibrated anew."""
    plain = smooth(the_plan())
    weaker = sd.PureDP("1.1")
    found = smooth(edited_plan(json.loads(weaker.to_json())))
    assert found.guarantee == weaker
    assert found.calibration.shift > plain.calibration.shift
    assert found.calibration == found.noise.calibrate(weaker, smoothing=found.smoothing)
    with pytest.raises(REFUSALS):
        edited_plan(json.loads(STRONGER.to_json())).mechanism()
    # A quantile drawn by ranks is as steep as the guarantee in the file allows.
    drawn = {"method": "exponential mechanism", "noise": None, "smoothing": None}
    guarantee = json.loads(STRONGER.to_json())
    other = edited_method(**drawn, guarantee=guarantee).mechanism()
    assert isinstance(other, sd.ExponentialQuantile)
    assert other.guarantee == STRONGER
    assert other.slope == Fraction("0.45")
