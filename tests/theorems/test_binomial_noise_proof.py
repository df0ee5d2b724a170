"""Statements of docs/proofs/binomial-noise.md, by exact laws."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

from smoothdp import paper_bounds as pb

F = Fraction


def binomial(n: int, gamma: Fraction) -> list[Fraction]:
    return [math.comb(n, z) * gamma**z * (1 - gamma) ** (n - z) for z in range(n + 1)]


@pytest.mark.parametrize("gamma", [F(1, 2), F(1, 5)])
@pytest.mark.parametrize("alpha", [F(1, 4), F(9, 10)])
def test_binomial_laws_are_smooth(gamma: Fraction, alpha: Fraction) -> None:
    """Every shift up to alpha gamma n / 2; with far smaller steps than E it is false."""
    n = 120
    law = binomial(n, gamma)
    growth = (1 + alpha) / (1 - alpha)
    mean = gamma * n
    delta = math.exp(-(alpha**2) * mean / 8) + math.exp(-(alpha**2) * mean / (8 + 2 * alpha))

    def failing(shift: int, step: Fraction) -> Fraction:
        total = F(0)
        for y, mass in enumerate(law):
            other = law[y + shift] if 0 <= y + shift <= n else F(0)
            factor = step ** abs(shift)
            if not mass <= factor * other or not other <= factor * mass:
                total += mass
        return total

    farthest = math.floor(alpha * mean / 2)
    assert farthest >= 1
    for shift in range(1, farthest + 1):
        assert failing(shift, growth) <= delta
        assert failing(-shift, growth) <= delta
    # The steps of the proof.
    low, high = math.ceil((1 - alpha) * mean), math.floor((1 + alpha) * mean)
    steps = [law[z] / law[z + 1] for z in range(low, high)]
    assert max(*steps, *(1 / s for s in steps)) <= growth
    if alpha == F(9, 10):
        assert failing(1, 1 + alpha / 20) > delta


def test_enough_noise() -> None:
    for n, epsilon, delta in ((400, 1.0, 0.05), (600, 2.0, 1e-3), (500, 0.8, 0.2)):
        gamma = F(
            pb.balcer_cheu_omission_all_epsilon(n, epsilon=F(epsilon), delta=F(delta))
        ).limit_denominator(10**4)
        law = binomial(n, gamma)
        growth = F(math.exp(epsilon))
        for p, q in (([*law, F(0)], [F(0), *law]), ([F(0), *law], [*law, F(0)])):
            total = sum((max(F(0), a - growth * b) for a, b in zip(p, q, strict=True)), F(0))
            assert total <= F(delta)
        # A small part of the noise is not enough.
        short = binomial(n, gamma / 400)
        shifted = zip([*short, F(0)], [F(0), *short], strict=True)
        assert sum((max(F(0), a - growth * b) for a, b in shifted), F(0)) > F(delta)
    assert pb.balcer_cheu_omission_all_epsilon(10**4, epsilon=1, delta="1e-6") == pytest.approx(
        0.06794, abs=1e-5
    )
