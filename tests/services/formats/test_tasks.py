"""Tasks of every protocol: made, encoded, padded, promised, and refused where they must be."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from smoothdp import SeededRandom
from smoothdp.claims import ApproxDP
from smoothdp.errors import InvalidData, InvalidParameter
from smoothdp.services.formats.design.task_shape import MOST_SIGNED_SLOTS
from smoothdp.services.formats.design.values import DUMMY
from smoothdp.services.formats.task import Task
from smoothdp.services.wire.canonical import canonical_json, parse_canonical
from smoothdp.shuffle import (
    BooleanSum,
    Histogram,
    LowCommunicationHistogram,
    PairedCount,
    PairedHistogram,
    SplitSum,
)
from tests.services.formats.made import Made

SIGNED, OPEN = Made(), Made("none")
ASKED: dict[str, dict[str, Any]] = {
    "boolean_sum": {"min_batch": 200},
    "real_sum": {"size": 8, "bounds": ("-1", "3.5"), "min_batch": 200},
    "histogram": {"domain": ("a", "b", "c"), "min_batch": 300},
    "low_communication_histogram": {"size": 10},
    "paired_count": {},
    "paired_histogram": {"size": 5},
    "split_sum": {"bounds": ("0", "1")},
}
TASKS = {name: SIGNED.create(name, **more) for name, more in ASKED.items()}


@pytest.mark.parametrize("name", ASKED)
def test_a_task_is_its_encoding(name: str) -> None:
    task = TASKS[name]
    again = Task.decode(task.encoded)
    assert again == task
    assert (again.task_id, again.encoded) == (task.task_id, task.encoded)
    assert b'"format":2' in task.encoded
    assert 1 <= task.slots <= 128


@pytest.mark.parametrize("name", ASKED)
def test_the_promise_is_that_of_the_exact_accountant(name: str) -> None:
    """From the fields, by the protocol's own class: kept with h0 honest, not with fewer."""
    task = TASKS[name]
    honest = task.honest(task.min_batch)
    noise = Fraction(task.noise)
    further = [Fraction(text) for text in task.parameters]
    protocol: Any
    if name == "split_sum":
        protocol = SplitSum(
            honest,
            noise_epsilon=noise,
            resolution=task.size,
            n_shares=task.slots,
            modulus_bits=int(further[0]),
        )
    elif name in ("paired_count", "paired_histogram"):
        numbers: dict[str, Any] = {
            "noise_rate": noise,
            "clump_probability": further[0],
            "largest_clump": int(further[1]),
            "slots": task.slots,
        }
        protocol = (
            PairedCount(honest, **numbers)
            if name == "paired_count"
            else PairedHistogram(honest, n_bins=5, **numbers)
        )
        assert further[2] == honest
    elif name == "low_communication_histogram":
        protocol = LowCommunicationHistogram(
            honest, n_bins=10, noise_probability=noise, n_slots=task.slots
        )
    elif name == "histogram":
        protocol = Histogram(honest, n_bins=3, omission_probability=noise)
    else:
        protocol = task.collect(honest)
        assert protocol.threshold == noise
    limit = Fraction(task.delta)
    assert Fraction(protocol.profile(n_honest=honest).delta(task.epsilon)) <= limit
    least = task.fewest_honest
    assert Fraction(protocol.profile(n_honest=least).delta(task.epsilon)) <= limit
    assert Fraction(protocol.profile(n_honest=least - 1).delta(task.epsilon)) > limit
    assert task.keeps_promise(least)
    assert not task.keeps_promise(least - 1)
    assert task.keeps_promise(task.max_batch)
    assert task.guarantee == ApproxDP(1, delta="1e-6")


@pytest.mark.parametrize("name", ASKED)
def test_every_envelope_has_its_cap(name: str) -> None:
    """M values for every datum, each of them meant; and no dummy looks like a message."""
    task = TASKS[name]
    datum = {"split_sum": Fraction(1, 3), "real_sum": Fraction(1, 2)}.get(name, 1)
    rng = SeededRandom(26)
    for _ in range(50):
        values = task.values(datum, rng=rng)
        assert len(values) == task.slots
        assert all(task.is_meant(value) for value in values)
    n_values = task.design.n_values
    assert task.is_meant(n_values - 1)
    assert not task.is_meant(n_values)
    assert not task.is_meant(-1)
    assert task.is_meant(DUMMY) == (name in ("histogram", "low_communication_histogram")
                                    or "paired" in name)  # fmt: skip


@pytest.mark.parametrize("name", ASKED)
def test_the_estimate_of_a_batch(name: str) -> None:
    """Values of many envelopes, without their dummies: the protocol of the batch reads them."""
    task = TASKS[name]
    rng = SeededRandom(11)
    # A few envelopes are enough: the error below is that of the protocol itself.
    users = task.min_batch
    ones = users // 4
    sent = [
        value
        for user in range(users)
        for value in task.values(1 if user < ones else 0, rng=rng)
        if value != DUMMY
    ]
    protocol: Any = task.collect(users)
    if task.design.protocol == "split_sum":
        estimate = protocol.analyze(sent)
    elif task.design.has_dummies:
        tally = Counter(sent)
        counts = np.array([tally[value] for value in range(task.design.n_values)])
        if name == "paired_count":
            estimate = (counts[1] - counts[0] + users) / 2
        elif name == "paired_histogram":
            estimate = (counts[1::2] - counts[::2])[1]
        else:
            estimate = protocol.estimate_counts(counts).counts.get(1, 0.0)
    else:
        estimate = protocol.analyze(sent)
    assert abs(estimate - ones) <= protocol.error("1e-6", simultaneous=True)


def test_noise_does_not_depend_on_the_batch() -> None:
    """The law of one envelope is that of the fields, for all sizes of batches between the two."""
    for name in ("boolean_sum", "paired_count", "low_communication_histogram"):
        task = TASKS[name]
        small, large = task.collect(task.min_batch), task.collect(task.max_batch)
        for rng in (1, 2, 3):
            first = small.randomize(1, rng=SeededRandom(rng))
            assert first == large.randomize(1, rng=SeededRandom(rng))


def test_honest_users_count_everybody_served() -> None:
    task = TASKS["boolean_sum"]
    assert (task.honest(200), task.honest(200, accounts=200)) == (180, 180)
    assert task.honest(200, accounts=10_000) == -800
    assert task.dishonest(1999) == 199
    assert not task.keeps_promise(task.honest(200, accounts=10_000))
    least = task.required_batch
    assert task.honest(least) >= task.fewest_honest > task.honest(least - 1)
    sure = SIGNED.create("boolean_sum", min_batch=200, honest_share="1")
    assert sure.honest(200, accounts=10**6) == 200


def test_large_envelopes_need_the_open_kind() -> None:
    """With an issuer up to 128 slots, in words; without one, more."""
    assert SIGNED.create("histogram", size=127, min_batch=300).slots == 128
    for more in ({"size": 128}, {"domain": [f"{name}" for name in range(300)]}):
        with pytest.raises(InvalidParameter, match=r"128 slots with an issuer.*--open"):
            SIGNED.create("histogram", min_batch=300, **more)
    assert OPEN.create("histogram", size=150, min_batch=300).slots == 151


def test_what_an_envelope_costs_and_what_is_not_proved_is_said() -> None:
    def said(name: str) -> str:
        return " ".join(TASKS[name].advice)

    assert "1 signature, 1.6 ms" in said("boolean_sum")
    assert "16 s for 10,000 people" in said("boolean_sum")
    assert "8 signatures, 13 ms of one core and 2,072 bytes" in said("real_sum")
    for name in ASKED:
        assert ("No theorem covers" in said(name)) == (name not in ("boolean_sum", "real_sum"))
    (alone,) = OPEN.create("boolean_sum", min_batch=200, windows=11).advice
    assert "the shuffler alone" in alone


def test_a_short_budget_is_said_to_wait_for_windows_with_too_few_people() -> None:
    """Of windows of a day, with an hour of grace, eleven have cards at once if none is released."""
    for windows, words in ((1, "pays for 1 window. "), (10, "pays for 10 windows. "), (11, "")):
        advice = " ".join(OPEN.create("boolean_sum", min_batch=200, windows=windows).advice)
        assert ("no window opens. With 11 places" in advice) == bool(words)
        assert words in advice
    week = OPEN.create("boolean_sum", min_batch=200, windows=5, window_seconds=7 * 86_400)
    assert "budget" not in " ".join(week.advice)


def test_who_invites_too_many_people_for_the_largest_batch_is_told_the_number() -> None:
    """The number is exact: one below a full window is released, at it no batch is."""
    task = SIGNED.create("boolean_sum", min_batch=200, max_batch=250)
    (words,) = [words for words in task.advice if "not released" in words]
    number = int(words.removeprefix("Once ").split(" ")[0].replace(",", ""))
    assert task.keeps_promise(task.honest(task.max_batch, accounts=number - 1))
    assert not task.keeps_promise(task.honest(task.max_batch, accounts=number))
    for roomy in ({}, {"max_batch": 250, "honest_share": "1"}):
        other = SIGNED.create("boolean_sum", min_batch=200, **roomy)
        assert "not released" not in " ".join(other.advice)
    assert "not released" not in " ".join(
        OPEN.create("boolean_sum", min_batch=200, max_batch=250).advice
    )


def test_windows_of_a_clock() -> None:
    task = TASKS["boolean_sum"]
    day = task.window_seconds
    assert task.windows_near(20414 * day + 300) == (20414,)
    assert task.windows_near(20414 * day + 299) == (20413, 20414)
    assert task.windows_near(20415 * day - 300) == (20414, 20415)
    assert task.windows_near(20415 * day - 301) == (20414,)
    assert task.windows_near(0) == (0,)
    assert TASKS["boolean_sum"].window_at(20414 * day + 0.5) == 20414


GOOD = TASKS["boolean_sum"]
PAIRED = TASKS["paired_count"]


@pytest.mark.parametrize(
    ("task", "changes", "word"),
    [
        (GOOD, {"noise": "1"}, "min_batch"),
        (GOOD, {"min_batch": 100}, "min_batch"),
        (GOOD, {"honest_share": "0.5"}, "min_batch"),
        (GOOD, {"honest_share": "0"}, "honest_share"),
        (GOOD, {"honest_share": "1.01"}, "honest_share"),
        (GOOD, {"honest_share": "1/0"}, "honest_share"),
        (GOOD, {"epsilon": "1/2e3"}, "epsilon"),
        (GOOD, {"protocol": "sum"}, "protocol"),
        (GOOD, {"size": 2}, "size"),
        (GOOD, {"slots": 2}, "slots"),
        (GOOD, {"slots": 0}, "slots"),
        (GOOD, {"parameters": ("1",)}, "no parameters"),
        (GOOD, {"parameters": ["1"]}, "tuple"),
        (GOOD, {"max_batch": 199}, "max_batch"),
        (GOOD, {"max_batch": MOST_SIGNED_SLOTS + 1}, "max_batch"),
        (GOOD, {"window_seconds": 0}, "window_seconds"),
        (GOOD, {"window_seconds": True}, "window_seconds"),
        (GOOD, {"grace_seconds": 86_401}, "grace_seconds"),
        (GOOD, {"epsilon": "1e9999"}, "epsilon"),
        (GOOD, {"epsilon": 1}, "epsilon"),
        (GOOD, {"delta": "1"}, "delta"),
        (GOOD, {"budget_epsilon": "0.5"}, "budget_epsilon"),
        (GOOD, {"budget_delta": "1e-7"}, "budget_delta"),
        (GOOD, {"bounds": ("0", "1")}, "bounds"),
        (GOOD, {"domain": ("a",)}, "domain"),
        (GOOD, {"proof": "people"}, "proof"),
        (GOOD, {"proof": "none"}, "issuer"),
        (GOOD, {"issuer": None}, "issuer"),
        (GOOD, {"issuer": "issuer.example"}, "issuer"),
        (GOOD, {"origin": "a,b"}, "origin"),
        (GOOD, {"origin": ""}, "origin"),
        (GOOD, {"origin": "analyzér"}, "origin"),
        (GOOD, {"analyzer_sign_key": "00" * 32}, "full order"),
        (GOOD, {"analyzer_sign_key": GOOD.shuffler_sign_key}, "the same key twice"),
        (GOOD, {"shuffler_sign_key": GOOD.shuffler_sign_key.upper()}, "hexadecimal|same"),
        (PAIRED, {"parameters": PAIRED.parameters[:2]}, "parameters"),
        (PAIRED, {"parameters": (*PAIRED.parameters[:2], "0")}, "parameters"),
        (PAIRED, {"parameters": (*PAIRED.parameters[:2], "1/2")}, "parameters"),
        (PAIRED, {"parameters": (*PAIRED.parameters[:2], "1001")}, "min_batch"),
        (PAIRED, {"parameters": ("2", *PAIRED.parameters[1:])}, "clump_probability"),
        (PAIRED, {"slots": 3}, "slots"),
        (TASKS["split_sum"], {"parameters": ("32", "900")}, "modulus_bits"),
        (TASKS["split_sum"], {"parameters": ("10", "900")}, "modulus_bits"),
        (TASKS["histogram"], {"domain": ("a", "a", "b")}, "more than once"),
        (TASKS["real_sum"], {"bounds": ("1", "1")}, "bounds"),
    ],
)
def test_what_is_refused(task: Task, changes: dict[str, Any], word: str) -> None:
    with pytest.raises(InvalidParameter, match=word):
        replace(task, **changes)


def test_issuers_that_are_refused() -> None:
    assert GOOD.issuer is not None
    for changes in (
        {"name": ""},
        {"name": "a b"},
        {"name": 1},
        {"url": "ftp://issuer.example"},
        {"url": "https://issuer.example/a b"},
        {"sign_key": "00" * 32},
        {"sign_key": GOOD.analyzer_sign_key},
    ):
        with pytest.raises(InvalidParameter):
            replace(GOOD, issuer=replace(GOOD.issuer, **changes))


def test_documents_that_are_no_task() -> None:
    data = GOOD.encoded
    for other in (
        b"",
        b"{}",
        data + b"\n",
        data.replace(b'"format":2', b'"format":1'),
        data.replace(b'"proof":"slots"', b'"proof":1'),
        data.replace(b'"issuer":{', b'"issuer":{"a":"b",'),
        data.replace(b'"origin":', b'"origins":'),
    ):
        assert other != data
        with pytest.raises((InvalidData, InvalidParameter)):
            Task.decode(other)


def test_canonical_documents_have_one_small_object() -> None:
    """Sorted keys at both levels; what is deeper, empty or no text or number is refused."""
    document = {"b": {"z": "1", "a": 2}, "a": None, "c": ["x"]}
    data = b'{"a":null,"b":{"a":2,"z":"1"},"c":["x"]}'
    assert canonical_json(document) == data
    assert parse_canonical(data) == document
    wrong: list[Any] = [{}, {"A": "x"}, {"a": None}, {"a": ["x"]}, {"a": {"b": "c"}}, {"a": True}]
    for value in [*wrong, [None], [{"a": "b"}], 1.5, True]:
        with pytest.raises(InvalidData):
            canonical_json({"a": value})
    for other in (b'{"b":{"z":"1","a":2}}', b'{"a":{"a":1,"a":1}}', b'{"a": null}'):
        with pytest.raises(InvalidData):
            parse_canonical(other)


def test_requests_that_are_refused() -> None:
    for changes in (
        {"epsilon": "0"},
        {"epsilon": "1e10"},
        {"delta": "0"},
        {"windows": 10**7},
        {"min_batch": 0},
        {"min_batch": 1 << 31},
        {"honest_share": "0"},
        {"max_batch": 100},
        {"analyzer_sign_key": "00" * 32},
    ):
        with pytest.raises(InvalidParameter):
            SIGNED.create("boolean_sum", **({"min_batch": 200} | changes))
    with pytest.raises(InvalidParameter, match="one of these protocols"):
        SIGNED.create("sum")
    with pytest.raises(InvalidParameter, match="change min_batch"):
        SIGNED.create("histogram", size=3, min_batch=20)


def test_budgets_are_those_of_all_windows() -> None:
    task = SIGNED.create("boolean_sum", min_batch=200, windows=30)
    assert (task.budget_epsilon, Fraction(task.budget_delta)) == ("30", Fraction(30, 10**6))


def test_a_boolean_sum_needs_the_noise_of_its_class() -> None:
    """The same threshold as the class finds for the honest users of the smallest batch."""
    goal = ApproxDP(1, delta="1e-6")
    wanted = BooleanSum.calibrate(180, guarantee=goal, honest_share=1)
    assert GOOD.noise == str(wanted.threshold)
