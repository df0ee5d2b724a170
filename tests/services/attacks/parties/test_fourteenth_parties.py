"""A fourteenth round: the numbers of the page, from the definitions, and what parties may sign."""

from __future__ import annotations

import hashlib
import itertools
import json
import math
import re
from collections import defaultdict
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import binom, nbinom

from smoothdp.claims import ApproxDP
from smoothdp.errors import InvalidData
from smoothdp.services.analyzer.release_rule import rule
from smoothdp.services.client.inclusion import look_up
from smoothdp.services.formats.design.protocols import Design
from smoothdp.services.formats.design.values import DUMMY, INVALID
from smoothdp.services.formats.task import Task
from smoothdp.shuffle import PairedCount, SplitSum
from tests.services.worlds.small_tasks import ANALYZER_SIGN, small_task

PAGE = Path(__file__).parents[4] / "docs" / "threats.md"
WINDOW = 1000
Floats = NDArray[np.float64]
Law = dict[tuple[int, ...], float]


# ---- the tables of the page ----------------------------------------------------------------------


def least_epsilon(first: Floats, second: Floats, delta: float = 1e-6) -> float:
    """Return the least epsilon of two laws, by halving: the larger of both directions."""
    low, high = 0.0, 60.0
    while high - low > 1e-7:
        at = (low + high) / 2
        sticks = [
            (p - math.exp(at) * q).clip(0).sum() for p, q in ((first, second), (second, first))
        ]
        low, high = (at, high) if max(sticks) > delta else (low, at)
    return high


def paired_epsilon(honest: int, size: int) -> float:
    """Return epsilon of a paired count of 1,000 from the law of what its devices send.

    Noise is drawn again where it does not fit, as they do: the law of one user's noise is that of
    free noise, given that it fits.
    """
    made = PairedCount.calibrate(1000, guarantee=ApproxDP(1, delta="1e-6"), honest_share="0.9")
    most, chance, fits = made.largest_clump, float(made.clump_probability), made.slots_per_user
    clumps = np.array([0.0, *(1 / j for j in range(1, most + 1))])
    clumps *= chance / clumps.sum()
    clumps[0] = 1 - chance
    share = nbinom(1 / made.n_honest_design, -math.expm1(-float(made.noise_rate)))
    signs, one = share.pmf(np.arange(fits)), np.zeros((size, size))
    for pairs, probability in enumerate(clumps):
        for plus, minus in itertools.product(range(fits - 2 * pairs), repeat=2):
            if plus + minus + 2 * pairs < fits:
                both = probability * signs[plus] * signs[minus]
                one[plus + pairs, minus + pairs] += both
    law = np.fft.irfft2(np.fft.rfft2(one / one.sum()) ** honest, s=one.shape).clip(0)
    return least_epsilon(np.roll(law, 1, 0), np.roll(law, 1, 1))


@pytest.mark.parametrize(("column", "honest"), [(4, 100), (3, 250)])
def test_the_row_of_paired_counts_is_exact_or_said_to_be_a_bound(column: int, honest: int) -> None:
    """The page: "what is left is, exactly but for rounding up [...] The same for smallest batches
    of 1,000". With 100 honest users 4.529 is left where 4.540 is printed: a bound, if it says so.
    """
    text = PAGE.read_text(encoding="utf-8")
    (row,) = re.findall(r"^\| paired count \|(.*)\|$", text, re.MULTILINE)
    printed = float(row.split("|")[column])
    left = paired_epsilon(honest, 256 if honest <= 100 else 400)
    assert left - 1e-6 <= printed
    (above,) = re.findall(r"of the paired count at most (\.[0-9]+) above", text) or ["0"]
    assert printed <= math.ceil(1000 * left - 1e-3) / 1000 + float(above)


def test_what_is_left_of_a_split_sum_is_the_law_of_one_share_of_noise() -> None:
    """The page: "next to nothing for a split sum, 12.358 at smallest batches of 1,000"."""
    made = SplitSum.calibrate(1000, guarantee=ApproxDP(1, delta="1e-6"), honest_share="0.9")
    rate, steps = float(made.noise_epsilon) / made.resolution, made.resolution
    share = nbinom(1 / 900, -math.expm1(-rate)).pmf(np.arange(int(40 / rate)))
    noise = np.correlate(share, share, "full")
    first = np.concatenate([noise, np.zeros(steps)])
    left = least_epsilon(first, np.concatenate([np.zeros(steps), noise]))
    assert math.ceil(1000 * left - 1e-3) / 1000 == 12.358
    assert "12.358 at smallest batches of 1,000" in PAGE.read_text(encoding="utf-8")


# ---- tasks by hand, from the law of what their devices send --------------------------------------


def added(first: Law, second: Law) -> Law:
    """Return the law of the sum of two independent lists of numbers."""
    law: defaultdict[tuple[int, ...], float] = defaultdict(float)
    for (one, p), (other, q) in itertools.product(first.items(), second.items()):
        law[tuple(a + b for a, b in zip(one, other, strict=True))] += p * q
    return dict(law)


def largest_stick(first: Law, second: Law, epsilon: str) -> float:
    ratio = math.exp(float(Fraction(epsilon)))
    return max(
        sum(max(0.0, p.get(key, 0.0) - ratio * q.get(key, 0.0)) for key in {*p, *q})
        for p, q in ((first, second), (second, first))
    )


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


# ---- users who cannot have followed the protocol -------------------------------------------------


def falsely(task: Task, users: int, messages: int, means_nothing: int) -> int:
    """Return f as the protocol writes it: the largest h' of all."""
    d, chance = task.size, float(Fraction(task.noise))
    p = 1 - chance if task.protocol == "histogram" else chance
    log = math.log(1e12)

    h = np.arange(users + 1)
    reach = log / 3 + np.sqrt(log**2 / 9 + 2 * log * h * d * p * (1 - p))
    enough = h[h + h * d * p - reach <= messages]
    few = h[messages <= np.minimum(h * (1 + d), h + h * d * p + reach) + (users - h) * task.slots]
    return max(-(-means_nothing // task.slots), users - int(max(enough)), users - int(max(few)))


@pytest.mark.parametrize("share", ["1", "0.9", "0.75"])
@pytest.mark.parametrize("protocol", ["histogram", "low_communication_histogram"])
def test_f_is_the_number_of_the_page_at_every_number_of_messages(protocol: str, share: str) -> None:
    """The protocol: "f > floor(gamma X) [...]: QUARANTINED", f by its formula, with each number of
    messages that a batch can have; X from the users to where the promise ends.
    """
    task = small_task(protocol, size=4, min_batch=60, honest_share=share)
    for users, nothing in ((60, 0), (64, 37)):
        slots = users * task.slots
        for messages in range(0, slots - nothing + 1, 5):
            tally = {0: messages, INVALID: nothing, DUMMY: slots - messages - nothing}
            for served in (users, users + 8):
                said = rule(task, users=users, served=served, tally=tally)
                if not task.keeps_promise(task.honest(users, accounts=served)):
                    assert said.state == "REFUSED"
                    continue
                shown = falsely(task, users, messages, nothing)
                false = shown > math.floor((1 - Fraction(share)) * served)
                assert said.state == ("QUARANTINED" if false else "")


# ---- the error of all counts ---------------------------------------------------------------------


def worst_failure(fails: Floats, bins: int) -> float:
    """Return the largest probability that any bin fails, over all true counts of all users."""
    users = len(fails) - 1
    costs, best = -np.log1p(-fails), np.full(users + 1, -np.inf)
    best[0] = 0.0
    for _ in range(bins):
        step = np.full(users + 1, -np.inf)
        for count in range(users + 1):
            step[count:] = np.maximum(step[count:], best[: users + 1 - count] + costs[count])
        best = step
    return -math.expm1(-float(best[users]))


@pytest.mark.parametrize("protocol", ["histogram", "low_communication_histogram"])
@pytest.mark.parametrize(("bins", "users"), [(2, 120), (5, 60), (12, 67)])
def test_all_counts_are_as_near_as_is_printed_whatever_people_hold(
    protocol: str, bins: int, users: int
) -> None:
    """What a result prints as `error_of_all_counts` fails with probability 0.05 at most: over all
    ways in which people may be in the bins, hidden bins and bins that nobody is in among them.
    """
    task = small_task(protocol, size=bins, min_batch=60)
    made, chance = task.collect(users), float(Fraction(task.noise))
    noise, error = np.arange(users + 1), made.error("0.05", simultaneous=True)
    weights, hidden = binom.pmf(noise, users, chance), made.hidden_up_to
    fails = np.zeros(users + 1)
    for count in range(users + 1):
        off = noise - users * chance if protocol != "histogram" else users * chance - noise
        # Up to the threshold a count is shown as 0.
        shown = np.where(count + off > hidden + 1e-9, count + off, 0.0)
        fails[count] = weights[abs(shown - count) > error + 1e-9].sum()
    assert worst_failure(fails, bins) <= 0.05


# ---- what a malicious analyser signs -------------------------------------------------------------


def signed_texts(task: Task) -> Iterator[str]:
    """Yield documents that an analyser may sign to stop who reads them."""
    start = json.dumps({"task_id": task.task_id.hex(), "window": WINDOW})[:-1]
    deep = "[" * 100_000
    yield from (deep, start + ',"batch_header":' + deep + "]" * 100_000 + "}")
    yield from (start + ',"card_digest":' + "9" * 10_000 + "}", start + ',"card_digest":NaN}')
    # Of two fields of one name the last counts.
    yield start + ',"window":1001,"card_digest":"00"}'
    yield start + ',"card_digest":"\\ud800","marks_sha256":"00","batch_header":[]}'
    yield start + ',"state":[["RELEASED"]],"reason":{"a":["\\u001b[2J"]}}'


def test_items_within_items_of_a_signed_result_are_refused_in_words() -> None:
    """The proof: "a device looks up its report [...], and no refusal is raised", or it is told why:
    whatever the analyser has signed, it never stops the program in another way.
    """
    task = small_task()
    for text in signed_texts(task):
        signature = ANALYZER_SIGN.sign("result", hashlib.sha256(text.encode()).digest()).hex()
        result = json.dumps({"result": text, "signature": signature}).encode()
        with pytest.raises(InvalidData) as refused:
            look_up(task, WINDOW, None, result=result, marks=b"")
        assert "\x1b" not in str(refused.value)
