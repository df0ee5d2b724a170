"""What the page draws, in Node, against exact laws computed here.

Each law is compared by chi-square with 20,000 draws; a right one fails with probability 1e-7.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterator, Mapping
from fractions import Fraction
from itertools import product
from typing import Any

import pytest

from tests.services.page.page_program import needs_node, run
from tests.services.worlds.small_tasks import small_task

pytestmark = needs_node

DUMMY = 0xFFFFFFFF
DRAWS = 20_000
Law = Mapping[tuple[int, ...], float]

# Numbers of no real task, so that every outcome is met often.
RAW: dict[str, dict[str, Any]] = {
    "low_communication_histogram": {"size": 4, "noise": "2/5", "parameters": ["1"], "slots": 3},
    "paired_count": {"size": 1, "noise": "3/4", "parameters": ["1/5", "2", "2"], "slots": 6},
    "paired_histogram": {"size": 2, "noise": "3/2", "parameters": ["1/5", "2", "3"], "slots": 5},
    "split_sum": {"size": 3, "noise": "4", "parameters": ["3", "2"], "slots": 3},
}


def raw(protocol: str) -> dict[str, Any]:
    bounds = ["0", "1"] if protocol == "split_sum" else []
    return {"protocol": protocol, "bounds": bounds, "domain": []} | RAW[protocol]


def drawn(task: Any, datum: Any) -> dict[tuple[int, ...], int]:
    """Return how often each outcome came; but for a split sum, whose order counts, sorted."""
    found = run(
        """
        const counts = {}, { task, datum, sorted, draws } = given;
        for (let draw = 0; draw < draws; draw++) {
          const values = smoothdp.randomize(task, datum);
          const key = JSON.stringify(sorted ? values.sort((a, b) => a - b) : values);
          counts[key] = (counts[key] ?? 0) + 1;
        }
        return counts;
        """,
        {"task": task, "datum": datum, "sorted": task["protocol"] != "split_sum", "draws": DRAWS},
    )
    return {tuple(json.loads(key)): n for key, n in found.items()}


def fits(seen: Mapping[Any, int], law: Mapping[Any, float]) -> bool:
    """Return whether counts may come from a law; outcomes that are rare are taken together."""
    total = sum(seen.values())
    if any(not law.get(value) for value in seen):
        return False
    often = [value for value, p in law.items() if total * p >= 5]
    cells = [(seen.get(value, 0), total * law[value]) for value in often]
    n, expected = (sum(column) for column in zip(*cells, strict=True))
    if total - expected >= 5:
        cells.append((total - n, total - expected))
    elif total - n > 60:
        return False
    statistic = sum((count - right) ** 2 / right for count, right in cells)
    freedom = max(1, len(cells) - 1)
    # Wilson and Hilferty's cube root: 5.2 sigma is passed with probability 1e-7.
    limit = freedom * (1 - 2 / (9 * freedom) + 5.2 * math.sqrt(2 / (9 * freedom))) ** 3
    return float(statistic) < limit


# ---- the laws


def subsets(n: int, odds: Fraction) -> Iterator[tuple[list[int], Fraction]]:
    for choice in product((0, 1), repeat=n):
        weight = math.prod(odds if one else 1 - odds for one in choice)
        yield [place for place, one in enumerate(choice) if one], Fraction(weight)


def share(shape: float, rate: float, most: int = 60) -> list[float]:
    """P(k) of NB(shape, e^-rate)."""
    q = math.exp(-rate)
    return [
        math.exp(math.lgamma(k + shape) - math.lgamma(shape) - math.lgamma(k + 1) - rate * k)
        * (1 - q) ** shape
        for k in range(most)
    ]


def signs(task: Any, own: int) -> Law:
    """The law of sorted signs and dummies, given that they fit."""
    clump, largest, design = (Fraction(text) for text in task["parameters"])
    noise = share(1 / int(design), float(Fraction(task["noise"])), 12)
    harmonic = sum(Fraction(1, j) for j in range(1, int(largest) + 1))
    pairs = [1 - clump, *(clump / j / harmonic for j in range(1, int(largest) + 1))]
    law: dict[tuple[int, ...], float] = Counter({(own,): 1.0})  # type: ignore[assignment]
    for cell in range(task["size"]):
        wider: dict[tuple[int, ...], float] = Counter()  # type: ignore[assignment]
        for sent, weight in law.items():
            for plus, minus, pair in product(range(12), range(12), range(len(pairs))):
                more = [2 * cell + 1] * (plus + pair) + [2 * cell] * (minus + pair)
                if len(sent) + len(more) <= task["slots"]:
                    p = noise[plus] * noise[minus] * float(pairs[pair])
                    wider[(*sent, *more)] += weight * p
        law = wider
    whole = sum(law.values())
    found: dict[tuple[int, ...], float] = Counter()  # type: ignore[assignment]
    for sent, weight in law.items():
        padded = [*sent, *[DUMMY] * (task["slots"] - len(sent))]
        found[tuple(sorted(padded))] += weight / whole
    return found


def law_of(task: Any, datum: Any) -> Law:
    """Return the law of the sorted values of all slots."""
    protocol, size = task["protocol"], task["size"]
    law: dict[tuple[int, ...], Fraction] = Counter()  # type: ignore[assignment]
    if protocol.startswith("paired"):
        return signs(task, datum if protocol == "paired_count" else 2 * datum + 1)
    if protocol == "split_sum":
        noise, whole = share(1 / int(task["parameters"][1]), float(task["noise"]) / size), 8
        point = size * Fraction(datum)
        total = [0.0] * whole
        for up, plus, minus in product((0, 1), range(60), range(60)):
            rest = float(point % 1)
            both = noise[plus] * noise[minus]
            total[(int(point) + up + plus - minus) % whole] += (rest if up else 1 - rest) * both
        return {
            (a, b, c): total[(a + b + c) % whole] / whole**2
            for a, b, c in product(range(whole), repeat=3)
        }
    if "histogram" in protocol:
        keep = Fraction(task["noise"])
        for noisy, weight in subsets(size, 1 - keep if protocol == "histogram" else keep):
            if len(noisy) < task["slots"]:
                padded = [datum, *noisy, *[DUMMY] * (task["slots"] - 1 - len(noisy))]
                law[tuple(sorted(padded))] += weight
    else:
        odds = Fraction(int(task["noise"]), 1 << 64)
        point = size * Fraction(datum)
        for ones, part in ((int(point), 1 - point % 1), (int(point) + 1, point % 1)):
            for flipped, weight in subsets(size if part else 0, odds):
                bits = [int(place < ones) ^ (place in flipped) for place in range(size)]
                if part:
                    law[tuple(sorted(bits))] += part * weight
    whole_weight = sum(law.values())
    return {values: float(weight / whole_weight) for values, weight in law.items()}


CASES: dict[str, tuple[Any, Any, Any]] = {
    "boolean_sum": (None, 1, 0),
    "real_sum": (None, "0.4", "0.45"),
    "histogram": (None, 1, 0),
    "low_communication_histogram": (raw("low_communication_histogram"), 1, 2),
    "paired_count": (raw("paired_count"), 1, 0),
    "paired_histogram": (raw("paired_histogram"), 1, 0),
    "split_sum": (raw("split_sum"), "0.4", "0.5"),
}


@pytest.mark.slow
@pytest.mark.parametrize("protocol", CASES)
def test_the_law_of_a_protocol(protocol: str) -> None:
    """And the law of another datum is told apart from it."""
    given, datum, other = CASES[protocol]
    if given is None:
        sizes: dict[str, Any] = {"histogram": {"size": 3, "min_batch": 30}, "real_sum": {"size": 3}}
        given = json.loads(small_task(protocol, **sizes.get(protocol, {})).encoded)
    law = law_of(given, datum)
    assert abs(sum(law.values()) - 1) < 1e-9
    seen = drawn(given, datum)
    assert fits(seen, law)
    assert not fits(seen, law_of(given, other))


@pytest.mark.slow
def test_the_laws_of_shared_noise() -> None:
    found = run(
        """
        const count = (draw) => {
          const counts = {};
          for (let i = 0; i < given; i++) {
            const value = Number(draw());
            counts[value] = (counts[value] ?? 0) + 1;
          }
          return counts;
        };
        const { below, bernoulliExp, clumpSize, geometric, shareOfNoise, splitByUrn } = smoothdp;
        return [
          count(() => bernoulliExp([7n, 4n])), count(() => geometric([3n, 7n])),
          count(() => shareOfNoise(1n, 3n, [1n, 2n])), count(() => shareOfNoise(5n, 3n, [1n, 2n])),
          count(() => clumpSize(4n)),
          // How many of 3 units are in the first of 2 cells: the urn makes all numbers alike if
          // a cell weighs as much as a unit.
          count(() => splitByUrn(3n, 2n, 1n).filter((cell) => cell === 0).length),
        ];
        """,
        DRAWS,
    )
    seen = [{int(key): n for key, n in one.items()} for one in found]
    harmonic = sum(1 / j for j in range(1, 5))
    laws = [
        [1 - math.exp(-7 / 4), math.exp(-7 / 4)],
        share(1.0, 3 / 7),
        share(1 / 3, 1 / 2),
        share(5 / 3, 1 / 2),
        [0.0, *(1 / j / harmonic for j in range(1, 5))],
        [1 / 4] * 4,
    ]
    for number, (counts, law) in enumerate(zip(seen, laws, strict=True)):
        right = dict(enumerate(law))
        assert fits(counts, right), number
        # With 1.3 times the weight of its first outcome it is told apart.
        first = min(value for value, p in right.items() if p)
        wrong = right | {first: 1.3 * right[first]}
        whole = sum(wrong.values())
        assert not fits(counts, {value: p / whole for value, p in wrong.items()}), number


def test_the_law_is_exact_at_its_edges() -> None:
    task = json.loads(small_task().encoded)
    found = run(
        """
        const task = given, threshold = BigInt(task.noise);
        const words = (...list) => (size) => {
          const value = list.shift();
          const byte = (_, i) => Number((value >> BigInt(8 * (size - 1 - i))) & 255n);
          return Uint8Array.from({ length: size }, byte);
        };
        const { below, bernoulli, fraction, randomize } = smoothdp;
        const flips = [0n, threshold - 1n, threshold, (1n << 64n) - 1n].map(
          (word) => randomize(task, 1, words(word))[0]);
        // Every byte in turn: 6 of the 8 low patterns are taken, each equally often.
        const counts = {};
        for (let byte = 0n; byte < 256n; byte++) {
          let first = true;
          const value = below(6, (size) => words(first ? ((first = false), byte) : 0n)(size));
          if ((byte & 7n) < 6n) counts[value] = (counts[value] ?? 0) + 1;
        }
        const draws = [0n, 1n, 2n].map((word) => bernoulli([2n, 3n], words(word)));
        return { flips, counts, draws, number: fraction("-1.25e-2").map(String) };
        """,
        task,
    )
    assert found["flips"] == [0, 0, 1, 1]
    assert found["counts"] == {str(value): 32 for value in range(6)}
    assert found["draws"] == [True, True, False]
    assert found["number"] == ["-125", "10000"]


def test_a_datum_outside_is_refused_and_every_envelope_is_full() -> None:
    tasks = {name: json.loads(small_task(name, **more).encoded) for name, more in TASKS.items()}
    found = run(
        """
        const all = {};
        for (const [name, task] of Object.entries(given)) {
          const good = { real_sum: "7", split_sum: "-1" }[name] ?? (task.domain[1] ?? 1);
          const length = smoothdp.randomize(task, good).length;
          const bad = [2, -1, 0.5, "d", "1", null, "yes"].map((datum) => {
            try { smoothdp.randomize(task, datum); return false; } catch { return true; }
          });
          all[name] = [length === task.slots, bad];
        }
        return all;
        """,
        tasks,
    )
    for name, (full, bad) in found.items():
        assert full, name
        # Numbers are numbers however they are written; one outside is the nearest end.
        right = [False] * 3 + [True, False, True, True] if "bounds" in TASKS[name] else [True] * 7
        assert bad == right, name


TASKS: dict[str, dict[str, Any]] = {
    "boolean_sum": {},
    "real_sum": {"size": 3, "bounds": ("0", "1")},
    "histogram": {"domain": ("a", "b", "c"), "min_batch": 16},
    "low_communication_histogram": {"domain": ("a", "b", "c"), "min_batch": 60},
    "paired_count": {},
    "paired_histogram": {"domain": ("a", "b", "c")},
    "split_sum": {"bounds": ("0", "10")},
}


def test_how_many_windows_a_task_pays_for() -> None:
    found = run(
        """
        const paid = (epsilon, budget_epsilon, delta, budget_delta) =>
          smoothdp.paidWindows({ epsilon, budget_epsilon, delta, budget_delta });
        const task = { epsilon: "1", budget_epsilon: "2", delta: "1e-6", budget_delta: "2e-6" };
        const closed = (...list) => smoothdp.isClosed(task, list.map((window) => ({ window })));
        return {
          paid: [paid("0.1", "0.3", "1e-6", "1"), paid("1", "9", "1e-7", "3e-7"),
            paid("1/3", "1", "0", "0"), paid("0.7", "1.3", "1e-6", "1e-5")],
          closed: [closed(), closed(7), closed(7, 7), closed(7, 9)],
        };
        """
    )
    assert found["paid"] == [3, 3, 3, 1]
    assert found["closed"] == [False, False, False, True]
