"""Lazy draws against the literal rounding of a real number at 400 digits, bit for bit."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from mpmath import mp, mpf

from smoothdp.exact.random.entropy import SeededRandom
from smoothdp.exact.random.lazy import FIRST_BITS, RoundedDraws
from smoothdp.noise import Gaussian, GeneralizedCauchy, Laplace, NoiseDistribution
from tests.oracles.literal_noise import DIGITS, LAWS, Recorded, exact, literal_draw

FAR = 1 << 3000
CASES = [
    # centre, factor, decay
    (Fraction(0), Fraction(1), Fraction(0)),
    (Fraction(1, 3), Fraction(2**40, 7), Fraction(0)),
    (Fraction(-(10**15), 7), Fraction(2**50), Fraction(5, 2)),
    (Fraction(2**60 + 1, 2), Fraction(1, 9), Fraction(300)),
]


def make(law: NoiseDistribution, centre: Fraction) -> RoundedDraws:
    return RoundedDraws(
        law.lazy(), centre=centre, factor=Fraction(1), decay=Fraction(0), lowest=-FAR, highest=FAR
    )


def nearest(y: Any) -> int:
    return int(mp.floor(y + mpf(1) / 2))


@pytest.mark.parametrize("law", LAWS, ids=str)
def test_draws_are_literal_roundings(law: NoiseDistribution) -> None:
    with mp.workdps(DIGITS):
        for case, (centre, factor, decay) in enumerate(CASES):
            draws = RoundedDraws(
                law.lazy(), centre=centre, factor=factor, decay=decay, lowest=-FAR, highest=FAR
            )
            scale = exact(factor) * mp.exp(-exact(decay))
            for seed in range(60):
                rng = Recorded(1000 * case + seed)
                result = draws.draw(rng)
                y = exact(centre) + scale * literal_draw(law, rng.asked)
                assert result == min(max(nearest(y), -FAR), FAR)


@pytest.mark.parametrize("law", LAWS, ids=str)
@pytest.mark.parametrize("depth", [1, 2])
def test_hard_to_round_draws_take_more_bits(law: NoiseDistribution, depth: int) -> None:
    """A border between two results lies among the points that the bits so far allow."""
    count = law.lazy().n_uniforms
    hard_ones = 0
    for seed in range(12):
        known = Recorded(seed)
        make(law, Fraction(0)).draw(known)
        if any(size != count * FIRST_BITS + 1 for size, _ in known.asked):
            continue
        for level in range(depth - 1):
            for _ in range(count):
                known.bits(FIRST_BITS << level)
        with mp.workdps(DIGITS):
            # To 300 digits, far closer than the bits drawn.
            z = mp.nint(literal_draw(law, known.asked) * mpf(10) ** 300)
            border = Fraction(int(z), 10**300) + Fraction(1, 2)
            rng = Recorded(seed + 7, [value for _, value in known.asked])
            result = make(law, -border).draw(rng)
            assert len(rng.asked) >= len(known.asked) + count
            assert result == nearest(literal_draw(law, rng.asked) - exact(border))
            assert result in (-1, 0)
        hard_ones += 1
    assert hard_ones >= 8


@pytest.mark.parametrize("law", LAWS, ids=str)
@pytest.mark.parametrize("pattern", ["zeros", "ones"])
def test_uniform_numbers_next_to_the_ends(law: NoiseDistribution, pattern: str) -> None:
    """The first bits are all 0 or all 1: the draw is extreme, or not yet bounded."""
    size = law.lazy().n_uniforms * FIRST_BITS + 1
    for sign in (0, 1):
        script = [sign if pattern == "zeros" else (1 << size) - 2 + sign]
        rng = Recorded(5, script)
        draws = RoundedDraws(
            law.lazy(),
            centre=Fraction(1, 7),
            factor=Fraction(3),
            decay=Fraction(1),
            lowest=-FAR,
            highest=FAR,
        )
        result = draws.draw(rng)
        with mp.workdps(DIGITS):
            y = exact(Fraction(1, 7)) + 3 * mp.exp(-1) * literal_draw(law, rng.asked)
            assert result == min(max(nearest(y), -FAR), FAR)


@pytest.mark.parametrize("law", LAWS, ids=str)
def test_tiny_noise_on_a_border_shows_its_sign(law: NoiseDistribution) -> None:
    """Noise of e^-1000000 at 3.5, 0.5 and -0.5: only its sign counts, and it does."""
    for border in (3, 0, -1):
        draws = RoundedDraws(
            law.lazy(),
            centre=border + Fraction(1, 2),
            factor=Fraction(1),
            decay=Fraction(10**6),
            lowest=-FAR,
            highest=FAR,
        )
        seen = set()
        for seed in range(40):
            rng = Recorded(seed)
            result = draws.draw(rng)
            with mp.workdps(60):
                assert result == (border + 1 if literal_draw(law, rng.asked) > 0 else border)
            seen.add(result - border)
        assert seen == {0, 1}


@pytest.mark.parametrize("offset", [Fraction(1, 10**200), -Fraction(1, 10**200)])
def test_tiny_noise_beside_a_border_does_not_cross_it(offset: Fraction) -> None:
    draws = RoundedDraws(
        Gaussian().lazy(),
        centre=Fraction(7, 2) + offset,
        factor=Fraction(1),
        decay=Fraction(10**6),
        lowest=-FAR,
        highest=FAR,
    )
    expected = 4 if offset > 0 else 3
    assert {draws.draw(SeededRandom(seed)) for seed in range(20)} == {expected}


def test_limits_replace_what_is_beyond() -> None:
    law = GeneralizedCauchy("1.01")
    draws = RoundedDraws(
        law.lazy(),
        centre=Fraction(1),
        factor=Fraction(1),
        decay=Fraction(0),
        lowest=-50,
        highest=60,
    )
    seen = set()
    for seed in range(150):
        rng = Recorded(seed)
        result = draws.draw(rng)
        with mp.workdps(60):
            y = 1 + literal_draw(law, rng.asked)
            assert result == (60 if y > 60 else -50 if y < -50 else nearest(y))
        seen.add(result)
    assert {-50, 60} <= seen


def test_the_comparison_can_fail() -> None:
    """A sampler in floats differs from the literal rounding at most draws on a fine grid."""
    import math

    wrong = 0
    with mp.workdps(DIGITS):
        for seed in range(50):
            rng = Recorded(seed)
            exact_result = RoundedDraws(
                Laplace().lazy(),
                centre=Fraction(0),
                factor=Fraction(2**56),
                decay=Fraction(0),
                lowest=-FAR,
                highest=FAR,
            ).draw(rng)
            u = ((rng.asked[0][1] >> 1) + 0.5) / 2.0**96
            size = math.log(u) * 2.0**56
            wrong += round(-size if rng.asked[0][1] & 1 else size) != exact_result
    assert wrong > 25
