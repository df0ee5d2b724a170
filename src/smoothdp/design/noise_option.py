"""What the noise of Algorithm 4 buys at a rate: pure DP at every database."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction

from smoothdp.exact.balls.balls import ball, precision, round_down
from smoothdp.exact.parameters.numbers import LogRatio, Real, sign
from smoothdp.text import rate_float

_LARGEST = 10**9
_DIGITS = 12


@dataclass(frozen=True, slots=True)
class NoiseOption:
    """Two-sided geometric noise on every cell of a sample, so that epsilon is pure.

    Attributes:
        rate: T/n, of the sample; with strata T = ceil(rate n) in each. what: which rate that is,
            in words.
        noise_epsilon: what `NoisySamplingHistogram(..., noise_support="integers")` takes; four
            times lambda, by which ln of the noise's probability falls for each unit.
        standard_deviation: of the noise in one cell; scaled: n/T times that, the error that it
            adds to a scaled cell.

    >>> option = noise_option(Fraction(1, 4), Fraction(1), "a quarter")
    >>> float(option.noise_epsilon), round(option.standard_deviation, 4)
    (4.12691071002, 1.3118)
    """

    what: str
    rate: Fraction
    noise_epsilon: Fraction
    standard_deviation: float

    @property
    def scaled(self) -> float:
        """The standard deviation that the noise adds to a count scaled by n/T."""
        return self.standard_deviation / float(self.rate)

    def total_error(self, sampling_error: float) -> float:
        """Return the standard deviation of a scaled cell with noise, from that without."""
        return math.hypot(sampling_error, self.scaled)

    def to_dict(self) -> dict[str, object]:
        """Return everything for JSON."""
        return {
            "what": self.what,
            "rate": rate_float(self.rate),
            "noise_epsilon": float(self.noise_epsilon),
            "noise_epsilon_exact": str(self.noise_epsilon),
            "standard_deviation": self.standard_deviation,
            "scaled_standard_deviation": self.scaled,
        }


def noise_option(rate: Fraction, epsilon: Real, what: str) -> NoiseOption | None:
    """Return the least noise that makes a sample of a rate epsilon-DP at every database.

    lambda = ln(1 + (e^epsilon - 1) n / T) / 2, rounded down (proofs/designer#5). None where
    nothing is drawn, or epsilon is 0: no noise does.

    Args:
        rate: T/n in [0, 1]. epsilon: >= 0. what: which rate that is, in words.
    """
    if rate <= 0 or sign(epsilon) == 0:
        return None
    # Beyond this lambda the noise is 0 in practice, and more would not be accepted.
    level = epsilon if isinstance(epsilon, LogRatio) else min(epsilon, Fraction(10**8))
    with precision(256):
        if isinstance(level, Fraction) and level > 1000:
            # ln(1 + (E - 1)/eta) >= ln E: e^level has no ball.
            twice = ball(level)
        else:
            twice = (ball(level).expm1() / ball(rate)).log1p()
        value = Fraction(round_down(2 * twice))
    unit = Fraction(10) ** (_DIGITS - 1 - math.floor(math.log10(value)))
    strength = min(Fraction(math.floor(value * unit)) / unit, Fraction(_LARGEST))
    q = math.exp(-float(strength) / 4)
    return NoiseOption(what, rate, strength, math.sqrt(2 * q) / -math.expm1(-float(strength) / 4))


def noise_options(
    rates: Mapping[Fraction, str], epsilon: Real, sizes: Iterable[int]
) -> tuple[NoiseOption, ...]:
    """Return the noise at each rate; T is ceil(rate n) in every stratum, the largest T/n counts.

    Args:
        rates: what they are, in words. epsilon: >= 0. sizes: n of every stratum.

    >>> [o.what for o in noise_options({Fraction(0): "none", Fraction(1): "all"}, Fraction(1), [9])]
    ['all']
    """
    every = sorted(set(sizes))
    found = []
    for rate, what in rates.items():
        share = max(Fraction(math.ceil(rate * size), size) for size in every)
        option = noise_option(share, epsilon, what)
        # Of strata: enough noise for the largest share, at the rate that gives them all.
        found.append(option and replace(option, rate=rate))
    return tuple(one for one in found if one is not None)


def rates_in_words(rate: Fraction, merged: Iterable[tuple[int, Fraction]]) -> dict[Fraction, str]:
    """Return the rates at which noise is shown: of the design, of its merges, and all records."""
    asked = {rate: "this rate"}
    for n_cells, share in merged:
        asked.setdefault(share, f"the rate with {n_cells} cells merged")
    asked.setdefault(Fraction(1), "all records")
    return asked
