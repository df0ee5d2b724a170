"""The Laplace transform of the log-normal law, E exp(-z e^(sigma Y)), enclosed."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple

from flint import arb, arb_poly, ctx, fmpq

from smoothdp.exact.balls.balls import ball, precision
from smoothdp.exact.balls.work import spend, spend_once

_LN2 = math.log(2)
# A cell reaches this far from its centre, in units of sigma; centres are half as dense again.
_REACH = Fraction(26, 100)
_SPACING = Fraction(1, 2)
_MOST_CELL_BITS = 160
_FURTHEST_CENTER = -60.0
_SUMS_PER_CELL = 14


def log_transform_ball(log_z: arb, sigma: Fraction) -> arb:
    """Enclose ln E exp(-e^log_z e^(sigma Y)), Y standard normal, at the present precision.

    The mean is the integral of F(y) = phi(y) exp(-z e^(sigma y)), and h times the sum of
    F(j h) is off by at most 2 M / (e^(2 pi c / h) - 1), where M bounds the integral of |F| on
    the lines of height +-c, sigma c < pi / 2. There |F| is at most e^(c^2/2) times the
    integrand of z cos(sigma c), whose exponent has a second derivative <= -1, so that
    M = e^(c^2/2) exp(E + E'^2 / 2), with E the exponent and E' its slope at any point. F is
    log-concave on the real line, so what is left out is below a geometric series. With
    sigma h = ln(2) / m every m-th factor exp(-z e^(sigma y)) is the square of one before.

    Near a centre, ln z = c + sigma x, the sum over points moved to y - x is
    e^(-x^2 / 2) times the sum of the terms at c times e^(y x): a power series in x whose
    coefficients are kept.

    Args:
        log_z: a thin real ball.
        sigma: shape > 0.
    """
    if ctx.prec > _MOST_CELL_BITS:
        spend(_work(sigma))
        return _transform(log_z, sigma)
    width = _width(sigma, ctx.prec)
    index = math.floor(float(log_z / width) + 0.5)
    x = (log_z - width * index) / ball(sigma)
    if _center(log_z, sigma) < _FURTHEST_CENTER or not abs(x) < ball(_REACH):
        spend(_work(sigma))
        return _transform(log_z, sigma)
    spend_once((sigma, index, ctx.prec), _SUMS_PER_CELL * _work(sigma))
    cell = _cell(sigma, index, ctx.prec)
    return (cell.series(x) + cell.error).log() + x * (cell.center - x / 2)


def _work(sigma: Fraction) -> int:
    """Return what a sum costs, in the units of `smoothdp.exact.balls.work`: terms times digits."""
    return int((120 + 250 * float(sigma)) * ctx.prec / 96)


def _center(log_z: arb, sigma: Fraction) -> float:
    """Return roughly where the integrand is largest."""
    return -_omega(float(log_z) + 2 * math.log(sigma)) / float(sigma)


class _Cell(NamedTuple):
    """ln of the transform is ln(series(x) +- error) + center x - x^2 / 2."""

    series: arb_poly
    error: arb
    center: arb


class _Terms(NamedTuple):
    """Terms exp(-y^2 / 2 - z e^(sigma y)) at y = (start + n) h, and the last two on each side."""

    values: list[arb]
    start: int
    per_octave: int
    log_error: float
    """ln of the error of their sum as an integral over y / h."""


@lru_cache(maxsize=8192)
def _cell(sigma: Fraction, index: int, bits: int) -> _Cell:
    log_z = _width(sigma, bits) * index
    middle = _center(log_z, sigma)
    # The reach of the cell adds to the exponents: so many digits more.
    more = 12 - 2.2 * middle * float(_REACH)
    terms = _terms(log_z, sigma, more, float(sigma * _REACH))
    step = arb(2).log() / (ball(sigma) * terms.per_octave)
    center = arb(middle)
    reach = ball(_REACH)
    count = len(terms.values)
    distances = [step * (terms.start + n) - center for n in range(count)]
    size = _count(bits)
    sums = [arb(0)] * size
    rest = arb(0)
    for distance, value in zip(distances, terms.values, strict=True):
        term = value
        for n in range(size):
            sums[n] += term
            term = term * distance / (n + 1)
        far = abs(distance) * reach
        rest += value * far**size * far.exp() / arb(size + 1).gamma()
    for inner, outer in ((1, 0), (count - 2, count - 1)):
        pair = [terms.values[n] * (abs(distances[n]) * reach).exp() for n in (inner, outer)]
        rest += _beyond(*pair).abs_upper()
    # The error of the sum holds for the terms without e^(center x - x^2 / 2).
    drift = (abs(center) * reach + reach * reach / 2).exp()
    rest += arb(terms.log_error).exp() * drift
    scale = _spacing(sigma, terms.per_octave, bits)
    return _Cell(
        arb_poly([value * scale for value in sums]), arb(0, (rest * scale).abs_upper()), center
    )


def _count(bits: int) -> int:
    """Return enough coefficients: sup of e^(-d^2/2) (d reach)^n / n! is below 2^-bits."""
    n, reach = 8, float(_REACH)
    while n / 2 * (math.log(n) - 1) + n * math.log(reach) - math.lgamma(n + 1) > -bits * _LN2 - 4:
        n += 1
    return n


def _transform(log_z: arb, sigma: Fraction) -> arb:
    bits = ctx.prec
    terms = _terms(log_z, sigma, 0.0, 0.0)
    values = terms.values
    total = sum(values, arb(0)) + _beyond(values[1], values[0]) + _beyond(values[-2], values[-1])
    total += arb(0, arb(terms.log_error).exp().abs_upper())
    return (total * _spacing(sigma, terms.per_octave, bits)).log()


def _terms(log_z: arb, sigma: Fraction, more_digits: float, lower: float) -> _Terms:
    """Return the terms of the sum; the error holds from ln z down to ln z - ``lower``."""
    bits = ctx.prec
    z_mid, sigma_mid = float(log_z), float(sigma)
    digits = bits * _LN2 + 4 + more_digits
    omega = _omega(z_mid + 2 * math.log(sigma_mid))
    k, center = omega / sigma_mid**2, -omega / sigma_mid
    height, step = _strip(k, sigma_mid, digits)
    per_octave = _grid(math.ceil(_LN2 / (sigma_mid * step)))
    h = _LN2 / (sigma_mid * per_octave)
    start = math.floor((center - _left_reach(k, sigma_mid, digits)) / h)
    # A square doubles a relative error: bits for every octave there is.
    octaves = max(0, math.ceil((center + math.sqrt(2 * digits)) / h - start)) // per_octave
    # Rounded up, so that few precisions are met.
    with precision(-(-(bits + octaves + 12) // 32) * 32):
        values = _values(log_z.exp(), sigma, per_octave, start, center / h, digits)
    # The transform falls with z, and so does the bound.
    log_error = _log_error(z_mid - lower, sigma_mid, height, h)
    return _Terms(values, start, per_octave, log_error)


def _values(
    z: arb, sigma: Fraction, per_octave: int, start: int, center: float, digits: float
) -> list[arb]:
    known, tiny = _grid_points(sigma, per_octave, ctx.prec), _tiny(digits)
    total = arb(0)
    powers: list[arb] = []
    values: list[arb] = []
    n = 0
    while True:
        point = known.get(start + n)
        if point is None:
            point = known[start + n] = _grid_point(sigma, per_octave, start + n)
        weight, fall = point
        power = (z * fall).exp() if n < per_octave else powers[n - per_octave] ** 2
        powers.append(power)
        values.append(weight * power)
        total += values[-1]
        if start + n > center and n > 2 and not values[-1] >= tiny * total:
            return values
        n += 1


def _beyond(inner: arb, outer: arb) -> arb:
    """Return a ball around the terms that follow two of a log-concave series, and 0."""
    ratio = outer / inner
    return arb(0, (outer * ratio / (1 - ratio)).abs_upper()) if ratio < 1 else arb("nan")


def _log_error(log_z: float, sigma: float, height: float, step: float) -> float:
    """Return ln of a bound of the error of the sum (not yet times h / sqrt(2 pi)).

    In floats: the margin added is far above their rounding.
    """
    log_lowered = log_z + math.log(math.cos(sigma * height))
    top = -_omega(log_lowered + 2 * math.log(sigma)) / sigma
    lowered = math.exp(log_lowered + sigma * top)
    slope = -top - sigma * lowered
    exponent = -top * top / 2 - lowered + height**2 / 2 + slope * slope / 2
    decay = 2 * math.pi * height / step
    margin = 1e-9 * (1 + top * top + lowered + decay)
    log_count = math.log(2 * math.pi) / 2 - math.log(step)
    return exponent + log_count + _LN2 - decay - math.log1p(-math.exp(-decay)) + margin


def _omega(log_x: float) -> float:
    """Return roughly the w with w + ln w = log_x."""
    w = math.exp(log_x) if log_x < 0 else max(1.0, log_x)
    for _ in range(50):
        if w == 0.0:
            return 0.0
        step = (log_x - w - math.log(w)) * w / (1 + w)
        w = max(w + step, w / 4)
        if abs(step) < 1e-9 * w:
            break
    return w


def _strip(k: float, sigma: float, digits: float) -> tuple[float, float]:
    """Return a height and a step for an error of e^-digits."""
    height = min(math.sqrt(2 * digits / (1 + k * sigma**2)), 1.35 / sigma)
    growth = height**2 / 2 - k * math.log(math.cos(sigma * height))
    return height, 2 * math.pi * height / (digits + growth + 4)


def _grid(least: int) -> int:
    """Return a number of points per octave, one of few, so that grids are kept."""
    size = 1 << max(0, least.bit_length() - 3)
    return -(-least // size) * size


def _left_reach(k: float, sigma: float, digits: float) -> float:
    """Return how far left of the centre the integrand falls by e^-digits."""
    near, far = 0.0, math.sqrt(2 * digits)
    for _ in range(10):
        middle = (near + far) / 2
        fall = middle**2 / 2 + k * (math.expm1(-sigma * middle) + sigma * middle)
        near, far = (near, middle) if fall > digits else (middle, far)
    return far


@lru_cache(maxsize=256)
def _grid_points(sigma: Fraction, per_octave: int, bits: int) -> dict[int, tuple[arb, arb]]:
    """Return what is known of a grid: exp(-y^2 / 2) and -e^(sigma y) by j, y = j h."""
    del sigma, per_octave, bits
    return {}


def _grid_point(sigma: Fraction, per_octave: int, j: int) -> tuple[arb, arb]:
    octaves = arb(fmpq(j, per_octave)) * arb(2).log()
    y = octaves * arb(fmpq(sigma.denominator, sigma.numerator))
    return (-y * y / 2).exp(), -octaves.exp()


@lru_cache(maxsize=256)
def _spacing(sigma: Fraction, per_octave: int, bits: int) -> arb:
    """Return h / sqrt(2 pi)."""
    with precision(bits + 10):
        return arb(2).log() / (ball(sigma) * per_octave) / (2 * arb.pi()).sqrt()


@lru_cache(maxsize=256)
def _width(sigma: Fraction, bits: int) -> arb:
    """Return the distance of the centres of cells."""
    with precision(bits):
        return ball(sigma * _SPACING)


@lru_cache(maxsize=64)
def _tiny(digits: float) -> arb:
    return arb(-digits).exp()
