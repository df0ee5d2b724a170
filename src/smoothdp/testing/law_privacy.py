"""Does a noise law keep what it is calibrated to? Each claim against plain quadrature.

Two neighbouring databases have releases f + (S / s) Z and f' + (S' / s) Z with |ln S' / S| <= t
and |f - f'| <= min(S, S'): in units of the narrower noise, Z against e^u Z + r with 0 <= u <= t
and 0 <= r <= s, both ways. The losses of some of these pairs are integrated from `log_density`
alone; none may be above the claim.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import TypeAlias

import numpy as np

from smoothdp.claims import ZCDP, ApproxDP, Guarantee, PureDP, TruncatedCDP
from smoothdp.errors import InvalidParameter, OutOfReach
from smoothdp.exact.random.entropy import SeededRandom
from smoothdp.mechanisms import SmoothNoise
from smoothdp.mechanisms.release.release import release
from smoothdp.noise.calibration import Calibration, best_shape
from smoothdp.noise.law import NoiseDistribution
from smoothdp.queries import Median
from smoothdp.testing.law_draws import LEVEL, cells_test, distance_test
from smoothdp.testing.law_floats import require
from smoothdp.testing.smooth_quadrature import hockey_stick, losses, renyi

SMOOTHINGS = (Fraction(1, 20), Fraction(0))
_SENTENCE = re.compile(r"Expected .+; got .+\. .+\.", re.DOTALL)
_ROUGH, _FINE = 2e-3, 1e-6
"""Relative errors of the quadrature: of hockey sticks, whose kink it does not resolve, and of
other integrals."""
_ORDERS = (1.001, 1.5, 2.0, 3.0, 5.0, 8.0, 9.9, 16.0, 40.0, 100.0)
_NODES = 2000
_LEAST_LOG_WEIGHT = -1e6
_SHARES = (0.0, 0.5, 1.0)
_SEED, _RELEASES = 20261122, 600

LawCalibration: TypeAlias = Calibration[NoiseDistribution]
Worst: TypeAlias = Callable[[NoiseDistribution, float, float], float]


@dataclass(frozen=True, slots=True)
class Target:
    """A guarantee, and the figure of a pair of releases that it limits.

    Attributes:
        guarantee: what is promised.
        limit: what the figure may be.
        figure: of a law, a shift and a dilation: the worse of both directions, by quadrature.
        error: the relative error of the figure.
    """

    guarantee: Guarantee
    limit: float
    figure: Worst
    error: float


def _largest_loss(law: NoiseDistribution, shift: float, dilation: float) -> float:
    log_weight, loss = losses(law, shift, dilation)
    # Farther out than any mass a float is too coarse for a shift: 2^53 - 1 may be 2^53 - 2.
    return float(np.abs(loss[np.isfinite(loss) & (log_weight > _LEAST_LOG_WEIGHT)]).max())


def _delta(law: NoiseDistribution, shift: float, dilation: float, *, epsilon: float) -> float:
    return max(
        hockey_stick(law, epsilon, shift, dilation, reverse=reverse) for reverse in (False, True)
    )


def _rho(
    law: NoiseDistribution, shift: float, dilation: float, *, orders: Sequence[float]
) -> float:
    return max(
        renyi(law, order, shift, dilation, reverse=reverse, n=_NODES) / order
        for order in orders
        for reverse in (False, True)
    )


TARGETS = (
    Target(PureDP(1), 1.0, _largest_loss, _FINE),
    Target(ApproxDP(1, delta="1e-6"), 1e-6, partial(_delta, epsilon=1.0), _ROUGH),
    Target(ZCDP("1/2"), 0.5, partial(_rho, orders=_ORDERS), _FINE),
    Target(
        TruncatedCDP("1/2", omega=10),
        0.5,
        partial(_rho, orders=[order for order in _ORDERS if order < 10]),
        _FINE,
    ),
)
"""The four guarantees that noise is calibrated to."""


def calibrated(law: NoiseDistribution, target: Target, smoothing: Fraction) -> LawCalibration | str:
    """Return the calibration to a target once quadrature agrees with it, or why there is none.

    Raises:
        DoesNotConform: a figure above the claim, or a refusal that is not plain or not right.
    """
    t = float(smoothing)
    try:
        calibration = law.calibrate(target.guarantee, smoothing=smoothing)
    except (InvalidParameter, OutOfReach) as refusal:
        plain = _SENTENCE.fullmatch(str(refusal)) is not None
        require(plain, "a refusal in a plain sentence", refusal, "Say what is expected and got")
        if target is TARGETS[0] and smoothing:
            # Hardly any shift, and the whole dilation.
            loss = _largest_loss(law, 1e-6, t)
            require(
                loss > target.limit,
                f"a pure shift of {law!r} at smoothing {t}, whose dilation alone loses {loss:.4g}",
                refusal,
                "See _elasticity_limit, and the score in _growth",
            )
        return str(refusal)
    within(law, target, calibration.shift, t)
    _agrees_with_other_methods(law, target, calibration)
    return calibration


def within(law: NoiseDistribution, target: Target, shift: float, smoothing: float) -> None:
    """Refute a law one of whose pairs up to a shift and smoothing is above the target's limit.

    Raises:
        DoesNotConform: a pair above it, by more than the error of the quadrature.
    """
    for pull in _SHARES:
        for stretch in _SHARES if smoothing else (0.0,):
            pair = shift * pull, smoothing * stretch
            if pair == (0.0, 0.0):
                continue
            figure = target.figure(law, *pair)
            require(
                figure <= target.limit * (1 + target.error),
                f"{target.guarantee!r} of {law!r} at shift {pair[0]:.6g}, dilation {pair[1]:.6g}",
                f"{figure:.8g}, above {target.limit:.8g}",
                "See the claims of the law: _growth, _pure_claim, _undilated_claim, and its "
                "closed forms",
            )


def _agrees_with_other_methods(
    law: NoiseDistribution, target: Target, calibration: LawCalibration
) -> None:
    """A printed theorem or a closed form may allow no more than is exact."""
    most = (
        calibration.exact_shift
        * (1 + Fraction(min(calibration.relative_gap, 1e6)))
        * (1 + Fraction(1, 10**9))
    )
    for method in ("paper", "closed_form"):
        try:
            other = law.calibrate(target.guarantee, smoothing=calibration.smoothing, method=method)
        except (InvalidParameter, OutOfReach):
            continue
        require(
            other.exact_shift <= most,
            f"a shift of at most {float(most):.9g} of {law!r} for {target.guarantee!r}",
            f"{other.shift:.9g} by method {method!r}",
            f"See the claim of the law for {method!r}",
        )


def divergences_are_enclosed(law: NoiseDistribution) -> None:
    """Certified Renyi divergences and hockey sticks lie around plain quadrature."""
    for shift, dilation, way in (("1/2", "1/20", "forward"), ("7/10", "0", "reverse")):
        s, t = float(Fraction(shift)), float(Fraction(dilation))
        pair = {"shift": shift, "dilation": dilation, "direction": way}
        for order in ("3/2", "4"):
            low, high = law.renyi_bounds(order, **pair)  # type: ignore[arg-type]
            value = renyi(law, float(Fraction(order)), s, t, reverse=way == "reverse")
            require(
                high == math.inf or low * (1 - _FINE) <= value <= high * (1 + _FINE),
                f"a Renyi divergence of {law!r} of order {order} in [{low}, {high}] at {pair}",
                value,
                "See the balls of the law, and _renyi_closed",
            )
        low, high = law.delta_bounds("1/4", **pair)  # type: ignore[arg-type]
        value = hockey_stick(law, 0.25, s, t, reverse=way == "reverse")
        require(
            low * (1 - _ROUGH) - 1e-9 <= value <= high * (1 + _ROUGH) + 1e-9,
            f"a hockey stick of {law!r} at 1/4 in [{low}, {high}] at {pair}",
            value,
            "See the balls of the law, and _delta_closed",
        )


def best_shape_serves(family: type[NoiseDistribution], target: Target) -> None:
    """The shape that is chosen for a guarantee is one of the family, and serves."""
    law = best_shape(family, target.guarantee, smoothing=SMOOTHINGS[0])
    require(type(law) is family, f"a {family.__name__}", law, "See _shape_rule")
    calibration = calibrated(law, target, SMOOTHINGS[0])
    require(
        isinstance(calibration, Calibration),
        "a shape that serves",
        calibration,
        "See _shape_rule, _shape_range",
    )


def releases_are_drawn(law: NoiseDistribution, target: Target) -> None:
    """`release` takes the law, and what comes out has its law about the statistic."""
    data = [40.0 + value / 2 for value in range(41)]
    query, smoothing = Median((0, 100), window=1), SMOOTHINGS[0]
    one = release(
        data,
        query=query,
        guarantee=target.guarantee,
        noise=law,
        smoothing=smoothing,
        rng=SeededRandom(_SEED),
    )
    require(one.guarantee == target.guarantee, f"{target.guarantee!r}", one.guarantee, "Report it")
    mechanism = SmoothNoise.calibrate(
        query, guarantee=target.guarantee, n_records=len(data), noise=law, smoothing=smoothing
    )
    rng = SeededRandom(_SEED)
    values = np.array([mechanism.release(data, rng=rng).value for _ in range(_RELEASES)])
    require(values[0] == one.value, f"{values[0]}, from the same bits", one.value, "See `lazy`")
    scale = query.smooth_sensitivity(data, smoothing=smoothing) / mechanism.calibration.shift
    for test in (cells_test, distance_test):
        p_value = test((values - 50.0) / scale, law, law.cdf)
        require(
            p_value > LEVEL,
            f"releases whose noise has the law {law!r} (p-value above {LEVEL})",
            f"{p_value:.3g} by {test.__name__}",
            "See `lazy`",
        )
        wrong = test((values - 50.0) / scale * 2, law, law.cdf)
        require(wrong < LEVEL, "noise twice too wide that is rejected", wrong, "See cdf")
