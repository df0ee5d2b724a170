"""Attacks on what is collected by default and in engines, from docstrings and pages alone.

The laws are written down user by user in fractions; no code is shared with the library.
"""

from __future__ import annotations

import itertools
import json
import math
import warnings
from collections.abc import Callable, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import smoothdp as sd
from smoothdp.cli.main import main
from smoothdp.engines import collect, randomized_counts, run_here
from smoothdp.errors import InvalidData, InvalidParameter
from smoothdp.shuffle.strings.found_strings import FoundStrings

Law = dict[tuple[int, ...], Fraction]
KEY = bytes(range(32))
SAID: dict[str, Any] = {"key": KEY, "column": "tea", "window": 1}
GOAL = sd.ApproxDP(1, delta="1e-6")


def binomial(n: int, p: Fraction) -> dict[int, Fraction]:
    return {k: math.comb(n, k) * p**k * (1 - p) ** (n - k) for k in range(n + 1)}


def joined(one: Law, two: Law) -> Law:
    """Return the law of the sum of two independent vectors of counts."""
    law: Law = {}
    for (x, p), (y, s) in itertools.product(one.items(), two.items()):
        z = tuple(map(int.__add__, x, y))
        law[z] = law.get(z, Fraction(0)) + p * s
    return law


def stick(one: Law, two: Law, epsilon: str) -> Fraction:
    factor = Fraction(math.exp(float(epsilon)))
    return sum((max(Fraction(0), p - factor * two.get(y, 0)) for y, p in one.items()), Fraction(0))


# ---- bars and errors with users who send nothing -------------------------------------------------

SILENT = [
    (5, 2, "1/2", True),
    (5, 2, "3/10", True),
    (4, 3, "1/2", True),
    (5, 2, "1/2", False),
    (7, 2, "1/10", False),
    (4, 3, "2/5", False),
]


@pytest.mark.parametrize(("n", "d", "gamma", "omitted"), SILENT)
def test_bars_hold_for_all_data_and_any_silent_users(
    n: int, d: int, gamma: str, omitted: bool
) -> None:
    """All data, each number of silent users up to those tolerated, all noise, in fractions."""
    noise = Fraction(gamma)
    protocol: Any
    if omitted:
        protocol = sd.shuffle.Histogram(n, n_bins=d, omission_probability=gamma)
    else:
        protocol = sd.shuffle.LowCommunicationHistogram(
            n, n_bins=d, noise_probability=gamma, false_positive="0.1"
        )
    most = min(2, math.floor(n * noise)) if omitted else 2
    checked = 0
    for level, tolerated in itertools.product((Fraction(4, 5), Fraction(19, 20)), range(most + 1)):
        widest = protocol.error(1 - level, simultaneous=True)
        for silent in range(tolerated + 1):
            senders, law = n - silent, binomial(n - silent, noise)
            seen: dict[tuple[int, ...], tuple[Any, Any]] = {}
            for truth in itertools.combinations_with_replacement(range(senders + 1), d):
                if sum(truth) != senders:
                    continue
                inside, near = Fraction(0), Fraction(0)
                for drawn in itertools.product(range(senders + 1), repeat=d):
                    more = [senders - z if omitted else z for z in drawn]
                    sent = tuple(s + z for s, z in zip(truth, more, strict=True))
                    if sent not in seen:
                        found = protocol.estimate_counts(
                            np.array(sent), tolerated=tolerated, warn=False
                        )
                        seen[sent] = found.to_array().tolist(), found.bars(level)
                    estimates, bars = seen[sent]
                    weight = math.prod((law[z] for z in drawn), start=Fraction(1))
                    if all(bars[j][0] <= truth[j] <= bars[j][1] for j in range(d)):
                        inside += weight
                    if all(abs(estimates[j] - truth[j]) <= widest + 1e-12 for j in range(d)):
                        near += weight
                checked += 1
                assert inside >= level, (level, tolerated, silent, truth)
                # Where noise is sent, the error is that of users who all send it.
                assert near >= level or (silent and not omitted), (level, silent, truth)
    assert checked >= 10


# ---- the planner at a few users ------------------------------------------------------------------


def law_of_user(protocol: Any, datum: Any) -> Law:
    """Return what one user adds: ones, or messages of every bin under the cap of an envelope."""
    if not isinstance(protocol, sd.shuffle.LowCommunicationHistogram):
        r, q, law = getattr(protocol, "n_bits", 1), protocol.flip_probability, Law()
        whole = math.floor(r * datum)
        for ones, weight in ((whole, 1 - (r * datum - whole)), (whole + 1, r * datum - whole)):
            for kept, flipped in itertools.product(range(ones + 1), range(r - ones + 1)):
                if weight:
                    p = binomial(ones, 1 - q)[kept] * binomial(r - ones, q)[flipped]
                    law[(kept + flipped,)] = law.get((kept + flipped,), Fraction(0)) + weight * p
        return law
    law, gamma = {}, protocol.noise_mass
    for bits in itertools.product((0, 1), repeat=protocol.n_bins):
        if sum(bits) < protocol.slots_per_user:
            weight = gamma ** sum(bits) * (1 - gamma) ** (protocol.n_bins - sum(bits))
            law[tuple(bit + (j == datum) for j, bit in enumerate(bits))] = weight
    fits = sum(law.values())
    return {sent: weight / fits for sent, weight in law.items()}


def plan_against_the_laws(task: Any, n: int, epsilon: str, delta: str, liars: int) -> int:
    """Check every offer of a plan whose law is short; return how many were."""
    bins: dict[str, int] = {"n_bins": 2} if task == "histogram" else {}
    domain: list[Any] = [0, 1] if bins else [Fraction(0), Fraction(1, 3), Fraction(1)]
    if task == "count":
        domain = [0, 1]
    goal = sd.ApproxDP(epsilon, delta=delta)
    plan = sd.plan_collect(task, n_users=n, guarantee=goal, liars=liars, **bins)
    short = (sd.shuffle.BooleanSum, sd.shuffle.RealSum, sd.shuffle.LowCommunicationHistogram)
    offers = [one for one in plan.table if one.fits and isinstance(one.protocol, short)]
    checked = 0
    for offer in offers:
        protocol = offer.protocol
        if getattr(protocol, "n_bits", 1) > 8:
            continue
        checked += 1
        users = {datum: law_of_user(protocol, datum) for datum in domain}
        zero: Law = {(0,) * len(next(iter(users[domain[0]]))): Fraction(1)}
        for others in {(domain[0],), (domain[-1],), tuple(domain)}:
            law = zero
            for i in range(math.ceil(Fraction(9, 10) * n) - 1):
                law = joined(law, users[others[i % len(others)]])
            worlds = {datum: joined(law, users[datum]) for datum in domain}
            for one, two in itertools.permutations(domain, 2):
                # e^epsilon is a float here.
                excess = stick(worlds[one], worlds[two], epsilon)
                assert excess <= Fraction(delta) * (1 + Fraction(1, 10**12)), (offer.name, others)
            everybody = zero
            for i in range(n - liars):
                everybody = joined(everybody, users[others[i % len(others)]])
            honest = [others[i % len(others)] for i in range(n - liars)]
            assert failures(offer, everybody, honest, liars) <= Fraction(1, 20), offer.name
    return checked


def failures(offer: Any, law: Law, honest: Sequence[Any], liars: int) -> Fraction:
    """Return how often the error exceeds the plan's, by the worst of what liars send and hold."""
    protocol, allowed, worst = offer.protocol, offer.total_error(liars) + 1e-9, Fraction(0)
    of_bins = isinstance(protocol, sd.shuffle.LowCommunicationHistogram)
    slots = protocol.slots_per_user * liars
    truth = sum(datum == 0 for datum in honest) if of_bins else sum(honest)
    for held, added in itertools.product({0, liars}, {0, slots}):
        wrong = Fraction(0)
        for sent, weight in law.items():
            if of_bins:
                counts = np.array([sent[0] + added, *sent[1:]])
                found = protocol.estimate_counts(counts, warn=False)[0]
            else:
                found = protocol.estimate_from_total(sent[0] + added)
            if abs(found - float(truth + held)) > allowed:
                wrong += weight
        worst = max(worst, wrong)
    return worst


@pytest.mark.parametrize(
    ("task", "n", "epsilon", "delta", "liars"),
    [
        ("count", 7, "1", "0.3", 1),
        ("histogram", 7, "4", "0.05", 1),
        ("sum", 5, "2", "0.2", 0),
        ("histogram", 5, "1", "0.3", 1),
        ("histogram", 7, "2", "0.2", 0),
    ],
)
def test_offers_of_a_plan_keep_their_word_at_a_few_users(
    task: str, n: int, epsilon: str, delta: str, liars: int
) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert plan_against_the_laws(task, n, epsilon, delta, liars)


@pytest.mark.slow
@pytest.mark.parametrize("task", ["count", "sum", "histogram"])
def test_offers_of_more_plans_keep_their_word(task: str) -> None:
    goals = (("1", "0.3"), ("2", "0.2"), ("4", "0.05"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        checked = [
            plan_against_the_laws(task, n, epsilon, delta, liars)
            for n, (epsilon, delta), liars in itertools.product((5, 9), goals, (0, 1))
        ]
    assert sum(checked) >= 6


# ---- engines -------------------------------------------------------------------------------------


def noise_of(protocol: Any, users: list[Any], data: list[int], **said: Any) -> tuple[int, ...]:
    """Return what came of each bin beside the true counts."""
    run = run_here([[np.array(users, dtype=object), np.array(data)]])
    found = randomized_counts(run, protocol, **(SAID | said)).messages
    return tuple((found - np.bincount(data, minlength=protocol.n_bins)).tolist())


def test_noise_is_shared_by_the_same_collection_alone() -> None:
    """Equal noise by chance: 20 counts of spread above 3 agree with probability below 1e-16."""
    n, users, data = 60, [f"u{i}" for i in range(60)], [i % 20 for i in range(60)]

    def of(gamma: str = "1/3", n_users: int = n, **more: Any) -> Any:
        return sd.shuffle.LowCommunicationHistogram(
            n_users, n_bins=20, noise_probability=gamma, **more
        )

    base = noise_of(of(), users, data)
    assert noise_of(of(), users[::-1], data[::-1]) == base
    assert noise_of(of(honest_share="1/2"), users, data) == base
    others = [
        noise_of(of(), users, data, window=2),
        noise_of(of(), users, data, column="te"),
        noise_of(of(), users, data, key=bytes(32)),
        noise_of(of(), users, [(data[0] + 1) % 20, *data[1:]]),
        noise_of(of(), ["u60", *users[1:]], data),
        noise_of(of(), [0, *users[1:]], data),
        noise_of(of(), users[1:], data[1:], n_answered=n - 1),
        noise_of(of("1001/3000"), users, data),
        noise_of(of(n_slots=20), users, data),
        noise_of(of(n_users=61), users, data, n_answered=60, window=3),
    ]
    assert len({base, *others}) == len(others) + 1


@pytest.mark.parametrize(
    "make",
    [
        lambda goal: sd.shuffle.BooleanSum.calibrate(60, guarantee=goal),
        lambda goal: sd.shuffle.ZeroPreservingCount.calibrate(60, guarantee=goal),
        lambda goal: sd.shuffle.Histogram.calibrate(60, n_bins=4, guarantee=goal, catch_all=True),
        lambda goal: sd.shuffle.PairedCount.calibrate(
            60, guarantee=goal, most_slots=400, most_messages=50
        ),
        lambda goal: sd.shuffle.SplitSum.calibrate(60, guarantee=goal, resolution=1),
    ],
)
def test_types_and_cuts_of_partitions_change_nothing(make: Callable[[Any], Any]) -> None:
    protocol = make(sd.ApproxDP(2, delta="0.01"))
    users, data = np.arange(60), np.arange(60) % 2
    rng, found = np.random.default_rng(1), []
    for kind in (int, float, np.int8, object):
        order = rng.permutation(60)
        ends = np.sort(rng.integers(0, 61, 3))
        parts = [[users[rows], data[rows].astype(kind)] for rows in np.split(order, ends)]
        value = collect(run_here(parts), protocol, **SAID).value
        found.append(dict(value.counts) if hasattr(value, "counts") else value)
    assert all(one == found[0] for one in found)
    with pytest.raises(InvalidData, match="one row per user"):
        collect(run_here([[np.append(users[1:], 5), data]]), protocol, **SAID)


def test_dummies_of_a_count_are_not_counted() -> None:
    """Of 60 users 120 slots were counted, the dummies among them as messages 0."""
    protocol = sd.shuffle.ZeroPreservingCount(60, omission_probability="1/3")
    run = run_here([[np.arange(60), np.arange(60) % 2]])
    zeros, ones = randomized_counts(run, protocol, **SAID).messages.tolist()
    assert zeros == 0
    assert 30 < ones <= 90
    assert collect(run, protocol, **SAID).value == protocol.estimate_from_total(ones)


@pytest.mark.slow
def test_groups_of_a_plan_are_the_same_however_the_rows_are_cut() -> None:
    n, goal = 2001, sd.ApproxDP(4, delta="0.05")
    plan = sd.plan_collect(
        "strings", n_users=n, guarantee=goal, string_bits=16, liars=0, most_slots=80
    )
    assert plan.recommended.groups == 2
    users, texts = np.arange(n), np.array(["ab", "cd", "ab"] * (n // 3), dtype=object)
    found = []
    for ends in ([], [5, 700], [n - 1]):
        parts = zip(np.split(users, ends), np.split(texts, ends), strict=True)
        found.append(collect(run_here([list(part) for part in parts]), plan, **SAID).value)
    assert found[0].counts == found[1].counts == found[2].counts
    # The key is fixed, and with it all noise: no false alarm.
    assert abs(found[0].texts()["ab"] - 1334) < 2 * plan.recommended.error
    few = run_here([[users[:1798], texts[:1798]]])
    with pytest.raises(InvalidData, match="groups of at least 900 honest users"):
        collect(few, plan, n_answered=1798, **SAID)


# ---- texts of strings ----------------------------------------------------------------------------


def test_every_string_has_a_text_of_its_own() -> None:
    tree = sd.shuffle.PrefixTree(4000, n_levels=2, noise_probability="0.001", most_candidates=20)
    strings = [
        *itertools.product((0, 97, 0xC3, 0xE9, 0xED), (0, 1, 0xA9)),
        *itertools.product((0x80, 0xFF), (0, 0x80)),
    ]
    made = dict.fromkeys(strings, 200)
    made[(98, 98)] = 4000 - sum(made.values())
    found = tree.simulate(made, rng=sd.SeededRandom(1)).value
    assert set(found.counts) == set(made)
    texts = found.texts()
    assert len(texts) == len(made)
    coded = {text.encode(errors="surrogateescape").ljust(2, b"\0") for text in texts}
    assert coded == {bytes(string) for string in made}


def test_symbols_beyond_a_byte_are_no_texts() -> None:
    """The bare ValueError of bytes() came."""
    last = sd.shuffle.HistogramEstimate(301, {2: 1000.0})
    found = FoundStrings({(299, 2): 1000.0}, (0, 0), last, ((299,),), 300)
    with pytest.raises(InvalidParameter, match="to be read as texts; got fan_out=300"):
        found.texts()


# ---- the command ---------------------------------------------------------------------------------


def said(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, Any]:
    """Return what `smoothdp collect --json` says."""
    main(["collect", *words, "--json"])
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def column(path: Path, values: Sequence[object]) -> str:
    path.write_text("v\n" + "".join(f"{value}\n" for value in values))
    return str(path)


ASKED = [
    ("share", ("--epsilon", "2", "--delta", "1e-3"), ("--liars", "0")),
    ("share", ("--epsilon", "4", "--delta", "0.01"), ("--liars", "5", "--most-slots", "3")),
    ("mean", ("--epsilon", "4", "--delta", "0.01"), ("--most-slots", "8")),
    ("mean", ("--epsilon", "1", "--delta", "1e-6"), ("--liars", "0")),
    ("counts", ("--epsilon", "1", "--delta", "1e-6"), ("--most-slots", "200")),
    ("counts", ("--epsilon", "2", "--delta", "1e-3"), ("--liars", "0")),
    ("counts", ("--epsilon", "1", "--delta", "1e-6"), ("--liars", "0", "--most-messages", "1.3")),
    ("counts", ("--epsilon", "1/2", "--delta", "1e-3"), ("--liars", "0", "--most-slots", "80")),
]


@pytest.mark.parametrize(("what", "goal", "limits"), ASKED)
def test_what_is_printed_to_repeat_repeats_it(
    what: str,
    goal: tuple[str, ...],
    limits: tuple[str, ...],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A design within other limits was another one, or refused."""
    data: list[object] = [i % 2 for i in range(10_000)]
    more: tuple[str, ...] = ()
    if what == "mean":
        more = ("--bounds", "0", "1")
    if what == "counts":
        data, more = ["ab"[i % 2] for i in range(10_000)], ("--bins", "4")
    asked = (column(tmp_path / "c.csv", data), "--column", "v", *more, *goal)
    main(["collect", *asked, *limits])
    lines = capsys.readouterr().out.splitlines()
    (words,) = (line.split()[2:] for line in lines if line.startswith("to repeat "))
    protocol = next(line for line in lines if line.startswith("protocol "))
    again = said(capsys, *asked, *words)
    assert " ".join(protocol.split()[1:]) == " ".join(str(again["protocol"]).split())
    (privacy,) = (line.split()[3] for line in lines if line.startswith("privacy "))
    assert float(privacy.rstrip(",")) == pytest.approx(again["delta"], rel=1e-3)
    options = [f"--{name.replace('_', '-')}" for name in again["named"]]
    assert words == [
        word
        for pair in zip(options, map(str, again["named"].values()), strict=True)
        for word in pair
    ]


def test_who_names_a_protocol_is_told_to_leave_liars_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It said that n_bits is for a real sum alone, of a real sum."""
    file = column(tmp_path / "c.csv", [0, 1] * 500)
    goal = ("--epsilon", "1", "--delta", "1e-6", "--liars", "0")
    named = ("--protocol", "real-sum", "--n-bits", "2")
    with pytest.raises(SystemExit):
        main(["collect", file, "--column", "v", *goal, *named])
    assert "Leave liars out" in capsys.readouterr().err


def test_a_plan_counts_the_bin_of_other_values(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Planned were 4 slots of 3 bins; the collection has 4 bins and 5 slots."""
    file = column(tmp_path / "c.csv", ["a", "b", "c", "d"] * 250)
    for listed in ("a\nb\nc\n", "a\nother\nb\nc\n"):
        (tmp_path / "d.txt").write_text(listed)
        asked = (file, "--column", "v", "--domain", str(tmp_path / "d.txt"))
        goal = ("--epsilon", "1", "--delta", "1e-6")
        collected, planned = said(capsys, *asked, *goal), said(capsys, *asked, *goal, "--plan")
        (best,) = (one for one in planned["table"] if one["protocol"] == planned["recommended"])
        assert best["slots_per_user"] == collected["slots_per_user"] == 5
        assert best["messages_per_user"] == collected["messages_per_user"]


@pytest.mark.parametrize(("n", "epsilon", "delta"), [(10, 1, "0.1"), (40, 2, "1/100")])
def test_no_bound_asks_for_less_than_the_least(n: int, epsilon: int, delta: str) -> None:
    """Of 10 users 3.204 answer at random, the least by the exact profile of the 9 honest ones;
    amplification by clones would have asked for 3.028, it said: without the honest share."""
    goal = sd.ApproxDP(epsilon, delta=delta)
    found = sd.report.collect_share([0, 1] * (n // 2), guarantee=goal, protocol="boolean-sum")
    least, (clones, cheu) = (
        float(found.bounds["noise"].split()[0]),
        numbers_of(found.bounds["noise"]),
    )
    assert least <= clones * (1 + 1e-3)
    assert least <= cheu


def numbers_of(sentence: str) -> tuple[float, float]:
    """Return what two other bounds would ask for."""
    one, two = (part.split()[0].rstrip(",") for part in sentence.split(" for ")[1:])
    return float(one), float(two)


def ledger(path: Path) -> str:
    sd.Ledger(path, budget=sd.ApproxDP(5, delta="1e-3"))
    return str(path)


def test_a_picture_that_cannot_be_drawn_costs_no_result(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The ledger was charged, the users had answered, and nothing was shown."""
    file, book = column(tmp_path / "c.csv", [0, 1] * 500), ledger(tmp_path / "l.json")
    before = Path(book).read_bytes()
    asked = ("collect", file, "--column", "v", "--epsilon", "1", "--delta", "1e-6")
    with pytest.raises(SystemExit):
        main([*asked, "--ledger", book, "--plot", str(tmp_path / "x.bad")])
    assert Path(book).read_bytes() == before
    (tmp_path / "file").write_text("")
    capsys.readouterr()
    with pytest.raises(SystemExit):
        main([*asked, "--ledger", book, "--plot", str(tmp_path / "file" / "x.png")])
    assert "share with a 1" in capsys.readouterr().out
    assert Path(book).read_bytes() != before


@pytest.mark.parametrize("above", ["1e400", "-1e400"])
def test_a_threshold_beyond_floats_is_refused_in_words(above: Any) -> None:
    """A bare OverflowError came."""
    with pytest.raises(InvalidParameter, match="above as a number that floats reach"):
        sd.report.collect_share([0, 1] * 500, above=above, guarantee=GOAL)


def test_no_confidence_is_shown_as_certain() -> None:
    nearly = "0.999999999999999999999"
    bits = sd.report.collect_share([0, 1] * 500, guarantee=GOAL, confidence=nearly)
    mean = sd.report.collect_mean([0, 1] * 500, bounds=(0, 1), guarantee=GOAL, confidence=nearly)
    assert bits.confidence < 1
    assert mean.confidence < 1
    assert " 100% error" not in bits.text()


def test_errors_of_split_sums_cover_no_flips(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = column(tmp_path / "c.csv", [0, 1] * 500)
    goal = ("--epsilon", "1", "--delta", "1e-6")
    for more, covered in ((("--liars", "0"), "random noise alone"), ((), "random flips alone")):
        assert covered in said(capsys, file, "--column", "v", *goal, *more)["error_covers"]
