"""The max law: noise for a value and for the logarithm of its sensitivity, drawn together."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from fractions import Fraction
from typing import ClassVar

import numpy as np

from smoothdp.claims.curves.profile import PrivacyProfile
from smoothdp.claims.guarantees.guarantee import Guarantee
from smoothdp.claims.terms import EpsilonTerms
from smoothdp.errors import InvalidParameter
from smoothdp.exact.balls.balls import log_bounds
from smoothdp.exact.parameters.numbers import (
    Parameter,
    exact_fraction,
    exact_positive,
    exact_text,
)
from smoothdp.exact.random.lazy_pair import LazyPair
from smoothdp.noise.joint.max_law_draws import max_law_pair
from smoothdp.noise.shift_claim import no_room
from smoothdp.sources import Source
from smoothdp.types import FloatArray

_LARGEST_SHAPE = 10**6
_POINTS = 24
_NOTHING = 48.0


@dataclass(frozen=True, init=False)
class MaxLaw:
    """(Z, B) with density proportional to exp(-max(H(|z|) + d, (a - 1) |b|)), a = epsilon / t.

    H(r) = -(a - 1) ln(1 - r t) up to r t = 1/a, beyond it
    (a + 1) ln((1 + r t) / (1 + 1/a)) - (a - 1) ln(1 - 1/a). The release of y = f + S Z together
    with W = ln S + B is epsilon-DP, where |f - f'| <= min(S, S') and |ln S - ln S'| <= t between
    neighbours. Against two independent releases that share epsilon, an interval made of y and W
    is 20 to 26% shorter, unless t is small.

    Source: proofs/quantile-bars#5, #6.

    Args:
        offset: d >= 0. The larger, the more exactly ln S is told, and the less the value.

    Raises:
        InvalidParameter: an offset that is no number from 0 to 100.

    >>> from smoothdp.claims import PureDP
    >>> law = MaxLaw(offset=1).calibrate(PureDP(1), smoothing="0.05")
    >>> round(law.coverage(excess=0, factor=3), 9)
    0.877768004
    """

    source: ClassVar[Source] = Source("own", "proofs/quantile-bars#5")
    offset: Fraction

    def __init__(self, offset: Parameter = 1) -> None:
        d = exact_fraction(offset, name="offset")
        if not 0 <= d <= 100:
            raise InvalidParameter(
                expected="an offset from 0 to 100", got=f"offset={offset}", remedy="Give 1"
            )
        object.__setattr__(self, "offset", d)

    def __reduce__(self) -> tuple[type[MaxLaw], tuple[Fraction]]:
        return type(self), (self.offset,)

    def calibrate(self, guarantee: Guarantee, *, smoothing: Parameter) -> MaxLawCalibration:
        """Return the law for a guarantee and a smoothing t: its shape is a = epsilon / t.

        Args:
            guarantee: PureDP, or ApproxDP, whose delta is not used.
            smoothing: t > 0, below epsilon.

        Raises:
            InvalidParameter: another guarantee, t of epsilon or more, or of less than
                1e-6 epsilon.
        """
        t = exact_positive(smoothing, name="smoothing")
        terms = guarantee.terms() if isinstance(guarantee, Guarantee) else None
        if not isinstance(terms, EpsilonTerms):
            raise InvalidParameter(
                expected="PureDP or ApproxDP, whose epsilon the max law keeps",
                got=f"{guarantee!r}",
                remedy="Under a concentrated guarantee release value and ln S by two laws",
            )
        epsilon = terms.epsilon
        if not isinstance(epsilon, Fraction):
            # Below the true one, by less than a float can tell.
            epsilon = Fraction(log_bounds(epsilon.ratio).lower)
        if not t < epsilon <= _LARGEST_SHAPE * t:
            raise no_room("1e-6 epsilon <= smoothing < epsilon", self, t, "Change the smoothing")
        return MaxLawCalibration(self, guarantee, t, epsilon / t)


@dataclass(frozen=True)
class MaxLawCalibration:
    """The max law for one guarantee: (f + S Z, ln S + B) keeps it for every t-smooth S.

    Z is in units of S. What is not drawn is computed in floats, and certifies nothing.

    Attributes:
        law: with the offset d. guarantee: what is kept. smoothing: t > 0.
        shape: a = epsilon / t > 1.

    Raises:
        InvalidParameter: a shape that the guarantee does not pay for.
    """

    source: ClassVar[Source] = MaxLaw.source
    label: ClassVar[str] = "proved"
    law: MaxLaw
    guarantee: Guarantee
    smoothing: Fraction
    shape: Fraction

    def __post_init__(self) -> None:
        terms = self.guarantee.terms()
        good = isinstance(terms, EpsilonTerms) and isinstance(self.law, MaxLaw)
        good = good and self.smoothing > 0 and 1 < self.shape <= _LARGEST_SHAPE
        if good:
            assert isinstance(terms, EpsilonTerms)
            whole = terms.epsilon
            if not isinstance(whole, Fraction):
                whole = Fraction(log_bounds(whole.ratio).lower)
            good = self.shape * self.smoothing <= whole
        if not good:
            raise InvalidParameter(
                expected="shape * smoothing <= epsilon, and a shape above 1",
                got=f"shape={exact_text(self.shape)}, smoothing={exact_text(self.smoothing)}",
                remedy="Take what MaxLaw.calibrate returns",
            )

    def __reduce__(self) -> tuple[type[MaxLawCalibration], tuple[object, ...]]:
        # A pickle is read by the constructor, which compares what it says.
        return type(self), tuple(getattr(self, field.name) for field in fields(self))

    def profile(self) -> PrivacyProfile:
        """Return the privacy profile: that of the guarantee."""
        return self.guarantee.profile()

    def lazy(self) -> LazyPair:
        """Return (Z, B) as they are drawn: exactly, from lazy uniform numbers."""
        return max_law_pair(self.shape, self.smoothing, self.law.offset)

    def coverage(self, *, excess: float, factor: float) -> float:
        """Return c(k; F) = P(|Z + k| <= F e^B): how often y +- F e^W covers a point k S from f.

        By quadrature, to about 1e-12; no promise rests on it.

        Args:
            excess: k >= 0. factor: F > 0.

        >>> from smoothdp.claims import PureDP
        >>> law = MaxLaw().calibrate(PureDP(1), smoothing="0.2")
        >>> round(law.coverage(excess=2, factor=10), 9)
        0.942046463
        """
        k, f = float(excess), float(factor)
        if not (k >= 0 and f > 0 and math.isfinite(k + f)):
            raise InvalidParameter(
                expected="excess >= 0 and factor > 0",
                got=f"excess={excess}, factor={factor}",
                remedy="Give finite numbers",
            )
        total = 0.0
        for sign in (1.0, -1.0):
            # Kinks: at the border of H, where |z + k| = 0, and where |ln(|z + k| / F)| = u / (a-1).
            v, weights = self._panels(self._breaks(sign, k, f))
            z, u, density = self._at(v)
            with np.errstate(divide="ignore"):
                x = np.log(np.abs(sign * z + k) / f)
            total += float(weights @ (density * (1 - self.below(x, u))))
        return min(1.0, total / (2 * self._mass()))

    def below(self, x: FloatArray, u: FloatArray) -> FloatArray:
        """Return P(B < x) given |Z| = z with H(z) + d = u."""
        slope = self._floats()[1]
        size = np.abs(x) * slope
        with np.errstate(over="ignore"):
            tail = np.where(size > u, np.exp(np.minimum(u - size, 0.0)), 1 + u - size)
        tail = tail / (2 * (1 + u))
        return np.where(x < 0, tail, 1 - tail)

    def cells(self, width: float, miss: float) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return points 0 = z_0 < z_1 < ..., their u, and P(|Z| > z), for a sum over cells.

        Args:
            width: of a cell, in u. miss: beyond the last point is 1e-4 of it at most.
        """
        a, _, _, border, _ = self._floats()
        inside = np.linspace(0, border, 2 + math.ceil(border * (a - 1) / width))
        reach = (12 - math.log(miss)) / a
        while True:
            outside = border + np.linspace(0, reach, 2 + math.ceil(reach * (a + 1) / width))
            v = np.concatenate([inside, outside[1:]])
            tail = self._tail(v)
            if tail[-1] <= 1e-4 * miss:
                break
            reach *= 1.5
        z, u, _ = self._at(v)
        return z, u, tail

    def moment(self, of: str) -> float:
        """Return E Z^2 ("square") or E e^B ("stretch"), by quadrature; inf where infinite."""
        a, slope, _, border, _ = self._floats()
        if a <= 2:
            return math.inf
        ends = [0.0, border, *(border + np.geomspace(1e-3, 80 / (a - 2) + 40 / a, 40))]
        v, weights = self._panels(ends)
        z, u, density = self._at(v)
        if of == "square":
            inner = z * z
        else:
            # Given u: uniform on +-u / slope, and two exponential tails.
            y = u / slope
            inner = (
                np.sinh(y) * slope
                + (np.exp(y) / (slope - 1) + np.exp(-y) / (slope + 1)) * slope / 2
            ) / (1 + u)
        return float(weights @ (density * inner)) / self._mass()

    # ---- in floats: z = (1 - e^-v) / t inside, ((1 + 1/a) e^w - 1) / t outside, w = v - V ------

    def _floats(self) -> tuple[float, float, float, float, float]:
        """Return a, a - 1, t, V = -ln(1 - 1/a), u_1 = (a - 1) V + d."""
        a = float(self.shape)
        slope = float(self.shape - 1)
        border = -math.log1p(-1 / a) if slope > 0.01 else math.log(a / slope)
        d = float(self.law.offset)
        return a, slope, float(self.smoothing), border, slope * border + d

    def _at(self, v: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return |z|, u and the density in v, not normalised, at v >= 0."""
        a, slope, t, border, top = self._floats()
        d = float(self.law.offset)
        near, far = np.minimum(v, border), np.maximum(v - border, 0.0)
        with np.errstate(over="ignore"):
            z = np.where(v <= border, -np.expm1(-near), (1 + 1 / a) * np.expm1(far) + 1 / a) / t
        u = np.where(v <= border, d + slope * near, top + (a + 1) * far)
        scale = np.where(v <= border, np.exp(-d - a * near), (1 + 1 / a) * np.exp(-top - a * far))
        return z, u, scale * (1 + u)

    def _tail(self, v: FloatArray) -> FloatArray:
        """Return P(|Z| > z) at v."""
        a, slope, _, border, top = self._floats()
        d = float(self.law.offset)

        def integral(start: float, rate: float, x: FloatArray) -> FloatArray:
            return np.exp(-a * x) * ((1 + start + rate * x) / a + rate / a**2)

        near, far = np.minimum(v, border), np.maximum(v - border, 0.0)
        ends = np.array([border])
        inner = math.exp(-d) * (integral(d, slope, near) - integral(d, slope, ends))
        outer = (1 + 1 / a) * math.exp(-top) * integral(top, a + 1, far)
        return (np.maximum(inner, 0.0) + outer) / self._mass()

    def _mass(self) -> float:
        a, slope, _, border, top = self._floats()
        d = float(self.law.offset)
        cut = math.exp(-a * border)
        inner = (1 + d) * (1 - cut) / a + slope * (1 - cut * (1 + a * border)) / a**2
        outer = (1 + 1 / a) * math.exp(-top) * ((1 + top) / a + (a + 1) / a**2)
        return math.exp(-d) * inner + outer

    def _v_of(self, z: float) -> float:
        a, _, t, border, _ = self._floats()
        if z * t <= 1 / a:
            return -math.log1p(-z * t)
        return border + math.log((1 + z * t) / (1 + 1 / a))

    def _breaks(self, sign: float, k: float, f: float) -> list[float]:
        """Return values of v between which the integrand is analytic."""
        a, slope, _, border, _ = self._floats()
        reach = border + _NOTHING / a
        points = {0.0, border, *np.linspace(0, reach, 25)}
        if sign < 0:
            points.add(self._v_of(k))
        grid = np.linspace(0, reach, 2001)
        if sign < 0:
            grid = np.unique(np.concatenate([grid, [self._v_of(k)]]))

        def signs(v: FloatArray) -> FloatArray:
            z, u, _ = self._at(v)
            with np.errstate(divide="ignore"):
                x = np.log(np.abs(sign * z + k) / f)
            return np.abs(x) * slope - u

        values = signs(grid)
        for place in np.flatnonzero(np.signbit(values[:-1]) != np.signbit(values[1:])):
            low, high = float(grid[place]), float(grid[place + 1])
            below = bool(np.signbit(values[place]))
            for _ in range(60):
                middle = (low + high) / 2
                here = bool(np.signbit(signs(np.array([middle]))[0]))
                low, high = (middle, high) if here == below else (low, middle)
            points.add((low + high) / 2)
        return sorted(p for p in points if 0 <= p <= reach)

    @staticmethod
    def _panels(ends: list[float]) -> tuple[FloatArray, FloatArray]:
        points, weights = np.polynomial.legendre.leggauss(_POINTS)
        edges = np.array(ends)
        half = np.diff(edges)[:, None] / 2
        middle = (edges[1:] + edges[:-1])[:, None] / 2
        return (middle + half * points).ravel(), (half * weights).ravel()
