"""Every protocol in the engine: the messages of each user once, in whatever parts the rows come.

What the engine leaves out (dummies, the order of envelopes, shares that only split a number) is
put back here by the literal protocol: each user's `randomize`, from the same keyed bits.
"""

from __future__ import annotations

import itertools
import pickle
from collections import Counter
from collections.abc import Sequence
from dataclasses import fields
from typing import Any

import numpy as np
import pytest

import smoothdp as sd
from smoothdp.engines import KeyedRandom, collect, randomized_counts, run_here
from smoothdp.engines.collecting.marked_rows import MarkedRows, marked_rows
from smoothdp.engines.collecting.string_levels import level_name
from smoothdp.engines.collection import job_name, read_rows
from smoothdp.engines.job import Job, Run, merged
from smoothdp.errors import InvalidData, InvalidParameter
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

KEY = bytes(range(32))
N = 6
SAID: dict[str, Any] = {"key": KEY, "column": "x", "window": 3}
USERS = [7, "7", b"7", "\ud800", 10**30, ""]


def objects(values: Sequence[Any]) -> np.ndarray[Any, Any]:
    """Return an array of objects, tuples and texts with zeros at their end as they are."""
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


PAIRED = PairedCount(N, noise_rate="1/2", clump_probability="1/3", largest_clump=3, slots=50)
SIGNS = PairedHistogram(
    N,
    n_bins=3,
    noise_rate="1/2",
    clump_probability="1/3",
    largest_clump=2,
    slots=99,
    catch_all=True,
)
BITS = SplitSum(N, noise_epsilon=1, n_shares=4, modulus_bits=8)
REALS = SplitSum(N, noise_epsilon=1, resolution=5, n_shares=5, modulus_bits=12)
RARE = LowCommunicationHistogram(
    N, n_bins=4, noise_probability="1/3", false_positive="9/10", n_slots=4, catch_all=True
)
TREE = PrefixTree(
    N, n_levels=2, noise_probability="1/50", most_candidates=3, false_positive="9/10", n_slots=60
)
FEW = PrefixTree(N, n_levels=3, fan_out=2, noise_probability="1/3", false_positive="9/10")
ONES = [1, 0, 1, 1, 0, 1]
BINS = [0, 1, 1, 2, 77, -3]
TEXTS = ["ab", "ab", "ab", b"ab", "", "\ud800"]
SYMBOLS = [(0, 1, 1), (0, 1, 1), [0, 1, 1], (1, 0, 2), None, 7]
COUNTED: list[tuple[Any, list[Any]]] = [
    (BooleanSum(N, expected_random_users=3), ONES),
    (ZeroPreservingCount(N, omission_probability="1/3"), ONES),
    (RealSum(N, expected_random_users=3, n_bits=3), [0.1, 0.5, 1.0, 0.0, 0.25, 0.75]),
    (Histogram(N, n_bins=3, omission_probability="1/3", catch_all=True), BINS),
    (RARE, BINS),
    (PAIRED, ONES),
    (SIGNS, BINS),
]
OTHERS: list[tuple[Any, list[Any]]] = [
    (BITS, ONES),
    (REALS, [0.1, 0.5, 1.0, 0.0, 0.25, 0.75]),
    (TREE, TEXTS),
    (FEW, SYMBOLS),
]
ALL = COUNTED + OTHERS


def sent(parts: Sequence[Any]) -> Run:
    """Return a run whose jobs and parts are pickled on the way, as they are to other machines."""
    kept = [[np.asarray(column) for column in columns] for columns in parts]

    def run(job: Job[Any], /) -> Any:
        results = [
            pickle.loads(pickle.dumps(pickle.loads(pickle.dumps(job.of))(columns)))
            for columns in kept
        ]
        return merged(results, job)

    return run


def cut(data: list[Any], order: Sequence[int], ends: Sequence[int]) -> list[list[Any]]:
    """Return partitions of the rows in an order, cut before some places."""
    edges = [0, *ends, len(order)]
    return [
        [objects([USERS[i] for i in order[a:b]]), objects([data[i] for i in order[a:b]])]
        for a, b in itertools.pairwise(edges)
    ]


def whole(data: list[Any]) -> list[list[Any]]:
    return cut(data, range(len(data)), [])


def rows_of(protocol: Any, data: list[Any]) -> MarkedRows[Any]:
    return marked_rows(run_here(whole(data)), protocol, users="check", n_answered=None, **SAID)


def rng_of(name: bytes, user: Any) -> KeyedRandom:
    return KeyedRandom(KEY, collection=name, user=user)


# ---- the literal protocol ----------------------------------------------------------------------


@pytest.mark.parametrize(("protocol", "data"), COUNTED)
def test_counts_are_those_of_every_user_literally(protocol: Any, data: list[Any]) -> None:
    name, literal = rows_of(protocol, data).noise_name(), Counter[int]()
    for user, datum in zip(USERS, data, strict=True):
        literal.update(protocol.randomize(datum, rng=rng_of(name, user)))
    found = randomized_counts(run_here(whole(data)), protocol, **SAID).messages.tolist()
    of_zeros = {0} if isinstance(protocol, ZeroPreservingCount) else set()
    dummies = {value for value in literal if value >= len(found)} | of_zeros
    beyond = {value: literal.pop(value) for value in dummies if value in literal}
    assert {value: count for value, count in enumerate(found) if count} == dict(literal)
    # What is left are dummies: of one kind, and as many as fill the envelopes.
    assert len(beyond) <= 1
    if beyond:
        assert sum(beyond.values()) + sum(found) == N * protocol.slots_per_user


@pytest.mark.parametrize(("protocol", "data"), COUNTED)
def test_a_release_is_what_the_analyser_makes_of_the_messages(
    protocol: Any, data: list[Any]
) -> None:
    name = rows_of(protocol, data).noise_name()
    messages = [
        message
        for user, datum in zip(USERS, data, strict=True)
        for message in protocol.randomize(datum, rng=rng_of(name, user))
    ]
    assert collect(run_here(whole(data)), protocol, **SAID).value == protocol.analyze(messages)


@pytest.mark.parametrize(("protocol", "data"), OTHERS[:2])
def test_a_split_sum_is_that_of_all_shares(protocol: SplitSum, data: list[Any]) -> None:
    for window in range(20):
        said = SAID | {"window": window}
        rows = marked_rows(run_here(whole(data)), protocol, users="check", n_answered=None, **said)
        shares = [
            share
            for user, datum in zip(USERS, data, strict=True)
            for share in protocol.randomize(datum, rng=rng_of(rows.noise_name(), user))
        ]
        found = collect(run_here(whole(data)), protocol, **said).value
        assert found == protocol.analyze(shares)


@pytest.mark.parametrize(("tree", "data"), OTHERS[2:])
def test_a_tree_is_that_of_all_envelopes(tree: PrefixTree, data: list[Any]) -> None:
    rows = rows_of(tree, data)

    def ask(level: int, prefixes: Any) -> Any:
        name = level_name(rows, level, prefixes)
        messages = [
            message
            for user, string in zip(USERS, data, strict=True)
            for message in tree.randomize(
                string, level=level, survivors=prefixes, rng=rng_of(name, user)
            )
        ]
        assert len(messages) == N * tree.n_slots
        return tree.round(level, prefixes).analyze(messages)

    found = collect(run_here(whole(data)), tree, **SAID).value
    assert found == tree.climb(ask)
    assert found.counts


# ---- however the rows come ---------------------------------------------------------------------


@pytest.mark.parametrize(("protocol", "data"), ALL)
def test_results_do_not_depend_on_the_cut(protocol: Any, data: list[Any]) -> None:
    """All 32 cuts of six rows, in four orders, with empty parts and jobs that are sent away."""
    source = np.random.default_rng(4)
    expected = collect(run_here(whole(data)), protocol, **SAID)
    cuts = [ends for k in range(N) for ends in itertools.combinations(range(1, N), k)]
    for number, ends in enumerate(cuts):
        order = range(N) if number < 2 else source.permutation(N).tolist()
        parts = cut(data, order, ends)
        if number % 3 == 0:
            parts.insert(number % 2, [objects([]), objects([])])
        found = collect((sent if number % 4 == 1 else run_here)(parts), protocol, **SAID)
        assert found == expected


def test_a_missing_neighbour_does_not_move_a_user_to_another_bin() -> None:
    """Whole numbers beside a missing one come as floats, in the parts where there is one."""
    users, bins = np.arange(N), [0, 1, 1, 2, 2, None]
    together = [[users, np.array([0, 1, 1, 2, 2, np.nan])]]
    apart = [[users[:5], np.array(bins[:5])], [users[5:], np.array([np.nan])]]
    as_objects = [[users, objects(bins)]]
    for protocol in (RARE, SIGNS):
        found = [collect(run_here(parts), protocol, **SAID) for parts in (together, apart)]
        assert found[0] == found[1] == collect(run_here(as_objects), protocol, **SAID)


def test_equal_strings_of_other_types_are_the_same_rows() -> None:
    texts: list[list[Any]] = [["ab", "c", "", "ab", "ab", "ab"]]
    texts.append([text.encode() for text in texts[0]])
    texts.append([tuple(text.encode().ljust(2, b"\0")) for text in texts[0]])
    texts.append([list(string) for string in texts[2]])
    found = [collect(run_here(whole(data)), TREE, **SAID).value for data in texts]
    array = np.array([list(string) for string in texts[2]])
    found.append(collect(run_here([[objects(USERS), array]]), TREE, **SAID).value)
    assert all(one == found[0] for one in found)
    assert "ab" in found[0].texts()


@pytest.mark.parametrize("string", ["too long", b"\xff\xfe\xfd", None, 7, 1.5, (1, 256), [True, 0]])
def test_strings_of_no_tree_are_other(string: Any) -> None:
    """All of them are one bin, so that their noise is that of the rest of the data."""
    data = ["ab", "ab", "ab", "ab", "ab", string]
    expected = collect(run_here(whole([*data[:5], "other"])), TREE, **SAID)
    assert collect(run_here(whole(data)), TREE, **SAID) == expected


def test_paired_histograms_have_a_bin_of_all_other_values() -> None:
    """No value is refused, wherever the protocol runs; without the bin it is."""
    rng = sd.SeededRandom(1)
    counts = SIGNS.release(BINS, rng=rng).value
    # Three users in the last bin, within the noise of a bin.
    assert abs(counts[2] - 3) <= SIGNS.error("1/1000")
    for kept in (SIGNS.answered(5), pickle.loads(pickle.dumps(SIGNS))):
        assert kept.bin_of("anything") == 2
    made = {name: getattr(SIGNS, name) for name in ("noise_rate", "clump_probability", "slots")}
    refuses = PairedHistogram(N, n_bins=3, largest_clump=2, **made)
    for datum in (3, -1, None, 1.5, "UA"):
        assert len(SIGNS.randomize(datum, rng=rng)) == SIGNS.slots_per_user  # type: ignore[arg-type]
        with pytest.raises(InvalidData):
            refuses.randomize(datum, rng=rng)  # type: ignore[arg-type]


# ---- names of noise ----------------------------------------------------------------------------


def test_the_name_of_the_noise_holds_every_parameter() -> None:
    """One parameter changed, and the name is another: also whom a SplitSum counts on."""
    tree = {
        "n_levels": 2,
        "noise_probability": "1/4",
        "fan_out": 4,
        "most_candidates": 3,
        "n_slots": 12,
    }
    pairs = {"noise_rate": 1, "clump_probability": "1/9", "largest_clump": 2, "slots": 80}
    signs = pairs | {"n_bins": 3}
    split = {"noise_epsilon": 1, "resolution": 2, "n_shares": 4, "modulus_bits": 9}
    changes: dict[Any, tuple[dict[str, Any], dict[str, Any]]] = {
        PairedCount: (
            pairs,
            {
                "noise_rate": "2",
                "clump_probability": "1/8",
                "largest_clump": 3,
                "slots": 81,
                "n_honest_design": 8,
            },
        ),
        PairedHistogram: (
            signs,
            {
                "noise_rate": "2",
                "clump_probability": "1/8",
                "largest_clump": 3,
                "slots": 81,
                "n_honest_design": 8,
                "n_bins": 4,
                "post_threshold": 1,
                "catch_all": True,
            },
        ),
        SplitSum: (
            split,
            {
                "noise_epsilon": 2,
                "resolution": 3,
                "n_shares": 5,
                "modulus_bits": 10,
                "honest_share": "1/2",
            },
        ),
        PrefixTree: (
            tree,
            {
                "n_levels": 3,
                "noise_probability": "1/5",
                "fan_out": 5,
                "most_candidates": 2,
                "n_slots": 11,
                "false_positive": "1/9",
            },
        ),
    }
    for kind, (same, others) in changes.items():
        protocols = [kind(9, **same), kind(10, **same)]
        protocols += [kind(9, **(same | {name: value})) for name, value in others.items()]
        names = {job_name(protocol, column="x", window=0) for protocol in protocols}
        assert len(names) == len(protocols), kind
        seen = {"n_users", "promise", "honest_share", *same, *others}
        assert {one.name for one in fields(kind) if one.init} <= seen, kind


def test_levels_and_survivors_have_noise_of_their_own() -> None:
    rows = rows_of(TREE, TEXTS)
    names = {
        level_name(rows, level, prefixes, who)
        for level in (1, 2)
        for prefixes in ([()], [], [(1,)], [(1,), (2,)], [(1, 2)], [(12,)])
        for who in ("all", "groups=2")
    }
    assert len(names) == 24
    assert rows.noise_name() not in names


@pytest.mark.parametrize(("protocol", "data"), ALL)
def test_a_retry_is_the_same_and_another_collection_is_not(protocol: Any, data: list[Any]) -> None:
    """Twice under one name: the same. Any other column, window, key or row: other noise."""

    def run(data: list[Any] = data, **changed: Any) -> Any:
        return collect(run_here(whole(data)), protocol, **(SAID | changed)).value

    for window in range(3):
        assert run(window=window) == run(window=window)
    windows = [run(window=window) for window in range(40)]
    assert any(value != windows[0] for value in windows)
    assert windows != [run(window=window, column="y") for window in range(40)]
    assert windows != [run(window=window, key=bytes(32)) for window in range(40)]
    # Two users exchange their data: the same counts, other noise.
    read = read_rows(protocol, objects(data)).tolist()
    other = next(place for place in range(1, N) if read[place] != read[0])
    swapped = [*data]
    swapped[0], swapped[other] = data[other], data[0]
    assert windows != [run(swapped, window=window) for window in range(40)]


def spread(one: SplitSum | PairedCount, two: SplitSum | PairedCount, pairs: int) -> float:
    """Return the mean square of the difference of two results on one set of rows."""
    users, ones = np.arange(one.n_users), np.arange(one.n_users) % 2
    gaps = []
    for window in range(pairs):
        values = [
            collect(run_here([[users, ones]]), protocol, key=KEY, column="x", window=window).value
            for protocol in (one, two)
        ]
        gaps.append((values[0] - values[1]) ** 2)
    return float(np.mean(gaps))


def test_two_parameters_do_not_share_their_noise() -> None:
    """Shared, their difference were (nearly) that of the data, here 0.

    The expected square is two variances; of 150 means about 1 / 6 off in one of 10^4 runs.
    """
    made: list[Any] = [
        SplitSum(8, noise_epsilon="1/2", n_shares=4, modulus_bits=9, honest_share=1),
        SplitSum(8, noise_epsilon="1/2", n_shares=4, modulus_bits=9, honest_share="7/8"),
        PairedCount(8, noise_rate="1/4", clump_probability="1/8", largest_clump=1, slots=200),
        PairedCount(8, noise_rate="1/4", clump_probability="1/8", largest_clump=1, slots=201),
    ]
    for one, two in (made[:2], made[2:]):
        assert spread(one, one, 3) == 0
        expected = one.mse() + two.mse()
        assert 0.5 * expected < spread(one, two, 150) < 1.6 * expected


# ---- users who stay away, come twice, or are alone -----------------------------------------------


@pytest.mark.parametrize(
    ("protocol", "data"), [case for case in ALL if case[0] not in (SIGNS, FEW)]
)
def test_users_who_stay_away_are_counted(protocol: Any, data: list[Any]) -> None:
    run = run_here(cut(data, [0, 1, 3, 4, 5], [2]))
    with pytest.raises(InvalidData, match="n_users=6 users; got 5"):
        collect(run, protocol, **SAID)
    if protocol in (BITS, REALS):
        # Made for six honest users, and five are fewer.
        with pytest.raises(InvalidData, match="at least 6 honest users"):
            collect(run, protocol, **SAID, n_answered=5)
        return
    found = collect(run, protocol, **SAID, n_answered=5)
    assert " of the 5 users follow the protocol" in found.condition
    fewer = protocol.answered(5)
    assert found == collect(run, fewer, **SAID)
    assert found.guarantee == fewer.guarantee
    for wrong in (4, 6):
        with pytest.raises(InvalidData, match=f"n_answered={wrong} users; got 5"):
            collect(run, protocol, **SAID, n_answered=wrong)
    nothing: list[Any] = [0, 7, -1, 2.5]
    for none in nothing:
        with pytest.raises(InvalidParameter, match="n_answered"):
            collect(run, protocol, **SAID, n_answered=none)


PROMISE = sd.ApproxDP(2, delta="1/100")
MADE: dict[str, tuple[Any, Any]] = {
    "PairedCount": (PairedCount.calibrate(200, guarantee=PROMISE), 1),
    "PairedHistogram": (
        PairedHistogram.calibrate(
            200, n_bins=2, guarantee=PROMISE, largest_clump=4, most_messages=9, most_slots=300
        ),
        1,
    ),
    "SplitSum": (SplitSum.calibrate(200, guarantee=PROMISE), 0.5),
    "PrefixTree": (
        PrefixTree.calibrate(200, guarantee=PROMISE, n_levels=1, fan_out=2, most_candidates=2),
        (1,),
    ),
    "LowCommunicationHistogram": (
        LowCommunicationHistogram.calibrate(200, n_bins=2, guarantee=PROMISE),
        1,
    ),
}


@pytest.mark.parametrize("kind", MADE)
def test_the_promise_holds_down_to_the_honest_users_and_says_so(kind: str) -> None:
    protocol, datum = MADE[kind]
    for n_answered in (200, 180, 179):
        run = run_here([[np.arange(n_answered), objects([datum] * n_answered)]])
        if n_answered == 179 and kind != "LowCommunicationHistogram":
            with pytest.raises(InvalidData, match="at least 180 honest users"):
                collect(run, protocol, **SAID, n_answered=n_answered)
            continue
        if n_answered == 179:
            continue
        found = collect(run, protocol, **SAID, n_answered=n_answered, label="tea")
        assert found.guarantee == PROMISE
        assert f"at least 180 of the {n_answered} users follow the protocol" in found.condition
        assert "who answers does not depend on what they hold or draw" in found.sentence()
        assert "nobody else learns the key" in found.sentence()
        assert found.is_private
        assert found.sentence().startswith("tea: ")


@pytest.mark.parametrize(("protocol", "data"), ALL)
def test_a_user_with_two_rows_is_refused(protocol: Any, data: list[Any]) -> None:
    users = objects([*USERS[:5], USERS[0]])
    for ends in ([], [5]):
        parts = [
            [users[a:b], objects(data)[a:b]] for a, b in itertools.pairwise([0, *ends, len(data)])
        ]
        with pytest.raises(InvalidData, match="one row per user; got a user with two"):
            collect(run_here(parts), protocol, **SAID)
        assert collect(run_here(parts), protocol, **SAID, users="unique").is_private


@pytest.mark.parametrize(("protocol", "data"), ALL)
def test_nobody(protocol: Any, data: list[Any]) -> None:
    del data
    empty = [objects([]), objects([])]
    for parts in ([empty], [empty, empty]):
        with pytest.raises(InvalidData, match="n_users=6 users; got 0"):
            collect(run_here(parts), protocol, **SAID)
    with pytest.raises(InvalidData, match="at least one partition"):
        collect(run_here([]), protocol, **SAID)


def test_one_user() -> None:
    alone: list[tuple[Any, Any, Any]] = [
        (
            PairedCount(1, noise_rate=1, clump_probability="1/9", largest_clump=1, slots=60),
            1,
            float,
        ),
        (SplitSum(1, noise_epsilon=1, n_shares=4, modulus_bits=9), 1, float),
        (
            PrefixTree(1, n_levels=1, fan_out=2, noise_probability="1/2", false_positive="9/10"),
            (1,),
            object,
        ),
    ]
    for protocol, datum, kind in alone:
        found = collect(run_here([[np.array(["ann"]), objects([datum])]]), protocol, **SAID)
        assert isinstance(found.value, kind)
        assert "at least 1 of the 1 users" in found.condition


# ---- what is refused ---------------------------------------------------------------------------


@pytest.mark.parametrize(("protocol", "data"), OTHERS[:2] + COUNTED[:3] + COUNTED[5:6])
def test_data_outside_the_domain_are_refused_unnamed(protocol: Any, data: list[Any]) -> None:
    for strange in (2.5, -7, "secret", None, np.nan):
        with pytest.raises(InvalidData) as refused:
            collect(run_here(whole([*data[:5], strange])), protocol, **SAID)
        assert "secret" not in str(refused.value)
        assert "2.5" not in str(refused.value)


def test_a_protocol_without_envelopes_is_refused_before_any_row() -> None:
    bare = PairedCount(N, noise_rate=1, clump_probability="1/9", largest_clump=1)
    with pytest.raises(InvalidParameter, match="envelopes of a fixed size"):
        collect(run_here([]), bare, **SAID)
    for protocol in (BITS, TREE):
        with pytest.raises(InvalidParameter, match=r"smoothdp\.engines\.collect"):
            randomized_counts(run_here([]), protocol, **SAID)  # type: ignore[arg-type]
    nothing: Any = "SplitSum"
    with pytest.raises(InvalidParameter, match="SplitSum, PrefixTree"):
        collect(run_here([]), nothing, **SAID)


@pytest.mark.parametrize(("protocol", "data"), ALL)
def test_rows_that_change_in_any_later_pass_are_refused(protocol: Any, data: list[Any]) -> None:
    other = [*data[:4], data[0], data[5]]
    passes = 2 if not isinstance(protocol, PrefixTree) else 1 + protocol.n_levels
    for changed in range(1, passes):
        seen: list[int] = []

        def run(job: Job[Any], /, seen: list[int] = seen, changed: int = changed) -> Any:
            seen.append(1)
            return run_here(whole(other if len(seen) == changed + 1 else data))(job)

        with pytest.raises(InvalidData, match="the same rows in every pass"):
            collect(run, protocol, **SAID)
        assert len(seen) == changed + 1
