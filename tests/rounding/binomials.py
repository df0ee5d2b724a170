"""Binomial laws in balls of 300 bits, by the ratio of neighbours from one logarithm."""

from __future__ import annotations

from fractions import Fraction

from flint import arb

from tests.rounding.certain import exact


def binomial_terms(n: int, p: Fraction, first: int, last: int) -> list[arb]:
    """Return P(first), ..., P(last) of Bin(n, p) at the present precision; 0 off the support."""
    hit, miss = exact(p), exact(1 - p)
    start, stop = max(first, 0), min(last, n)
    if start > stop:
        return [arb(0)] * (last - first + 1)
    log_term = arb(n + 1).lgamma() - arb(start + 1).lgamma() - arb(n - start + 1).lgamma()
    term = (log_term + start * hit.log() + (n - start) * miss.log()).exp()
    terms = [arb(0)] * (start - first)
    odds = hit / miss
    for k in range(start, stop + 1):
        terms.append(term)
        term = term * (n - k) / (k + 1) * odds
    return terms + [arb(0)] * (last - stop)
