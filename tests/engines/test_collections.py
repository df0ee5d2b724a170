"""Attacks on collections with one key: what is between two of them is noise, never the truth.

Each pair of collections differs in one thing. If their noise were the same, the difference of
their totals would be (about) that of the data; it must have the variance of two noises.
"""

from __future__ import annotations

import inspect
import itertools
import pickle
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cache, partial
from typing import Any

import numpy as np
import pytest

from smoothdp.engines import KeyedRandom, randomized_counts, run_here
from smoothdp.engines.collection import MarkRows, job_name, require_distinct
from smoothdp.engines.job import Job, Run
from smoothdp.errors import InvalidData, InvalidParameter, OutOfReach
from smoothdp.shuffle import BooleanSum, Histogram, LowCommunicationHistogram, RealSum

KEY = bytes(range(32))
N = 200
PAIRS = 300
PROTOCOL = BooleanSum(N, expected_random_users=60)
DATA = (np.arange(N) % 3 == 0).astype(np.int64)


@dataclass(frozen=True, eq=False)
class Collection:
    """What a caller says of a collection."""

    protocol: Any = PROTOCOL
    data: Any = field(default_factory=lambda: DATA)
    users: Any = field(default_factory=lambda: np.arange(N))
    key: bytes = KEY
    column: str = "smokes"
    window: int = 0

    def ones(self, number: int) -> int:
        """Return the total of one of many repetitions, whose windows are apart."""
        found = randomized_counts(
            run_here([[self.users, self.data]]),
            self.protocol,
            key=self.key,
            column=self.column,
            window=self.window + 10 * number,
        )
        return int(found.messages[1])


FIRST = Collection()
CHANGED = np.where(np.arange(N) == 17, 1 - DATA, DATA)
SWAPPED = DATA[[1, 0, *range(2, N)]]
OTHERS = {
    "column": replace(FIRST, column="drinks"),
    "column and data": replace(FIRST, column="drinks", data=np.roll(DATA, 1)),
    "window": replace(FIRST, window=1),
    "key": replace(FIRST, key=bytes(32)),
    "parameters": replace(FIRST, protocol=BooleanSum(N, expected_random_users=61)),
    "one bit": replace(FIRST, protocol=RealSum(N, expected_random_users=60, n_bits=1)),
    "one datum": replace(FIRST, data=CHANGED),
    "two data exchanged": replace(FIRST, data=SWAPPED),
    "codes": replace(FIRST, data=1 - DATA),
    "one user": replace(FIRST, users=np.array([*range(N - 1), 7777])),
    "one user absent": replace(
        FIRST,
        protocol=BooleanSum(N - 1, expected_random_users=60),
        users=np.arange(N - 1),
        data=DATA[:-1],
    ),
    "names as texts": replace(FIRST, users=np.arange(N).astype(str)),
}


def spread(one: Callable[[int], int], two: Callable[[int], int], truth: int) -> float:
    """Return the mean square of (difference - truth), where two independent noises give 1."""
    q = PROTOCOL.flip_probability
    expected = float(2 * N * q * (1 - q))
    gaps = [one(number) - two(number) - truth for number in range(PAIRS)]
    return sum(gap * gap for gap in gaps) / PAIRS / expected


# A mean of 300 squares of about normal numbers has deviation sqrt(2/300) = .082: 6 of them.
LEAST, MOST = 0.51, 1.49


@cache
def first_ones(number: int) -> int:
    """Return a total of the collection with which all others are compared."""
    return FIRST.ones(number)


@pytest.mark.parametrize("what", OTHERS)
def test_the_noise_of_two_collections_does_not_cancel(what: str) -> None:
    """False alarms: below 10^-8 for each; noise is a function of fixed keys."""
    other = OTHERS[what]
    truth = int((np.asarray(FIRST.data).sum()) - np.asarray(other.data).sum())
    mean = truth * float(1 - 2 * PROTOCOL.flip_probability)
    assert LEAST < spread(first_ones, other.ones, round(mean)) < MOST


@cache
def shared_ones(collection: Collection, number: int) -> int:
    """Return a total whose noise is derived from the user and the window alone."""
    total, name = 0, b"window %d" % number
    for user, bit in zip(collection.users, collection.data, strict=True):
        rng = KeyedRandom(KEY, collection=name, user=int(user))
        total += collection.protocol.randomize(int(bit), rng=rng)[0]
    return total


@pytest.mark.parametrize(
    "what",
    [
        "one datum",
        *(
            pytest.param(what, marks=pytest.mark.slow)
            for what in ("column", "two data exchanged", "one user absent")
        ),
    ],
)
def test_noise_derived_from_the_user_alone_is_found(what: str) -> None:
    """The check has teeth: it rejects what the derivation once was."""
    other = OTHERS[what]
    truth = int(np.asarray(FIRST.data).sum() - np.asarray(other.data).sum())
    assert spread(partial(shared_ones, FIRST), partial(shared_ones, other), truth) < LEAST


def test_two_columns_of_a_histogram() -> None:
    """Its noise does not depend on the datum: shared, the difference was the truth every time."""
    protocol = Histogram(N, n_bins=4, omission_probability="0.3")
    a, b = np.arange(N) % 4, (np.arange(N) // 7) % 4
    truth = np.bincount(a, minlength=4) - np.bincount(b, minlength=4)
    hits = 0
    for window in range(30):
        one, two = (
            randomized_counts(
                run_here([[np.arange(N), data]]), protocol, key=KEY, column=name, window=window
            ).messages
            for name, data in (("a", a), ("b", b))
        )
        hits += int((one - two == truth).sum())
    # Of 120 differences each is right with probability below .05 (deviation sqrt(84) = 9.2).
    assert hits < 25


def test_a_real_number_and_its_bits() -> None:
    one = RealSum(N, expected_random_users=60, n_bits=2)
    two = RealSum(N, expected_random_users=60, n_bits=3)
    half, totals = np.full(N, 0.5), []
    for protocol in (one, two):
        found = randomized_counts(
            run_here([[np.arange(N), half]]), protocol, key=KEY, column="x", window=0
        )
        totals.append(found.messages[1] / protocol.n_bits)
    assert totals[0] != totals[1]


# ---- the same job is the same --------------------------------------------------------------


@pytest.mark.parametrize(
    ("protocol", "kinds"),
    [
        (PROTOCOL, [DATA, DATA.astype(bool), DATA.astype(float), DATA.astype(np.int8)]),
        (
            RealSum(N, expected_random_users=60, n_bits=3),
            [np.arange(N) / 256, np.array([Fraction(i, 256) for i in range(N)], dtype=object)],
        ),
        (
            Histogram(N, n_bins=4, omission_probability="0.3"),
            [np.arange(N) % 4, (np.arange(N) % 4).astype(np.uint8)],
        ),
    ],
)
def test_a_retry_gives_the_same(protocol: Any, kinds: list[Any]) -> None:
    """In any order, split and type of the same data: otherwise a retry were a second draw."""
    source, found = np.random.default_rng(1), set()
    for data in kinds:
        for parts in (1, 3):
            order = source.permutation(N)
            split = [[order[rows], data[order[rows]]] for rows in np.array_split(range(N), parts)]
            for users in ("check", "unique"):
                counts = randomized_counts(
                    run_here(split), protocol, key=KEY, column="x", window=3, users=users
                ).messages
                found.add(tuple(counts.tolist()))
    assert len(found) == 1


def test_nothing_that_tells_collections_apart_has_a_default() -> None:
    parameters = inspect.signature(randomized_counts).parameters
    for name in ("key", "column", "window"):
        assert parameters[name].default is inspect.Parameter.empty, name
    for name in ("key", "collection", "user"):
        found = inspect.signature(KeyedRandom.__init__).parameters[name]
        assert found.default is inspect.Parameter.empty, name


def test_names_of_jobs_are_apart() -> None:
    protocols: list[Any] = [
        BooleanSum(9, expected_random_users=3),
        BooleanSum(9, expected_random_users="3.5"),
        BooleanSum(10, expected_random_users=3),
        RealSum(9, expected_random_users=3, n_bits=1),
        RealSum(9, expected_random_users=3, n_bits=2),
        Histogram(9, n_bins=2, omission_probability="0.3"),
        Histogram(9, n_bins=3, omission_probability="0.3"),
        Histogram(9, n_bins=3, omission_probability="0.31"),
    ]
    columns = ["a", "b", "a ", "a1", "awindow=1", "window=1", "a\0b", "n_bits=2", "é", "e\u0301"]
    windows = [0, 1, 11, 1 << 64 - 1]
    names = {
        job_name(protocol, column=column, window=window)
        for protocol, column, window in itertools.product(protocols, columns, windows)
    }
    assert len(names) == len(protocols) * len(columns) * len(windows)


def test_the_promise_does_not_change_what_is_sent() -> None:
    from smoothdp import ApproxDP

    calibrated = BooleanSum.calibrate(100, guarantee=ApproxDP(1, delta="1e-6"), honest_share=1)
    same = BooleanSum(100, expected_random_users=calibrated.expected_random_users)
    assert job_name(calibrated, column="a", window=0) == job_name(same, column="a", window=0)


def test_all_small_data_have_marks_of_their_own() -> None:
    """All 3^4 data of four users, in any order: equal marks are equal data."""
    protocol = Histogram(4, n_bins=3, omission_probability="0.3")
    work = MarkRows(protocol, KEY, b"job", with_users=True)
    marks: dict[tuple[int, ...], int] = {}
    for data in itertools.product(range(3), repeat=4):
        rows = list(enumerate(data))
        for order in itertools.permutations(rows):
            users, values = (np.array(column) for column in zip(*order, strict=True))
            found = work([users[:2], values[:2]]) + work([users[2:], values[2:]])
            assert marks.setdefault(data, found.data_mark) == found.data_mark
    assert len(set(marks.values())) == 81
    assert all(0 < mark < 1 << 256 for mark in marks.values())
    other = MarkRows(protocol, bytes(32), b"job", with_users=True)
    assert other([users, values]).data_mark != marks[data]


def test_marks_add_up_over_any_split() -> None:
    """The sum in limbs against whole numbers of Python."""
    protocol = BooleanSum(500, expected_random_users=3)
    work = MarkRows(protocol, KEY, b"job", with_users=False)
    users, bits = np.arange(500), np.arange(500) % 2
    single = sum(work([users[i : i + 1], bits[i : i + 1]]).data_mark for i in range(500))
    assert work([users, bits]).data_mark == single % (1 << 256)
    assert work([users[:0], bits[:0]]).data_mark == 0


# ---- what is refused -----------------------------------------------------------------------


def changing(*passes: Any) -> Run:
    """Return a run over other rows in each pass, as a lazy frame with fresh noise gives."""
    rest = list(passes)

    def run(job: Job[Any], /) -> Any:
        return run_here([rest.pop(0)])(job)

    return run


def test_rows_that_change_between_passes_are_refused() -> None:
    users = np.arange(N)
    for second in (CHANGED, SWAPPED):
        with pytest.raises(InvalidData, match="the same rows in every pass"):
            randomized_counts(
                changing([users, DATA], [users, second]), PROTOCOL, key=KEY, column="x", window=0
            )
    order = np.random.default_rng(2).permutation(N)
    run = changing([users, DATA], [users[order], DATA[order]])
    assert randomized_counts(run, PROTOCOL, key=KEY, column="x", window=0).n_users == N


@pytest.mark.parametrize("parts", [1, 2, 50])
def test_a_user_with_two_rows_is_refused(parts: int) -> None:
    """With them, a user would count twice, under the noise of one."""
    users = np.array([*range(N - 1), 5])
    split = [[users[rows], DATA[rows]] for rows in np.array_split(np.arange(N), parts)]
    names: dict[str, Any] = {"key": KEY, "column": "x", "window": 0}
    with pytest.raises(InvalidData, match="one row per user; got a user with two"):
        randomized_counts(run_here(split), PROTOCOL, **names)
    assert randomized_counts(run_here(split), PROTOCOL, **names, users="unique").n_users == N


def test_more_users_than_can_be_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("smoothdp.engines.collection.MOST_CHECKED", N - 1)
    half = [[np.arange(N)[rows], DATA[rows]] for rows in np.array_split(np.arange(N), 2)]
    names: dict[str, Any] = {"key": KEY, "column": "x", "window": 0}
    for parts in (half, [[np.arange(N), DATA]]):
        with pytest.raises(OutOfReach, match="users='unique'"):
            randomized_counts(run_here(parts), PROTOCOL, **names)
        assert randomized_counts(run_here(parts), PROTOCOL, **names, users="unique").n_users == N


def test_distinct_marks_pass() -> None:
    require_distinct(np.arange(5, dtype=np.uint64))
    require_distinct(np.zeros(0, dtype=np.uint64))


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"column": ""}, "column, the name of what is collected"),
        ({"column": "  "}, "share their noise"),
        ({"column": None}, "column"),
        ({"column": 7}, "column"),
        ({"window": None}, "window"),
        ({"window": -1}, "window"),
        ({"window": 1 << 64}, "window"),
        ({"key": b"short"}, "32 bytes"),
        ({"users": "any"}, "users='check' or users='unique'"),
        ({"protocol": object()}, "BooleanSum, RealSum, LowCommunicationHistogram or Histogram"),
    ],
)
def test_names_that_are_none(changed: dict[str, Any], says: str) -> None:
    fields: dict[str, Any] = {"protocol": PROTOCOL, "key": KEY, "column": "x", "window": 0}
    with pytest.raises(InvalidParameter, match=says):
        randomized_counts(run_here([[np.arange(N), DATA]]), **fields | changed)


def test_bits_without_a_name_are_refused() -> None:
    bad: tuple[Any, ...] = (b"", "tea", None, 7)
    for collection in bad:
        with pytest.raises(InvalidParameter, match="the noise of two collections cancels"):
            KeyedRandom(KEY, collection=collection, user=1)


def test_a_histogram_too_large_to_list() -> None:
    protocol = Histogram(N, n_bins=10**18, omission_probability="0.3")
    with pytest.raises(OutOfReach, match="at most"):
        randomized_counts(run_here([[np.arange(N), DATA]]), protocol, key=KEY, column="x", window=0)


def test_marks_can_be_sent() -> None:
    work = MarkRows(PROTOCOL, KEY, b"job", with_users=True)
    again = pickle.loads(pickle.dumps(work))
    columns = [np.arange(N), DATA]
    assert again(columns).data_mark == work(columns).data_mark


# ---- rare noise ----------------------------------------------------------------------------


@pytest.mark.parametrize("catch_all", [False, True])
def test_rare_noise_is_counted_without_its_dummies(catch_all: bool) -> None:
    """In whatever parts, each user sends the own bin and little more; others have a bin."""
    users = np.arange(400)
    data = np.array([user % 3 for user in range(400)])
    protocol = LowCommunicationHistogram(
        400, n_bins=4, noise_probability="1/50", n_slots=4, catch_all=catch_all
    )
    outside = data.copy()
    outside[:40] = 17
    seen = []
    for cuts in ([400], [100, 300]):
        starts = np.cumsum([0, *cuts])
        parts = [
            [users[a:b], (outside if catch_all else data)[a:b]]
            for a, b in itertools.pairwise(starts)
        ]
        found = randomized_counts(run_here(parts), protocol, key=KEY, column="x", window=0)
        seen.append(found.messages)
        assert found.messages.shape == (4,)
    assert (seen[0] == seen[1]).all()
    truth = np.bincount(data, minlength=4)
    if catch_all:
        truth = np.bincount(np.where(outside > 3, 3, outside), minlength=4)
    # Noise of Bin(400, 1/50) a bin: above 40 with probability below 1e-15.
    assert ((seen[0] >= truth) & (seen[0] <= truth + 40)).all()
    assert seen[0].sum() > 400
    protocol.estimate_counts(seen[0])
    if not catch_all:
        parts = [[users, outside]]
        with pytest.raises(InvalidData, match=r"0\.\.3"):
            randomized_counts(run_here(parts), protocol, key=KEY, column="x", window=0)
