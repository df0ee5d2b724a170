"""Support identification: which values occur at all (paper 3, Definition 3.3, Claim 3.4).

A bin that nobody is in is exactly 0, so the bins that are not 0 are all in the support, and
no threshold is needed. With h equally likely values the support is found if every value's
count s exceeds its missing noise W:

    P(success) = n! [z^n] (sum over s of (z / h)^s / s! P(W < s))^h.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from smoothdp.claims.guarantees.guarantee import Guarantee
from smoothdp.claims.release import Release
from smoothdp.errors import InvalidParameter, OutOfReach
from smoothdp.exact.logspace.bisection import least_integer
from smoothdp.exact.logspace.bounds import UNIT_ROUNDOFF
from smoothdp.exact.parameters.numbers import Parameter, exact_int, proper_probability
from smoothdp.exact.probabilities.stirling import cell_deviance, log_factorial_excess
from smoothdp.exact.probabilities.windows import log_binomial_pmf
from smoothdp.exact.random.entropy import Entropy
from smoothdp.shuffle.goals import Method
from smoothdp.shuffle.histogram.histogram import Histogram
from smoothdp.shuffle.histogram.zero_preserving import read_omission
from smoothdp.types import FloatArray, IntArray

_MOST_SAMPLES = 20_000


class Success(NamedTuple):
    """Bounds of a probability of success."""

    lower: float
    upper: float


def identify_support(
    protocol: Histogram,
    data: Iterable[int] | None = None,
    *,
    counts: Any = None,
    rng: Entropy | None = None,
) -> Release[frozenset[int]]:
    """Run the histogram and return the bins that are not 0; all of them did occur.

    Args:
        protocol: the histogram over the universe, of any size.
        data: one value per user; or counts: the true counts, as `Histogram.release` takes them.

    Raises:
        InvalidData: as `Histogram.release`.

    >>> p = Histogram(200, n_bins=10**18, omission_probability="0.3")
    >>> support = identify_support(p, counts={3: 100, 10**17: 100}).value
    >>> support <= {3, 10**17}
    True
    """
    if not isinstance(protocol, Histogram):
        raise InvalidParameter(
            expected="a Histogram, whose empty bins are exactly 0",
            got=f"{type(protocol).__name__}",
            remedy="Build one with Histogram.calibrate",
        )
    released = protocol.release(data, counts=counts, rng=rng)
    return Release(
        value=released.value.support,
        guarantee=released.guarantee,
        mechanism=f"support of the {released.mechanism}",
        is_private=released.is_private,
        library_version=released.library_version,
        sources=released.sources,
        condition=released.condition,
    )


def support_success(n_users: int, *, support_size: int, omission_probability: Parameter) -> Success:
    """Bound the probability that n samples identify the support, by one polynomial power.

    The factorials are divided by those of Poisson laws of mean n / h, whose sum is n with
    probability P(Poisson(n) = n): all terms are positive and of ordinary size.

    Args:
        n_users: n <= 20,000.
        support_size: h >= 1, values that are equally likely.
        omission_probability: gamma in (0, 1/2].

    Raises:
        InvalidParameter: a parameter outside these domains.
        OutOfReach: more samples.

    >>> round(support_success(163, support_size=2, omission_probability="0.355").lower, 9)
    0.990865293
    """
    n = exact_int(n_users, name="n_users", minimum=1)
    size = exact_int(support_size, name="support_size", minimum=1)
    gamma = read_omission(omission_probability)
    if n > _MOST_SAMPLES:
        raise OutOfReach(
            expected=f"n_users up to {_MOST_SAMPLES}",
            got=f"n_users={n}",
            remedy=f"Ask for at most {_MOST_SAMPLES} samples",
        )
    if size > n:
        return Success(0.0, 0.0)
    s = np.arange(n + 1)
    window = log_binomial_pmf(s, n, gamma)
    below = np.minimum(1.0, np.append(0.0, np.cumsum(np.exp(window.log_values))[:-1]))
    law = np.exp(_log_poisson(s, Fraction(n, size))) * below
    power, coefficients, count = law, np.ones(1), size
    while count:
        if count & 1:
            coefficients = np.convolve(coefficients, power)[: n + 1]
        power = np.convolve(power, power)[: n + 1]
        count >>= 1
    total = float(np.exp(_log_poisson(np.array([n]), Fraction(n)))[0])
    value = float(coefficients[n]) / total
    # Each Poisson and binomial probability within 1e-12, h times; each convolution adds at
    # most n + 1 roundings, the cumulated sums as many.
    slack = size * (2e-12 + (n + 1) * UNIT_ROUNDOFF) + 2 * size.bit_length() * n * UNIT_ROUNDOFF
    return Success(max(0.0, value * (1 - 2 * slack)), min(1.0, value * (1 + 2 * slack) + 1e-290))


def samples_needed(
    *,
    support_size: int,
    guarantee: Guarantee,
    success: Parameter = "99/100",
    method: Method = "exact",
) -> int:
    """Return the least n, all of them honest, at which the calibrated histogram succeeds.

    The search doubles and bisects n: success grows with n in every test, and the
    returned n itself meets the target.

    Raises:
        InvalidParameter: a guarantee that the histogram cannot meet, success outside (0, 1).
        OutOfReach: more than 20,000 samples.

    >>> from smoothdp.claims import ApproxDP
    >>> samples_needed(support_size=2, guarantee=ApproxDP(1, delta="1e-6"))
    163
    """
    remedy = "Give the probability of success that is wanted, such as 0.99"
    target = proper_probability(success, name="success", remedy=remedy)
    size = exact_int(support_size, name="support_size", minimum=1)
    least = Histogram.smallest_n_users(guarantee=guarantee, honest_share=1, method=method)

    def succeeds(n: int) -> bool:
        if n > _MOST_SAMPLES:
            raise OutOfReach(
                expected=f"a support that {_MOST_SAMPLES} users can identify",
                got=f"support_size={size} for {guarantee!r}, which may need more",
                remedy="Lower support_size or success, or raise epsilon or delta",
            )
        protocol = Histogram.calibrate(
            n, n_bins=2, guarantee=guarantee, honest_share=1, method=method
        )
        gamma = protocol.omission_probability
        return support_success(n, support_size=size, omission_probability=gamma).lower >= target

    low, step = least, 1
    if succeeds(low):
        return low
    while not succeeds(low + step):
        low, step = low + step, 2 * step
    return least_integer(succeeds, low + 1, low + step)


def _log_poisson(s: IntArray, mean: Fraction) -> FloatArray:
    """Return ln P(Poisson(mean) = s), by Loader's method: -excess(s) - deviance."""
    logs: FloatArray = -log_factorial_excess(s) - cell_deviance(s, mean)
    return logs
