"""Attacks on what is collected: oracles of fractions that share no code with the library."""

from __future__ import annotations

import copy
import dataclasses
import itertools
import json
import math
import pickle
import warnings
from collections.abc import Callable
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import smoothdp as sd
from smoothdp.cli.main import main

Law = dict[int, Fraction]
EPSILONS = ("0", "0.3", "1", "2.5")
GOAL = sd.ApproxDP(1, delta="1e-6")


def added(one: Law, two: Law) -> Law:
    """Return the law of the sum of two independent whole numbers."""
    law: Law = {}
    for (x, p), (y, s) in itertools.product(one.items(), two.items()):
        law[x + y] = law.get(x + y, Fraction(0)) + p * s
    return law


def binomial(n: int, p: Fraction, start: int = 0) -> Law:
    """Return the law of start + Bin(n, p)."""
    return {start + k: math.comb(n, k) * p**k * (1 - p) ** (n - k) for k in range(n + 1)}


def ones_of(datum: Fraction, r: int, q: Fraction) -> Law:
    """Return the law of one user's ones: r bits with this mean, rounded at random and flipped."""
    whole = int(r * datum)
    more = r * datum - whole
    law: Law = {}
    for count, weight in ((whole, 1 - more), (whole + 1, more)):
        if weight:
            found = added(binomial(count, 1 - q), binomial(r - count, q))
            law = {y: law.get(y, 0) + weight * found.get(y, 0) for y in law.keys() | found.keys()}
    return law


def hockey_stick(p: Law, q: Law, epsilon: str) -> float:
    """Return the excess of p over e^epsilon q, to 15 digits or so."""
    factor = Fraction(math.exp(float(epsilon)))
    return float(sum(max(Fraction(0), p[y] - factor * q.get(y, Fraction(0))) for y in p))


def agrees(found: float, truth: float) -> bool:
    """Whether a delta is the truth; the oracle's e^epsilon is a float."""
    return truth * (1 - 1e-12) <= found <= truth * (1 + 1e-9) + 1e-18


# ---- what held ------------------------------------------------------------------------------


@pytest.mark.parametrize(("n", "r", "noise"), [(2, 1, "1/10"), (3, 2, "1"), (3, 3, "27/10")])
def test_delta_of_a_sum_over_all_data(n: int, r: int, noise: str) -> None:
    """Also of numbers between the bits, and with some users known to the analyser."""
    protocol = sd.shuffle.RealSum(n, expected_random_users=noise, n_bits=r)
    q = Fraction(protocol.flip_probability)
    grid = [Fraction(i, 2 * r) for i in range(2 * r + 1)]
    laws = [ones_of(x, r, q) for x in grid]
    for honest in range(1, n + 1):
        worst = dict.fromkeys(EPSILONS, 0.0)
        for others in itertools.combinations_with_replacement(laws, honest - 1):
            rest: Law = {0: Fraction(1)}
            for law in others:
                rest = added(rest, law)
            views = [added(rest, law) for law in laws]
            for (p, s), epsilon in itertools.product(itertools.permutations(views, 2), EPSILONS):
                worst[epsilon] = max(worst[epsilon], hockey_stick(p, s, epsilon))
        for epsilon, truth in worst.items():
            assert agrees(protocol.profile(n_honest=honest).delta(epsilon), truth)


@pytest.mark.parametrize("gamma", ["1/2", "1/50"])
@pytest.mark.parametrize("sends_noise", [False, True])
def test_delta_of_counts_over_all_data(gamma: str, sends_noise: bool) -> None:
    n, d = 4, 2
    made: Any = (
        sd.shuffle.LowCommunicationHistogram(n, n_bins=d, noise_probability=gamma)
        if sends_noise
        else sd.shuffle.Histogram(n, n_bins=d, omission_probability=gamma)
    )
    p = Fraction(gamma) if sends_noise else 1 - Fraction(gamma)
    for honest, epsilon in itertools.product(range(1, n + 1), EPSILONS):
        noise, truth = binomial(honest, p), 0.0
        for first in range(honest):  # of the others, so many are in bin 0
            views = [
                {
                    1000 * (first + (mine == 0) + a) + honest - 1 - first + (mine == 1) + b: x * y
                    for (a, x), (b, y) in itertools.product(noise.items(), noise.items())
                }
                for mine in (0, 1)
            ]
            for one, two in itertools.permutations(views, 2):
                truth = max(truth, hockey_stick(one, two, epsilon))
        assert agrees(made.profile(n_honest=honest).delta(epsilon), truth)


@pytest.mark.parametrize("r", [1, 2, 3])
@pytest.mark.parametrize("noise", ["1/10", "2"])
def test_error_of_a_sum_over_all_data(r: int, noise: str) -> None:
    """Flips and rounding together; x = 1/2 in one bit is nothing but rounding."""
    n = 4
    protocol = sd.shuffle.RealSum(n, expected_random_users=noise, n_bits=r)
    q = Fraction(protocol.flip_probability)
    goals = [Fraction(1, 2), Fraction(1, 20), Fraction(1, 1000), Fraction(9, 10)]
    bounds = {goal: Fraction(protocol.error(goal, simultaneous=True)) for goal in goals}
    grid = sorted({Fraction(0), Fraction(1, 2 * r), Fraction(1, 2), Fraction(9, 10), Fraction(1)})
    for data in itertools.combinations_with_replacement(grid, n):
        law: Law = {0: Fraction(1)}
        for x in data:
            law = added(law, ones_of(x, r, q))
        off = {y: (y - n * r * q) / (r * (1 - 2 * q)) - sum(data) for y in law}
        assert sum(law[y] * off[y] for y in law) == 0
        assert sum(law[y] * off[y] ** 2 for y in law) <= Fraction(protocol.mse())
        for goal, bound in bounds.items():
            assert sum(law[y] for y in law if abs(off[y]) > bound) <= goal


@pytest.mark.parametrize("sends_noise", [False, True])
def test_error_of_all_bins_over_all_counts(sends_noise: bool) -> None:
    n, d, gamma = 6, 3, Fraction(1, 3)
    made: Any = (
        sd.shuffle.LowCommunicationHistogram(n, n_bins=d, noise_probability=gamma)
        if sends_noise
        else sd.shuffle.Histogram(n, n_bins=d, omission_probability=gamma)
    )
    p = gamma if sends_noise else 1 - gamma
    shown_above = made.threshold if sends_noise else n
    for goal in (Fraction(1, 2), Fraction(1, 20), Fraction(1, 10**6)):
        bound = Fraction(made.error(goal, simultaneous=True))

        def fails(true: int, bound: Fraction = bound) -> Fraction:
            def off(messages: int) -> Fraction:
                estimate = messages - n * p if messages > shown_above else Fraction(0)
                return abs(Fraction(estimate - true))

            return sum((w for z, w in binomial(n, p).items() if off(z + true) > bound), Fraction(0))

        for counts in itertools.product(range(n + 1), repeat=d):
            if sum(counts) == n:
                assert 1 - math.prod(1 - fails(count) for count in counts) <= goal


def test_no_changed_protocol_keeps_a_promise() -> None:
    protocol = sd.shuffle.Histogram.calibrate(300, n_bins=3, guarantee=GOAL, honest_share=1)
    changes: list[dict[str, Any]] = [
        {"omission_probability": "1/1000"},
        {"n_users": 200},
        {"promise": sd.ApproxDP("0.99", delta="1e-6")},
    ]
    for change in changes:
        with pytest.raises(sd.errors.InvalidParameter, match="Expected a promise"):
            dataclasses.replace(protocol, **change)
    assert protocol.answered(299).promise is None
    assert pickle.loads(pickle.dumps(protocol)) == protocol


@pytest.mark.parametrize("datum", [77345, 0.773451, -77345.5, "SECRET", b"SECRET", ["SECRET"]])
def test_no_exception_has_the_datum(datum: Any) -> None:
    protocols: list[Any] = [
        sd.shuffle.BooleanSum(5, expected_random_users=1),
        sd.shuffle.Histogram(5, n_bins=3, omission_probability="0.1"),
        sd.shuffle.ZeroPreservingCount(5, omission_probability="0.1"),
    ]
    for protocol in protocols:
        calls: list[tuple[Callable[..., Any], dict[str, Any]]] = [
            (protocol.randomize, {"datum": datum}),
            (protocol.release, {"data": [0, 0, 0, 0, datum]}),
            (protocol.release, {"counts": {0: 4, 1: datum}}),
        ]
        for call, arguments in calls:
            with pytest.raises(sd.errors.SmoothdpError) as caught:
                call(**arguments)
            link: BaseException | None = caught.value
            while link is not None:
                said = f"{link} {link.args!r} {vars(link)!r}"
                assert "77345" not in said
                assert "SECRET" not in said
                link = link.__cause__ or link.__context__


# ---- what broke ------------------------------------------------------------------------------


def collected(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], data: list[int], *more: str
) -> str:
    """Return what the command prints of a column of whole numbers."""
    file = tmp_path / "c.csv"
    file.write_text("v\n" + "".join(f"{value}\n" for value in data))
    main(["collect", str(file), "--column", "v", "--epsilon", "1", "--delta", "1e-6", *more])
    return capsys.readouterr().out


def test_the_printed_error_holds_far_from_zero(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Printed was: mean 1e+06 +- 0.0425, of data whose mean is 1000004.5."""
    data = [1_000_000 + i % 10 for i in range(2000)]
    out = collected(
        tmp_path, capsys, data, "--bounds", "1000000", "1000009", "--confidence", "0.999"
    )
    (words,) = (line.split() for line in out.splitlines() if line.startswith("mean "))
    assert abs(float(words[1]) - 1_000_004.5) <= float(words[3])


def test_the_error_in_json_holds_far_from_zero(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """All data are even floats: 1e16 and 1e16 + 2. The mean is 1e16 + 1, its error was 0.02."""
    data = [10**16 + 2 * (i % 2) for i in range(2000)]
    bounds = ("--bounds", str(10**16), str(10**16 + 2))
    found = json.loads(
        collected(tmp_path, capsys, data, *bounds, "--confidence", "0.999", "--json")
    )
    off = abs(Fraction(found["estimates"]["mean"]) - (10**16 + 1))
    assert off <= Fraction(found["error"])


@pytest.mark.parametrize("copies", [2, 4])
def test_a_batch_counted_several_times_is_noticed(copies: int) -> None:
    """334 of 1000 users became more than 1000, in silence; too few messages were noticed."""
    protocol = sd.shuffle.LowCommunicationHistogram(
        1000, n_bins=5, noise_probability="0.1", promise=GOAL
    )
    rng = sd.SeededRandom(1)
    messages = [m for user in range(1000) for m in protocol.randomize(user % 3, rng=rng)] * copies
    with pytest.warns(sd.errors.PrivacyWarning):
        protocol.analyze(messages)


def test_one_user_moves_no_more_than_is_said() -> None:
    """One user who sent 500 messages moved the count by 500; the sentence said 2, and no more.

    `analyze` cannot know whose messages they are: the sentence says what the shuffler must do.
    """
    protocol = sd.shuffle.ZeroPreservingCount(1000, omission_probability="0.1", promise=GOAL)
    assert protocol.liars_sentence().startswith(
        "One user who sends anything can move an estimate by 2,"
    )
    assert (
        "if the shuffler lets each user send no more than 2 messages" in protocol.liars_sentence()
    )
    rng = sd.SeededRandom(1)
    honest = [m for user in range(999) for m in protocol.randomize(user % 3 == 0, rng=rng)]
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # a refusal or a warning would do
        start = float(protocol.analyze(honest))
        for kept in (0, 1, 2):  # a shuffler that keeps the limit
            moved = float(protocol.analyze(honest + [1] * kept)) - start
            assert moved <= protocol.influence_of_one_liar
        assert float(protocol.analyze(honest + [1] * 500)) - start == 500
        with pytest.raises(sd.errors.PrivacyWarning, match="are more than 1000 users send"):
            protocol.analyze(honest + [1] * 762)


@pytest.mark.parametrize(
    "protocol",
    [
        sd.shuffle.BooleanSum(10, expected_random_users=2),
        sd.shuffle.LowCommunicationHistogram(10, n_bins=2, noise_probability="0.1"),
    ],
    ids=lambda protocol: type(protocol).__name__,
)
def test_a_protocol_can_be_replaced(protocol: Any) -> None:
    assert dataclasses.replace(protocol) == protocol


def test_a_promise_in_a_pickle_is_checked() -> None:
    """A pickle whose fields were edited stated (1, 1e-6) for five users."""
    protocol = sd.shuffle.Histogram.calibrate(300, n_bins=3, guarantee=GOAL, honest_share=1)
    object.__setattr__(protocol, "n_users", 5)
    try:
        read = pickle.loads(pickle.dumps(protocol))
    except sd.errors.SmoothdpError:
        return
    assert read.promise is None or read.profile().delta(1) <= 1e-6


@pytest.mark.parametrize("made", [sd.shuffle.Histogram, sd.shuffle.ZeroPreservingCount])
@pytest.mark.parametrize("silent", [1, 2, 99, 100, 101, 300, 700, 999])
def test_the_advice_of_the_sentence_can_be_followed(made: Any, silent: int) -> None:
    """It was to tolerate 300, of whom `analyze` takes 100 at most."""
    more = {"n_bins": 5} if made is sd.shuffle.Histogram else {}
    protocol = made(1000, omission_probability="0.1", promise=GOAL, **more)
    said = protocol.liars_sentence(silent)
    rng = sd.SeededRandom(7)
    seen = [m for user in range(1000 - silent) for m in protocol.randomize(user % 2, rng=rng)]
    for advised, option in (
        ("(n_answered=)" in said, {"n_answered": 1000 - silent}),
        (f"(tolerated={silent})" in said, {"tolerated": silent}),
    ):
        if advised:
            protocol.analyze(seen, **option)
        else:
            with pytest.raises(sd.errors.SmoothdpError):
                protocol.analyze(seen, **option)


# ---- the kind of what broke ------------------------------------------------------------------


KINDS: dict[Any, dict[str, Any]] = {
    sd.shuffle.BooleanSum: {},
    sd.shuffle.RealSum: {"n_bits": 3},
    sd.shuffle.ZeroPreservingCount: {},
    sd.shuffle.Histogram: {"n_bins": 3},
    sd.shuffle.LowCommunicationHistogram: {"n_bins": 3, "false_positive": "1/7"},
}
OTHER_PROMISES = {"pure": sd.PureDP(1), "Gaussian": sd.GaussianDP("0.5")}


@cache
def made(kind: Any, way: str) -> Any:
    """Return a protocol calibrated, without a promise, promised, and as fewer users ran it."""
    match way:
        case "calibrated":
            return kind.calibrate(300, guarantee=GOAL, honest_share=1, **KINDS[kind])
        case "bare":
            return dataclasses.replace(made(kind, "calibrated"), promise=None)
        case "promised":
            return dataclasses.replace(made(kind, "bare"), promise=sd.ApproxDP(2, delta="1e-3"))
        case "answered":
            return made(kind, "promised").answered(290)
        case _:
            return kind.calibrate(50, guarantee=OTHER_PROMISES[way], honest_share=1)


MADE = [(kind, way) for kind in KINDS for way in ("calibrated", "bare", "promised", "answered")]
MADE += [(sd.shuffle.BooleanSum, way) for way in OTHER_PROMISES]


@pytest.mark.parametrize(("kind", "way"), MADE)
def test_every_protocol_is_replaced_copied_and_read_as_it_was(kind: Any, way: str) -> None:
    protocol = made(kind, way)
    copies = [dataclasses.replace(protocol), copy.copy(protocol), copy.deepcopy(protocol)]
    copies += [pickle.loads(pickle.dumps(protocol, k)) for k in range(pickle.HIGHEST_PROTOCOL + 1)]
    for other in copies:
        assert other == protocol
        assert repr(other) == repr(protocol)
        assert hash(other) == hash(protocol)
        assert other.guarantee == protocol.guarantee
        assert other.profile().delta(1) == protocol.profile().delta(1)


@pytest.mark.parametrize(("kind", "way"), MADE[::4])
@pytest.mark.parametrize("change", [{"n_users": 5}, {"promise": sd.ApproxDP("0.01", delta=0)}])
def test_no_pickle_states_what_is_not_kept(kind: Any, way: str, change: dict[str, Any]) -> None:
    """Also one of bare fields, as an earlier version wrote it."""
    protocol = made(kind, way)
    edited = copy.copy(protocol)
    for name, value in change.items():
        object.__setattr__(edited, name, value)
    with pytest.raises(sd.errors.SmoothdpError):
        pickle.loads(pickle.dumps(edited))
    for state in (vars(edited), {}, None, {**vars(protocol), **change}):
        bare = object.__new__(type(protocol))
        with pytest.raises(sd.errors.SmoothdpError):
            bare.__setstate__(state)
