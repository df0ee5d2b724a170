"""Table 1 of paper 1: ordinary DP of the sampling histogram with discrete noise (Algorithm 4)."""

from __future__ import annotations

from typing import Literal

from smoothdp.claims.domains import read_epsilon
from smoothdp.errors import InvalidParameter
from smoothdp.exact.balls.balls import ball, precision, round_up
from smoothdp.exact.parameters.numbers import Parameter
from smoothdp.paper_bounds.liu.setting import read_sample

_BITS = 256
# Beyond _LARGE, e^(noise_epsilon/4) is not formed.
_LARGE = 1_000_000


def liu_table_1(
    *,
    n_records: int,
    noise_epsilon: Parameter,
    n_draws: int | None = None,
    sampling_rate: Parameter | None = None,
    support: Literal["integers", "nonnegative"] = "nonnegative",
) -> float:
    """Return a pure epsilon of Algorithm 4 with noise of level noise_epsilon, rounded up.

    Noise as in equation (4): e^(-noise_epsilon/4) per unit and count. With E = e^(noise_epsilon/4),
    ln(1 + eta (E^2 - 1)) for noise on all "integers", which is exact, and
    ln(1 + eta (E^2 + E - 2)) for "nonnegative" outputs, as (4) has them. What eta * epsilon of
    Table 1 should read. Verdict: holds (proofs/draws-and-noise#3, #4). Replacing a record of the
    sample changes probabilities by a factor of at most E^2, or E^2 + E - 1 with the normalisers;
    it is in the sample with probability eta.

    Args:
        n_records: n; noise_epsilon: >= 0, of the noise and not of the claim.
        n_draws: T; or sampling_rate: T = ceil(rate * n).
        support: where the noisy counts live.

    Raises:
        InvalidParameter: arguments outside these domains.

    >>> round(liu_table_1(n_records=4, n_draws=1, noise_epsilon=6, support="integers"), 4)
    1.7529
    """
    sample = read_sample(n_records, n_draws=n_draws, sampling_rate=sampling_rate)
    if support not in ("integers", "nonnegative"):
        raise InvalidParameter(
            expected='support "integers" or "nonnegative"',
            got=f"support={support!r}",
            remedy='Choose support="integers" or support="nonnegative"',
        )
    noise = read_epsilon(noise_epsilon)
    with precision(_BITS):
        quarter = ball(noise) / 4
        if quarter > _LARGE:
            # eta <= 1 and ln(E^2 + E) < 2 ln E + 1.
            return round_up(2 * quarter + 1)
        gain = (2 * quarter).expm1()
        if support == "nonnegative":
            gain += quarter.expm1()
        return round_up((ball(sample.rate) * gain).log1p())
