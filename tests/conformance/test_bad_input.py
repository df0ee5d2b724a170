"""Bad input to public functions and classes gets the house error, and no nan passes."""

from __future__ import annotations

import json
import math
import os
import stat
import time
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import smoothdp as sd
from smoothdp.errors import InvalidData, InvalidParameter, OutOfReach, SmoothdpError
from smoothdp.exact.parameters.numbers import exact_fraction, exact_text
from smoothdp.paper_bounds import liu_lemma_2
from smoothdp.services import Task, issue_invitations, issue_passes
from smoothdp.services.client.client import Client
from smoothdp.services.client.outcomes import OutcomeStore
from smoothdp.testing import chi_square_test, frequency_test
from tests.services.formats.made import Made
from tests.services.worlds.directories import party_directories

NO_NUMBER: tuple[Any, ...] = (math.nan, math.inf, -math.inf, -1, "x", None, [], True)
NOT_LISTS: tuple[Any, ...] = (math.nan, 7, True, None, object)
MODEL = sd.DataModel([("0.3", "0.7")])


def refuse(call: Callable[[Any], object], bad: Any, error: type[SmoothdpError]) -> None:
    with pytest.raises(error, match=r"^Expected .+; got .+\. .+\.$"):
        call(bad)


@pytest.mark.parametrize("bad", [*NO_NUMBER, 0, 1.5], ids=repr)
def test_default_trim_wants_a_number_of_records(bad: Any) -> None:
    refuse(lambda n: sd.mechanisms.default_trim(sd.PureDP(1), n), bad, InvalidParameter)


@pytest.mark.parametrize("bad", [*NO_NUMBER, 0.6], ids=repr)
def test_default_trim_wants_a_share(bad: Any) -> None:
    refuse(lambda s: sd.mechanisms.default_trim(sd.PureDP(1), 100, least=s), bad, InvalidParameter)


def test_default_trim_still_takes_shares() -> None:
    assert sd.mechanisms.default_trim(sd.PureDP(1), 1001, least=0.1) == 100
    assert sd.mechanisms.default_trim(sd.PureDP(1), 1001, least=0) == 66


@pytest.mark.parametrize("bad", [*NOT_LISTS, "31", [3, 1], ["31"], []], ids=repr)
def test_rows_of_counts_are_lists_of_lists(bad: Any) -> None:
    refuse(sd.DataModel.from_counts, bad, InvalidParameter)


@pytest.mark.parametrize("bad", NOT_LISTS, ids=repr)
def test_lists_of_mechanisms(bad: Any) -> None:
    refuse(sd.mechanisms.Composed, bad, InvalidParameter)
    refuse(sd.mechanisms.StratifiedHistogram, bad, InvalidParameter)


@pytest.mark.parametrize("bad", [*NO_NUMBER, object], ids=repr)
def test_smoothed_delta_wants_a_mechanism(bad: Any) -> None:
    refuse(lambda m: sd.smoothed_delta(m, MODEL, epsilon=1), bad, InvalidParameter)


@pytest.mark.parametrize("bad", NO_NUMBER, ids=repr)
def test_error_of_a_pair(bad: Any) -> None:
    half = np.log([0.5, 0.5])
    refuse(lambda e: sd.Pair(half, half, error=e), bad, InvalidData)


@pytest.mark.parametrize("bad", ["x", object, ["a", "b"], [math.nan, 1.0], [None, 1]], ids=repr)
def test_arrays_of_other_things_than_numbers(bad: Any) -> None:
    half = np.log([0.5, 0.5])
    refuse(lambda v: sd.Pair(v, half), bad, InvalidData)
    refuse(lambda v: sd.TradeoffFunction(v, [0.1, 0.9]), bad, InvalidData)
    for test in (frequency_test, chi_square_test):
        refuse(partial(test, probabilities=[0.5, 0.5]), bad, InvalidData)
        refuse(partial(test, [50, 50]), bad, InvalidData)


@pytest.mark.parametrize("bad", [[-1, 101], [0.5, 99.5], [math.inf, 1]], ids=repr)
def test_counts_of_cells_are_whole(bad: Any) -> None:
    refuse(lambda v: frequency_test(v, [0.5, 0.5]), bad, InvalidData)


@pytest.mark.parametrize("bad", [*NO_NUMBER, 2], ids=repr)
def test_divergences(bad: Any) -> None:
    refuse(lambda d: liu_lemma_2(d, 0.5), bad, InvalidParameter)
    refuse(lambda d: liu_lemma_2(0.5, d), bad, InvalidParameter)


# ---- extreme numbers --------------------------------------------------------------------


def test_tiny_parameters_are_refused_at_once() -> None:
    """Writing 1e-400000 in the error used to take minutes."""
    began = time.perf_counter()
    refuse(sd.noise.StudentT, "1e-400000", OutOfReach)
    assert time.perf_counter() - began < 10


@pytest.mark.parametrize("text", ["1e-400000", "3e-5000", "7e-41", "1e400000"])
def test_short_decimals_are_written_short(text: str) -> None:
    value = exact_fraction(text, name="x")
    written = exact_text(value)
    assert exact_fraction(written, name="x") == value
    assert text == "1e400000" or written == text


@pytest.mark.parametrize("twos", [0, 1, 3, 150, 700])
@pytest.mark.parametrize("fives", [0, 1, 59, 60, 61, 400])
@pytest.mark.parametrize("more", [1, 3, 7])
def test_denominators_of_every_kind(twos: int, fives: int, more: int) -> None:
    value = Fraction(11, 2**twos * 5**fives * more)
    written = exact_text(value)
    assert exact_fraction(written, name="x") == value
    is_decimal = more == 1 and 11 * 10 ** max(twos, fives) // value.denominator < 10**40
    assert ("e-" in written) == (is_decimal and value.denominator >= 10**40)


# ---- tasks ------------------------------------------------------------------------------


PARTIES = Made()


def made(**fields: Any) -> Task:
    usual: dict[str, Any] = {"size": 2, "bounds": ("0", "1"), "min_batch": 500}
    return PARTIES.create("real_sum", **(usual | fields))


@pytest.mark.parametrize(
    "field", ["size", "min_batch", "window_seconds", "grace_seconds", "windows"]
)
@pytest.mark.parametrize("bad", NO_NUMBER, ids=repr)
def test_whole_numbers_of_a_task(field: str, bad: Any) -> None:
    if field == "size" and bad is None:
        assert made(size=None).size > 0  # the protocol says it
        return
    refuse(lambda v: made(**{field: v}), bad, InvalidParameter)


@pytest.mark.parametrize("bad", [math.nan, 7, True, None, []], ids=repr)
def test_other_fields_of_a_task(bad: Any) -> None:
    refuse(lambda v: made(unit=v), bad, InvalidParameter)
    refuse(lambda v: made(origin=v), bad, InvalidParameter)


def test_a_task_of_tiny_numbers() -> None:
    refuse(lambda v: made(epsilon=v), "1e-5000", InvalidParameter)


@pytest.mark.parametrize("bad", NO_NUMBER, ids=repr)
def test_number_of_passes_and_invitations(bad: Any, tmp_path: Path) -> None:
    written = party_directories(tmp_path)
    refuse(lambda n: issue_passes(written.shuffler, n), bad, InvalidParameter)
    refuse(lambda n: issue_invitations(written.issuer, n), bad, InvalidParameter)


@pytest.mark.parametrize("bad", [*[b for b in NO_NUMBER if b is not None], 1 << 32], ids=repr)
def test_window_of_a_report(bad: Any, tmp_path: Path) -> None:
    """What cannot be sent is not kept either."""
    store = OutcomeStore(tmp_path / "windows.sqlite")
    client, card = Client(PARTIES.task, store), PARTIES.signed().encode()
    refuse(lambda w: client.take_part(1, card=card, window=w), bad, InvalidParameter)
    assert store._storage.read("SELECT count(*) FROM outcome") == [(0,)]
    store.close()


def test_plans_refuse_what_is_no_list_and_too_many_records() -> None:
    from smoothdp.planning import errors_by_epsilon, errors_by_size

    query = sd.queries.Median((0, 100))
    refused: tuple[Any, ...] = (None, 7, "100", [])
    for sizes in refused:
        with pytest.raises(InvalidParameter):
            errors_by_size(query, sizes, guarantee=sd.PureDP(1))
        with pytest.raises(InvalidParameter):
            errors_by_epsilon(query, sizes, n_records=100)
    with pytest.raises(OutOfReach):
        sd.plan(query, guarantee=sd.PureDP(1), n_records=10**30)


def test_a_table_without_any_noise_is_json() -> None:
    table = sd.report.noise_table(sd.PureDP(1), smoothing="0.5")
    assert "no noise has a finite one" in table.text()
    found = json.loads(json.dumps(table.to_dict(), allow_nan=False))
    assert found["least_standard_deviation"] is None
    assert found["least_is_infinite"] is True


GOAL = sd.ApproxDP(1, delta="1e-6")


@pytest.mark.parametrize("bad", ["x", None, 0, [math.nan] * 9, [[1.0]], [], object, ["a"]])
def test_collections_want_one_number_per_user(bad: Any) -> None:
    for call in (
        partial(sd.report.collect_share, guarantee=GOAL),
        partial(sd.report.collect_mean, bounds=(0, 1), guarantee=GOAL),
    ):
        with pytest.raises(SmoothdpError, match=r"^Expected .+; got .+\. .+\.$"):
            call(bad)


@pytest.mark.parametrize("bad", ["x", None, 0, (0, math.nan), [], 7, (1, 0), (0, 0), (0, 1, 2)])
def test_a_mean_wants_bounds(bad: Any) -> None:
    refuse(
        lambda b: sd.report.collect_mean([0.5] * 9, bounds=b, guarantee=GOAL), bad, InvalidParameter
    )


@pytest.mark.parametrize("bad", ["x", 0, -1, 10**30, True, 1.5])
def test_a_mean_wants_few_bits(bad: Any) -> None:
    data = np.full(1000, 0.5)
    began = time.perf_counter()
    with pytest.raises(InvalidParameter):
        sd.report.collect_mean(data, bounds=(0, 1), guarantee=GOAL, n_bits=bad)
    assert time.perf_counter() - began < 30


@pytest.mark.parametrize("bad", ["x", None, 0, ["c"] * 9, [], [None] * 9, [["a"]] * 5])
def test_a_histogram_wants_texts_of_its_domain(bad: Any) -> None:
    with pytest.raises(SmoothdpError, match=r"^Expected .+; got .+\. .+\.$") as caught:
        sd.report.collect_histogram(bad, domain=["a", "b"], guarantee=GOAL)
    assert "'c'" not in str(caught.value)
    if bad != ["c"] * 9:
        with pytest.raises(SmoothdpError):
            sd.report.collect_histogram(["a"] * 5000, domain=bad, guarantee=GOAL)


def test_a_mean_with_nan_charges_no_ledger(tmp_path: Path) -> None:
    ledger = sd.Ledger(tmp_path / "l.db", budget=sd.ApproxDP(2, delta="1e-5"))
    data = np.array([0.5] * 999 + [math.nan])
    with pytest.raises(InvalidData):
        sd.report.collect_mean(data, bounds=(0, 1), guarantee=GOAL, ledger=ledger)
    assert not ledger.entries()


def test_a_device_is_written_to_and_not_replaced(tmp_path: Path) -> None:
    from smoothdp.whole_file import whole_file

    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    with whole_file(pipe) as partial:
        partial.write_text("whole")
    assert os.read(reader, 10) == b"whole"
    os.close(reader)
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    with pytest.raises(InvalidParameter, match="Name a file"), whole_file(tmp_path):
        pass
    kept = tmp_path / "kept"
    kept.write_text("as it was")

    def half(path: Path) -> None:
        path.write_text("half")
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError), whole_file(kept) as partial:
        half(partial)
    assert [path.name for path in sorted(tmp_path.iterdir())] == ["kept", "pipe"]
    assert kept.read_text() == "as it was"


def test_a_plan_names_what_to_do_with_several_quantiles_or_a_private_size() -> None:
    several = sd.queries.Quantiles(["0.25", "0.75"], bounds=(0, 9))
    with pytest.raises(sd.errors.InvalidParameter, match=r"one statistic.*without a plan"):
        sd.plan(several, guarantee=sd.PureDP(1), n_records=99)  # type: ignore[arg-type]
    private = sd.PureDP(1, neighbours="add_remove")
    with pytest.raises(sd.errors.IncompatibleClaims, match=r"without a plan.*n_guess"):
        sd.plan(sd.queries.Median((0, 9)), guarantee=private, n_records=99)
