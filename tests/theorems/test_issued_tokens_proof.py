"""Attacks on proofs/issued-tokens by enumeration: small groups, small batches, exact rationals.

(proofs/issued-tokens#3, #4, #5)
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from fractions import Fraction
from itertools import combinations, combinations_with_replacement, product
from math import floor, gcd

import pytest

Law = Counter[object]


# ---- 4: tokens do not lead back -----------------------------------------------------------


def units(n: int) -> list[int]:
    return [x for x in range(1, n) if gcd(x, n) == 1]


def one_slot(n: int, e: int, m: int, answers: dict[int, int], *, checked: bool = True) -> Law:
    """Return the law of (request, signature) of a slot, of those handed in."""
    law: Law = Counter()
    for r in units(n):
        request = m * pow(r, e, n) % n
        answer = answers.get(request)
        if answer is None:
            continue
        signature = answer * pow(r, -1, n) % n
        if not checked or pow(signature, e, n) == m % n:
            law[request, signature] += 1
    return law


def assigned(
    n: int,
    e: int,
    messages: tuple[int, int],
    answers: Sequence[dict[int, int]],
    *,
    checked: bool = True,
) -> tuple[Law, Law]:
    """Return the law of (requests of accounts 0 and 1, signatures of slots 0 and 1), twice.

    Once account 0 has slot 0, once it has slot 1.
    """
    straight: Law = Counter()
    crossed: Law = Counter()
    for law, slots in ((straight, (0, 1)), (crossed, (1, 0))):
        seen = [
            one_slot(n, e, messages[slot], answers[account], checked=checked)
            for account, slot in enumerate(slots)
        ]
        for (a, times), (b, others) in product(seen[0].items(), seen[1].items()):
            signatures = {slots[0]: a[1], slots[1]: b[1]}  # type: ignore[index]
            key = (a[0], b[0], signatures[0], signatures[1])  # type: ignore[index]
            law[key] += times * others
    return straight, crossed


def roots(n: int, e: int, pick: int) -> dict[int, int]:
    """Return one e-th root of each power: which of them is the issuer's choice."""
    found: dict[int, list[int]] = {}
    for x in range(n):
        found.setdefault(pow(x, e, n), []).append(x)
    return {power: values[pick % len(values)] for power, values in found.items()}


# A key as it should be, e dividing p - 1, many small primes, a square.
@pytest.mark.parametrize(("n", "e"), [(55, 3), (7 * 13, 3), (3 * 5 * 7, 3), (45, 3), (49, 3)])
def test_every_assignment_is_as_likely(n: int, e: int) -> None:
    compared = 0
    powers = sorted({pow(x, e, n) for x in units(n)})
    answers = [roots(n, e, 0), roots(n, e, 1)]
    for messages in combinations(powers[:6], 2):
        straight, crossed = assigned(n, e, messages, answers)
        assert straight == crossed
        compared += len(straight)
    assert compared > 100
    # A message without a root is answered by nothing that is accepted.
    for message in set(units(n)) - set(powers):
        for answer in range(n):
            assert not one_slot(n, e, message, dict.fromkeys(range(n), answer))


def test_a_message_with_a_divisor_of_n_is_marked() -> None:
    n, e = 55, 3
    straight, crossed = assigned(n, e, (5, 2), [roots(n, e, 0)] * 2)
    assert straight
    assert not set(straight) & set(crossed)


def test_an_answer_that_is_not_checked_marks() -> None:
    n, e = 55, 3
    marked = [{b: a * mark % n for b, a in roots(n, e, 0).items()} for mark in (1, 2)]
    straight, crossed = assigned(n, e, (2, 3), marked, checked=False)
    assert straight != crossed
    assert assigned(n, e, (2, 3), marked)[0] == Counter()


# ---- 3: the sums ----------------------------------------------------------------------------


def total(ones: int, zeros: int, flip: Fraction) -> list[Fraction]:
    """Return the law of the ones that are reported."""
    law = [Fraction(1)]
    for chance in [1 - flip] * ones + [flip] * zeros:
        longer = [Fraction(0)] * (len(law) + 1)
        for value, weight in enumerate(law):
            longer[value] += weight * (1 - chance)
            longer[value + 1] += weight * chance
        law = longer
    return law


def hockey_stick(p: Iterable[Fraction], q: Iterable[Fraction], factor: Fraction) -> Fraction:
    return sum((max(a - factor * b, Fraction(0)) for a, b in zip(p, q, strict=True)), Fraction(0))


def worst(honest: int, bits: int, flip: Fraction, factor: Fraction) -> Fraction:
    """Return D_h: whole users, the worst over the others' data and both directions."""
    others = (honest - 1) * bits
    found = Fraction(0)
    for ones in range(others + 1):
        low = total(ones, others - ones + bits, flip)
        high = total(ones + bits, others - ones, flip)
        found = max(found, hockey_stick(low, high, factor), hockey_stick(high, low, factor))
    return found


FLIP, FACTOR = Fraction(1, 5), Fraction(3, 2)


@pytest.mark.parametrize(("honest", "bits"), [(2, 1), (3, 1), (2, 2), (3, 2), (2, 3)])
def test_no_choice_of_slots_shows_more(honest: int, bits: int) -> None:
    """All the shuffler can do without values: m slots of the user, any slots of enough others."""
    bound = worst(honest, bits, FLIP, FACTOR)
    attained = Fraction(0)
    for own in range(bits + 1):
        for extra in range(3):
            others = (honest - 1) * bits + bits - own + extra
            for ones in range(others + 1):
                for before, after in combinations_with_replacement(range(own + 1), 2):
                    low = total(ones + before, others - ones + own - before, FLIP)
                    high = total(ones + after, others - ones + own - after, FLIP)
                    attained = max(
                        attained,
                        hockey_stick(low, high, FACTOR),
                        hockey_stick(high, low, FACTOR),
                    )
    assert attained == bound > 0


def test_fewer_honest_users_than_the_rule_wants_show_more() -> None:
    """With more accounts than are assumed the batch has fewer honest users, and shows more."""
    for bits in (1, 2):
        shown = [worst(honest, bits, FLIP, FACTOR) for honest in (1, 2, 3, 4)]
        assert shown == sorted(shown, reverse=True)
        assert shown[0] > shown[1] > shown[-1]


def test_a_shuffler_that_sees_values_shows_more() -> None:
    """It leaves out all others who report a one: the total is then the user's own bit."""
    honest = 3
    law = {}
    for datum in (0, 1):
        own = total(datum, 1 - datum, FLIP)
        law[datum] = own + [Fraction(0)] * honest
    seen = hockey_stick(law[1], law[0], FACTOR)
    assert seen == worst(1, 1, FLIP, FACTOR) > worst(honest, 1, FLIP, FACTOR)


# ---- 5: what singling out costs -----------------------------------------------------------


def test_the_cost_of_singling_out_is_the_least() -> None:
    """By trying every number of accounts, against the conditions of the release."""
    seen = set()
    for smallest, fewest, served, gamma in product(
        (2, 5, 9), (1, 2, 4, 8), range(1, 25), (Fraction(0), Fraction(1, 10), Fraction(1, 3))
    ):
        enough = [
            accounts
            for accounts in range(served)
            if accounts + 1 >= smallest and accounts + 1 - floor(gamma * served) >= fewest
        ]
        cost = max(smallest, fewest + floor(gamma * served)) - 1
        assert (min(enough) == cost) if enough else (cost >= served)
        if fewest >= 2 and enough:
            assert cost > gamma * served
            seen.add(cost)
    assert len(seen) > 5
