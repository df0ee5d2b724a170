"""The radial part of joint PolyPlace noise: its density, moments and sampler."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from smoothdp.exact.balls import special
from smoothdp.exact.balls.balls import ball
from smoothdp.exact.balls.special import Ball
from smoothdp.exact.random.lazy import Undrawn

RadiusDraw = Callable[[Sequence[Ball]], Ball | Undrawn]


@dataclass(frozen=True, slots=True)
class RadialProfile:
    """g(X), X = t r with t the largest smoothing and s t the least: three powers in a row.

        (1 - s X)^(b/s)        up to X1 = 1 / (b + s),
        (1 + s X)^-(b/s + 2)   from there to X2 = 2 / b,
        (1 + X)^-(b + 2)       beyond,

    each times what makes g continuous. With s = 1 the last two are one.

    Source: proofs/joint-quantiles#2, #3, #4.

    Attributes:
        n_values: m. rest: b > max(0, m - 2). ratio: s, above 0 and up to 1.
    """

    n_values: int
    rest: Fraction
    ratio: Fraction

    @property
    def kink(self) -> Fraction:
        """X1."""
        return 1 / (self.rest + self.ratio)

    @property
    def bend(self) -> Fraction:
        """X2, or X1 where there is one smoothing."""
        return self.kink if self.ratio == 1 else 2 / self.rest

    def mass(self, k: int) -> Ball:
        """Return the integral of X^(m - 1 + k) g(X) over X > 0."""
        m, b, s = self.n_values, self.rest, self.ratio
        at_kink, at_bend = self._logs()
        power, scale = m + k, ball(1 / s).log() * (m + k)
        inner = scale.exp() * ball(s * self.kink).beta_lower(ball(power), ball(b / s + 1))
        outer = at_bend + ball(1 + self.bend).log() * ball(b + 2)
        tail = outer.exp() * ball(1 / (1 + self.bend)).beta_lower(ball(b + 2 - power), ball(power))
        if s == 1:
            return inner + tail
        shape = ball(b / s + 2 - power), ball(power)
        near, far = (ball(1 / (1 + s * x)).beta_lower(*shape) for x in (self.kink, self.bend))
        middle = at_kink + ball(1 + s * self.kink).log() * ball(b / s + 2) + scale
        return inner + middle.exp() * (near - far) + tail

    def drawer(self) -> RadiusDraw:
        """Return how X is drawn from m + 1 uniform numbers, or not in this attempt.

        1 + X = prod_i U_i^(-1/(c + i)), i = 0, ..., m - 1, c = b + 2 - m, has the last of the three
        powers everywhere; below X2 it is kept with the ratio of g to it.
        """
        m, b, s = self.n_values, self.rest, self.ratio
        rates = [ball(1 / (b + 2 - m + i)) for i in range(m)]
        kink, bend = ball(1 + self.kink).log(), ball(1 + self.bend).log()
        at_kink, at_bend = self._logs()
        outer, inner, middle = ball(b + 2), ball(b / s), ball(b / s + 2)
        level = at_bend + outer * bend
        turn = at_kink + middle * ball(1 + s * self.kink).log()
        slow, zero = ball(s), special.number(0.0)

        def draw(uniforms: Sequence[Ball]) -> Ball | Undrawn:
            log_size = zero
            for u, rate in zip(uniforms[:m], rates, strict=True):
                log_size -= u.log() * rate
            size = log_size.expm1()
            if log_size >= bend:
                return size
            if not log_size < bend:
                return Undrawn.UNDECIDED
            if log_size < kink:
                kept = inner * (-slow * size).log1p()
            elif log_size >= kink:
                kept = turn - middle * (slow * size).log1p()
            else:
                return Undrawn.UNDECIDED
            kept += outer * log_size - level
            coin = uniforms[m].log()
            if coin > kept:
                return Undrawn.REJECTED
            return size if coin < kept else Undrawn.UNDECIDED

        return draw

    def _logs(self) -> tuple[Ball, Ball]:
        """Return ln g at X1 and at X2."""
        b, s = self.rest, self.ratio
        at_kink = ball(b / s) * ball(1 - s * self.kink).log()
        if s == 1:
            return at_kink, at_kink
        turned = ball((1 + s * self.bend) / (1 + s * self.kink)).log()
        return at_kink, at_kink - ball(b / s + 2) * turned
