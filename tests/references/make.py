"""Write the reference values of paper 1's mechanisms anew: ``make references``.

Nothing of smoothdp is used. Probabilities are those of the two databases themselves, at 60
digits; hockey sticks are sums of P - e^epsilon P' over the outputs where that is positive,
over every pair of categories and both directions. Where two categories hold many millions
of records, only the outputs that carry weight are summed, outwards from the boundary, until
a term is below 1e-45 of the sum.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import mpmath

DIGITS = 60
FILE = Path(__file__).with_name("smoothed_dp.json")
HOW = "tests/references/make.py: 60 digits, sums over outputs of the two laws themselves"


def number(text: str) -> Any:
    """Return "0.5" or "ln(51/49)" at full precision."""
    if text.startswith("ln("):
        ratio = Fraction(text[3:-1])
        return mpmath.log(mpmath.mpf(ratio.numerator) / ratio.denominator)
    return mpmath.mpf(text)


def log_choose(n: int, k: int) -> Any:
    return mpmath.loggamma(n + 1) - mpmath.loggamma(k + 1) - mpmath.loggamma(n - k + 1)


def probability(counts: tuple[int, ...], output: tuple[int, ...], replacing: bool) -> Any:
    """Return the probability of a sampled histogram."""
    n, draws = sum(counts), sum(output)
    if any(h > (draws if replacing and c else c) for c, h in zip(counts, output, strict=True)):
        return mpmath.mpf(0)
    if not replacing:
        logs = sum(log_choose(c, h) for c, h in zip(counts, output, strict=True))
        return mpmath.exp(logs - log_choose(n, draws))
    logs = mpmath.loggamma(draws + 1) - sum(mpmath.loggamma(h + 1) for h in output)
    logs += sum(h * mpmath.log(c) for c, h in zip(counts, output, strict=True) if h)
    return mpmath.exp(logs - draws * mpmath.log(n))


def outputs(draws: int, m: int) -> Iterator[tuple[int, ...]]:
    if m == 1:
        yield (draws,)
        return
    for h in range(draws + 1):
        for rest in outputs(draws - h, m - 1):
            yield (h, *rest)


def hockey_stick(
    first: tuple[int, ...], second: tuple[int, ...], draws: int, growth: Any, replacing: bool
) -> Any:
    """Return the sum of (P - growth P')_+ over all outputs."""
    if len(first) == 2 and draws > 1000:
        return two_category_stick(first, second, draws, growth, replacing)
    total = mpmath.mpf(0)
    for output in outputs(draws, len(first)):
        p = probability(first, output, replacing)
        if p:
            total += max(mpmath.mpf(0), p - growth * probability(second, output, replacing))
    return total


def two_category_stick(
    first: tuple[int, ...], second: tuple[int, ...], draws: int, growth: Any, replacing: bool
) -> Any:
    """The same where the ratio is monotone in the number of the first category."""
    low = 0 if replacing else max(0, draws - first[1])
    high = draws if replacing else min(first[0], draws)
    rising = first[0] > second[0]

    def gain(k: int) -> Any:
        output = (k, draws - k)
        return probability(first, output, replacing) - growth * probability(
            second, output, replacing
        )

    inside, outside = (high, low) if rising else (low, high)
    while abs(inside - outside) > 1:
        middle = (inside + outside) // 2
        inside, outside = (middle, outside) if gain(middle) > 0 else (inside, middle)
    return outwards(gain, inside, 1 if rising else -1, low, high)


def outwards(term: Callable[[int], Any], start: int, step: int, low: int, high: int) -> Any:
    """Sum terms from a start in one direction, until they no longer matter."""
    total, k = mpmath.mpf(0), start
    while low <= k <= high:
        value = max(mpmath.mpf(0), term(k))
        total += value
        if total and value < total * mpmath.mpf(10) ** -45 and abs(k - start) > 3:
            break
        k += step
    return total


def moved(counts: tuple[int, ...], a: int, b: int) -> tuple[int, ...]:
    changed = list(counts)
    changed[a] -= 1
    changed[b] += 1
    return tuple(changed)


def delta_x(inputs: dict[str, Any]) -> Any:
    counts, growth = tuple(inputs["H"]), mpmath.exp(number(inputs["eps"]))
    best = mpmath.mpf(0)
    for a, b in product(range(len(counts)), repeat=2):
        if a != b and counts[a]:
            other = moved(counts, a, b)
            for first, second in ((counts, other), (other, counts)):
                best = max(
                    best, hockey_stick(first, second, inputs["T"], growth, inputs["replacement"])
                )
    return best


def adversary_utility(inputs: dict[str, Any]) -> Any:
    known, draws, t = tuple(inputs["x_minus_i_hist"]), inputs["T"], number(inputs["t"])
    worlds = [tuple(c + (i == x) for i, c in enumerate(known)) for x in range(len(known))]
    best = mpmath.mpf(0)
    for truth in worlds:

        def term(output: tuple[int, ...], truth: tuple[int, ...] = truth) -> Any:
            masses = [probability(world, output, inputs["replacement"]) for world in worlds]
            here = probability(truth, output, inputs["replacement"])
            return here * max(mpmath.mpf(0), max(masses) / sum(masses) - t) if here else here

        if draws <= 1000:
            total = sum(term(output) for output in outputs(draws, len(known)))
        else:
            centre = draws * truth[0] // sum(truth)
            low, high = max(0, draws - truth[1]), min(truth[0], draws)
            total = sum(
                outwards(
                    lambda k: term((k, draws - k)),
                    boundary(term, centre, end, draws),
                    step,
                    low,
                    high,
                )
                for end, step in ((low, -1), (high, 1))
            )
        best = max(best, total / (1 - t))
    return best


def boundary(term: Callable[..., Any], centre: int, end: int, draws: int) -> int:
    """Return the first place from the centre towards an end where something is gained."""
    outside, inside = centre, end
    # The gain vanishes at the centre and grows outwards until probability underflows 60
    # digits' exponent range, which mpmath does not have: bisection is safe.
    while abs(inside - outside) > 1:
        middle = (inside + outside) // 2
        inside, outside = (middle, outside) if term((middle, draws - middle)) else (inside, middle)
    return inside


def dp_delta(inputs: dict[str, Any]) -> Any:
    n, draws = inputs["n"], inputs["T"]
    if inputs["replacement"]:
        return 1 - (1 - mpmath.mpf(1) / n) ** draws
    return mpmath.mpf(draws) / n


def main() -> None:
    """Recompute every case and write the file; say how far the old values were off."""
    mpmath.mp.dps = DIGITS
    cases = json.loads(FILE.read_text())["cases"]
    compute = {"delta_x": delta_x, "adversary_utility": adversary_utility, "dp_delta": dp_delta}
    worst = mpmath.mpf(0)
    for case in cases:
        value = compute[case["kind"]](case["inputs"])
        worst = max(worst, abs(value / mpmath.mpf(case["expected"]) - 1))
        case["expected"] = mpmath.nstr(value, 25, strip_zeros=False)
        case["expected_ln"] = mpmath.nstr(mpmath.log(value), 25, strip_zeros=False)
        case["how"] = HOW
        print(f"{case['kind']} {case['inputs']}: {case['expected']}")
    FILE.write_text(json.dumps({"cases": cases}, indent=1) + "\n")
    print(f"largest relative change: {mpmath.nstr(worst, 3)}")


if __name__ == "__main__":
    main()
