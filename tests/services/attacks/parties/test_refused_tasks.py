"""Tasks that are refused: those that no device keeps, and those whose results have no number."""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import nbinom

from smoothdp.errors import InvalidData, InvalidParameter
from smoothdp.services.formats.design.agreeing import agree_on_one_host
from smoothdp.services.formats.design.protocols import Design
from tests.services.storages import ONLY_SQLITE
from tests.services.worlds.laws import Law, added, largest_stick
from tests.services.worlds.party_world import PartyWorld
from tests.services.worlds.small_tasks import small_task


def paired_by_hand(design: Design) -> tuple[Law, Law, Law]:
    share = nbinom(1 / design.n_honest_design, -math.expm1(-float(Fraction(design.noise))))
    chance, most = float(design.parameter("clump_probability")), 2
    pairs = [1 - chance, chance / 1.5, chance / 3]
    law: defaultdict[tuple[int, ...], float] = defaultdict(float)
    for minus, plus, clump in itertools.product(
        range(design.slots), range(design.slots), range(most + 1)
    ):
        if minus + plus + 2 * clump < design.slots:
            signs = float(share.pmf(minus) * share.pmf(plus))
            law[minus + clump, plus + clump] += signs * pairs[clump]
    return dict(law), {(0, 1): 1.0}, {(1, 0): 1.0}


def rare_by_hand(design: Design) -> tuple[Law, Law, Law]:
    chance = float(Fraction(design.noise))
    law = {
        bits: chance ** sum(bits) * (1 - chance) ** (3 - sum(bits))
        for bits in itertools.product((0, 1), repeat=3)
        if sum(bits) < design.slots
    }
    return law, {(1, 0, 0): 1.0}, {(0, 1, 0): 1.0}


def split_by_hand(design: Design) -> tuple[Law, Law, Law]:
    modulus, m = design.n_values, design.slots
    share = nbinom(1 / design.n_honest_design, -math.expm1(-float(Fraction(design.noise))))
    folded = share.pmf(np.arange(400)).reshape(-1, modulus).sum(axis=0)

    def sent(datum: int) -> Law:
        law: defaultdict[tuple[int, ...], float] = defaultdict(float)
        for plus, minus in itertools.product(range(modulus), repeat=2):
            for start in itertools.product(range(modulus), repeat=m - 1):
                shares = (*start, (datum + plus - minus - sum(start)) % modulus)
                key = tuple(shares.count(value) for value in range(modulus))
                law[key] += float(folded[plus] * folded[minus]) / modulus ** (m - 1)
        return dict(law)

    return sent(0), sent(0), sent(1)


@ONLY_SQLITE
@pytest.mark.parametrize(
    ("design", "law"),
    [
        (Design("paired_count", 1, "1", ("1/3", "2", "3"), 9), paired_by_hand),
        (Design("low_communication_histogram", 3, "1/10", ("1/40",), 3), rare_by_hand),
        (Design("split_sum", 1, "1", ("2", "2"), 4), split_by_hand),
    ],
)
@pytest.mark.parametrize("honest", [1, 2, 3])
def test_no_task_by_hand_is_taken_that_its_devices_do_not_keep(
    design: Design, law: Callable[[Design], tuple[Law, Law, Law]], honest: int
) -> None:
    """The protocol: a task MUST be refused unless so many honest users keep the promise "by the
    exact accountant". Here is what its devices send, noise that is drawn again among it, cell by
    cell: with more honest users than share the noise, as many, and fewer.
    """
    noise, first, second = law(design)
    whole = sum(noise.values())
    others = {key: p / whole for key, p in noise.items()}
    users: Law = {tuple([0] * len(next(iter(first)))): 1.0}
    # A share of a split sum holds its datum; elsewhere the own message comes beside the noise.
    for _ in range(honest - (design.protocol == "split_sum")):
        users = added(users, others)
    for epsilon in ("1/5", "1", "3"):
        stick = largest_stick(added(users, first), added(users, second), epsilon)
        assert stick <= float(design.delta(epsilon, honest)) * (1 + 1e-9) + 1e-13


def zero_preserving_by_hand(design: Design) -> tuple[Law, Law, Law]:
    sends = 1 - float(Fraction(design.noise))
    noise = {
        sent: math.prod(sends if one else 1 - sends for one in sent)
        for sent in itertools.product((0, 1), repeat=design.size)
    }
    return noise, {(1, 0, 0): 1.0}, {(0, 1, 0): 1.0}


def paired_bins_by_hand(design: Design) -> tuple[Law, Law, Law]:
    share = nbinom(1 / design.n_honest_design, -math.expm1(-float(Fraction(design.noise))))
    chance, most = (
        float(design.parameter("clump_probability")),
        int(design.parameter("largest_clump")),
    )
    weights = [1 / pairs for pairs in range(1, most + 1)]
    clumps = [1 - chance, *(chance * weight / sum(weights) for weight in weights)]
    one: defaultdict[tuple[int, int], float] = defaultdict(float)
    room = range(design.slots)
    for minus, plus, pairs in itertools.product(room, room, range(most + 1)):
        if minus + plus + 2 * pairs < design.slots:
            signs = float(share.pmf(minus) * share.pmf(plus)) * clumps[pairs]
            one[minus + pairs, plus + pairs] += signs
    law: defaultdict[tuple[int, ...], float] = defaultdict(float)
    for (first, p), (second, q) in itertools.product(one.items(), repeat=2):
        if sum(first) + sum(second) < design.slots:
            law[first + second] += p * q
    return dict(law), {(0, 1, 0, 0): 1.0}, {(0, 0, 0, 1): 1.0}


@pytest.mark.parametrize(
    ("design", "by_hand"),
    [
        (Design("histogram", 3, "1/3", (), 4), zero_preserving_by_hand),
        (Design("paired_histogram", 2, "2", ("1/3", "1", "2"), 5), paired_bins_by_hand),
    ],
)
def test_no_histogram_by_hand_is_taken_that_its_devices_do_not_keep(
    design: Design, by_hand: Any
) -> None:
    """The protocol: a task MUST be refused unless its honest users keep the promise "by the exact
    accountant": against what its devices send in all bins, cell by cell, with noise drawn again.
    """
    noise, first, second = by_hand(design)
    whole = sum(noise.values())
    users: Law = {tuple([0] * len(next(iter(first)))): 1.0}
    for honest in (1, 2, 3):
        users = added(users, {key: p / whole for key, p in noise.items()})
        for epsilon in ("1/5", "1", "3"):
            stick = largest_stick(added(users, first), added(users, second), epsilon)
            assert stick <= float(design.delta(epsilon, honest)) * (1 + 1e-9) + 1e-13


@pytest.mark.parametrize(
    ("changes", "word"),
    [
        ({"bounds": ("0", "1e400")}, "bounds from -1e100"),
        ({"bounds": ("-1e999", "1e999")}, "bounds from -1e100"),
        ({"bounds": ("-1.7e308", "0")}, "bounds from -1e100"),
        ({"budget_epsilon": "1e999"}, "1e300"),
    ],
)
def test_a_task_whose_results_have_no_number_is_refused(changes: dict[str, Any], word: str) -> None:
    with pytest.raises(InvalidParameter, match=word):
        replace(small_task("real_sum"), **changes)


def test_a_task_that_is_refused_leaves_no_keys_and_is_made_at_the_next_try(tmp_path: Path) -> None:
    asked: dict[str, Any] = {"epsilon": "4", "delta": "0.01", "min_batch": 12}
    asked |= {"issuer_url": "http://127.0.0.1:8603", "origin": "127.0.0.1", "size": 2}
    with pytest.raises(InvalidParameter, match="two bounds"):
        agree_on_one_host(tmp_path, "real_sum", bounds=("1", "0"), **asked)
    assert list(tmp_path.iterdir()) == []
    task = agree_on_one_host(tmp_path, "real_sum", bounds=("0", "1"), **asked)
    keys = (tmp_path / "issuer" / "secrets.json").read_bytes()
    with pytest.raises(InvalidData, match="exists"):
        agree_on_one_host(tmp_path, "real_sum", bounds=("0", "1"), **asked)
    assert (tmp_path / "issuer" / "secrets.json").read_bytes() == keys
    assert (tmp_path / "task.json").read_bytes() == task.encoded


def test_numbers_at_the_largest_bounds_have_a_mean(tmp_path: Path) -> None:
    world = PartyWorld(tmp_path, small_task("real_sum", size=2, bounds=("-1e100", "1e100")))
    world.open_window()
    world.send_many(12, (1,))
    document = world.finish(12)
    assert document["state"] == "RELEASED"
    assert abs(document["mean"] - 1e100) <= document["error_of_mean"] < 1e101
    world.close()
