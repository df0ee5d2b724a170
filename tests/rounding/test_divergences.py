"""Divergences of noise against closed forms at 300 bits: every bound is on its side.

Cauchy noise (Student's T with one degree) has elementary divergences from its shifted and
dilated copy, and the library computes them by its general routes.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import partial

import numpy as np
import pytest
from flint import arb

from smoothdp.noise import StudentT
from smoothdp.noise.calibration.approximate import envelope
from smoothdp.noise.calibration.approximate.envelope import log_envelope
from smoothdp.noise.divergences.divergences import _divergence
from smoothdp.noise.divergences.excess import log_range
from smoothdp.noise.divergences.offset import Offset
from tests.rounding.certain import between, bits, exact

F = Fraction
CAUCHY = StudentT(1)
Place = tuple[Fraction, Fraction]


def places(count: int) -> list[Place]:
    """Shifts and dilations, of both signs, some of them 0."""
    rng = np.random.default_rng(1)
    found = [(F(1, 2), F(0)), (F(0), F(1, 3)), (F(3), F(-1, 2))]
    while len(found) < count:
        found.append((F(int(rng.integers(1, 300)), 100), F(int(rng.integers(-60, 60)), 100)))
    return found


@pytest.mark.parametrize("place", places(12), ids=str)
@pytest.mark.parametrize("reverse", [False, True])
def test_orders_1_and_2_of_cauchy_noise(place: Place, reverse: bool) -> None:
    """KL = ln(((1 + g)^2 + s^2) / 4g) in both directions; E_p[p/q] = ((1 + g^2) + s^2) / 2g."""
    s, t = place
    way = "reverse" if reverse else "forward"

    def kl() -> arb:
        g = exact(t).exp()
        return (((1 + g) ** 2 + exact(s) ** 2) / (4 * g)).log()

    def second() -> arb:
        g = exact(t).exp()
        return (1 + ((1 - g) ** 2 + exact(s) ** 2) / (2 * g)).log()

    for order, truth in ((1, kl), (2, second)):
        lower, upper = CAUCHY.renyi_bounds(order, shift=s, dilation=t, direction=way)  # type: ignore[arg-type]
        assert between(lower, truth, upper)
        assert upper - lower < 1e-10


def cauchy_excess(
    s: Fraction, t: Fraction, epsilon: Fraction, *, stretch: arb | None = None
) -> arb:
    """Return the hockey stick of Z from e^t Z + s: where p > E q is between two roots, or not."""
    g, shift, e = exact(t).exp(), exact(s), exact(epsilon).exp()
    if stretch is not None:
        shift *= stretch
    # p > E q: (g^2 + (x - s)^2) / g > E (1 + x^2).
    a, b, c = 1 / g - e, -2 * shift / g, g + shift * shift / g - e
    if not abs(a) > 0:
        # e^epsilon is the ratio of the tails: p > E q below the one root.
        root = -c / b
        p, q = (arb(1) / 2 + x.atan() / arb.pi() for x in (root, (root - shift) / g))
        return p - e * q
    square = b * b - 4 * a * c
    if not square > 0:
        return arb(0) if a < 0 else 1 - e
    root = square.sqrt()
    ends = sorted(((-b + sign * root) / (2 * a) for sign in (1, -1)), key=float)

    def mass(x: arb, centre: arb, width: arb) -> arb:
        return ((x - centre) / width).atan() / arb.pi()

    p = mass(ends[1], arb(0), arb(1)) - mass(ends[0], arb(0), arb(1))
    q = mass(ends[1], shift, g) - mass(ends[0], shift, g)
    # Between the roots if a < 0, else outside of them.
    return p - e * q if a < 0 else (1 - p) - e * (1 - q)


@pytest.mark.parametrize("place", places(10), ids=str)
def test_hockey_sticks_of_cauchy_noise(place: Place) -> None:
    """By its own route, and as the envelope of one dilation."""
    s, t = place
    top = CAUCHY.renyi_bounds("inf", shift=s, dilation=t)[0]
    for share in (F(1, 10), F(1, 2), F(9, 10), F(999, 1000)):
        epsilon = F(round(top * 10**6), 10**6) * share

        def truth(epsilon: Fraction = epsilon) -> arb:
            return cauchy_excess(s, t, epsilon).log()

        found = CAUCHY.log_delta_bounds(epsilon, shift=s, dilation=t)
        assert between(found.lower, truth, found.upper)
        assert found.upper - found.lower < 1e-9
        if t >= 0:
            found = log_envelope(CAUCHY, s, (t, t), epsilon, reverse=False, target=math.nan)
            assert between(found.lower, truth, found.upper)


@pytest.mark.parametrize("digits", [300, 500, 900])
def test_where_the_loss_exceeds_epsilon_out_of_reach_alone(digits: int) -> None:
    """The loss of e^t Z against Z rises towards t: above t - 10^-500 only beyond 10^250.

    No cell reaches so far, and what is in doubt there is all that there is.
    """
    t = F(1, 2)
    epsilon = t - F(1, 10**digits)
    found = CAUCHY.log_delta_bounds(epsilon, shift=F(0), dilation=t, direction="reverse")
    with bits(8000):
        value = cauchy_excess(F(0), -t, epsilon)
        assert value > 0
        truth = value.log()
    assert between(found.lower, lambda: truth, found.upper)
    assert found.upper < -80


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("s", [F(1, 20), F(1), F(4)])
@pytest.mark.parametrize("ends", [(F(0), F(1, 10)), (F(1, 5), F(1, 2)), (F(1), F(21, 20))], ids=str)
def test_an_envelope_is_above_every_dilation_of_its_piece(
    ends: tuple[Fraction, Fraction], s: Fraction, reverse: bool
) -> None:
    """Of Cauchy noise, in closed form: at both ends, and at five places between."""
    low, high = ends
    for epsilon in (F(0), F(1, 20), F(1, 3), F(1)):
        found = log_envelope(CAUCHY, s, ends, epsilon, reverse=reverse, target=math.nan)
        for place in range(7):
            t = low + (high - low) * place / 6

            def truth(t: Fraction = t, epsilon: Fraction = epsilon) -> arb:
                if not reverse:
                    return cauchy_excess(s, t, epsilon)
                # D(e^t Z + s || Z) is that of Z and e^-t Z + s e^-t.
                return cauchy_excess(s, -t, epsilon, stretch=(-exact(t)).exp())

            with bits():
                value = truth()
                if value > 0:
                    assert exact(found.upper) >= value.log()


class Blurred(Offset):
    """An offset of whose second density nothing is known."""

    def log_q(self, v: arb | None) -> arb:
        return super().log_q(v) + arb(0, 1e9)


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("ends", [(F(0), F(1, 10)), (F(5), F(11, 2))], ids=str)
def test_an_envelope_where_the_radius_is_not_found(
    ends: tuple[Fraction, Fraction], reverse: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No point is known to be below R, so none is known to be above it: nothing is subtracted."""
    s, epsilon = F(1), F(1, 20)
    seen = []

    def blurred(first: Offset, second: Offset) -> tuple[float, float]:
        offsets = (Blurred(x.law, x.shift, x.dilation) for x in (first, second))
        seen.append(crossing(*offsets))
        return seen[-1]

    crossing = envelope._crossing
    exact_radius = log_envelope(CAUCHY, s, ends, epsilon, reverse=reverse, target=math.nan)
    monkeypatch.setattr(envelope, "_crossing", blurred)
    found = log_envelope(CAUCHY, s, ends, epsilon, reverse=reverse, target=math.nan)
    assert seen == [(-math.inf, math.inf)]
    assert found.upper >= exact_radius.lower
    for t in ends:
        stretch = (-exact(t)).exp() if reverse else None
        with bits():
            value = cauchy_excess(s, -t if reverse else t, epsilon, stretch=stretch)
            assert exact(found.upper) >= value.log()


@pytest.mark.parametrize("t", [F(1, 3), F(-1, 2), F(2)])
def test_the_largest_loss_is_that_of_both_directions(t: Fraction) -> None:
    """Of Student's T with three degrees the tails have the larger one, the centre the smaller."""
    law, s = StudentT(3), F(1, 100)
    forward, reverse = (
        law.renyi_bounds("inf", shift=s, dilation=t, direction=way)
        for way in ("forward", "reverse")
    )
    lower, upper = law.max_divergence_bounds(shift=s, dilation=t)
    assert abs(forward[1] - reverse[1]) > 0.1
    assert (lower, upper) == max(forward, reverse)


@pytest.mark.parametrize("seed", range(6))
def test_from_the_integral_to_the_divergence(seed: int) -> None:
    """ln(1 + b e^x) / b, down and up: small, and far beyond e^30."""
    rng = np.random.default_rng(seed)
    for _ in range(60):
        b, x = float(np.exp(rng.uniform(-12, 7))), float(rng.uniform(-60, 400))

        def truth(b: float = b, x: float = x) -> arb:
            return (1 + exact(b) * exact(x).exp()).log() / exact(b)

        lower, upper = _divergence(x, b, -1), _divergence(x, b, 1)
        assert between(lower, truth, upper)
        assert upper <= lower * (1 + 1e-13)


def log_psi(loss: float, b: float) -> arb:
    return ((exact(b) * exact(loss)).expm1() / exact(b) + (-exact(loss)).expm1()).log()


@pytest.mark.parametrize("b", [0.25, 3.0])
def test_the_excess_over_a_cell(b: float) -> None:
    """The largest and the least of psi between two losses; 0 where the cell holds 0."""
    for low, high in ((-2.0, -0.5), (0.5, 2.0), (-1.0, 0.5), (-0.25, 3.0)):
        least, most = log_range(low, high, b)
        for loss in np.linspace(low, high, 17).tolist():
            if loss:
                assert between(least, partial(log_psi, loss, b), most)
        with bits():
            assert most < max(float(log_psi(low, b)), float(log_psi(high, b))) + 1e-9
        assert least == -math.inf or low * high > 0
