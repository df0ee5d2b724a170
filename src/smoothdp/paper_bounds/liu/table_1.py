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
    Table 1 should read. Verdict: holds (proved). Proof: replacing a record of the sample moves
    one count up and one down by 1, so probabilities by at most E^2 before normalising. On the
    integers the normaliser is constant; on the others that of a count c,
    z(c) = 1 + q + ... + q^c + q/(1 - q) with q = 1/E, rises by a factor of at most
    z(1)/z(0) = 1 + q - q^2, so E^2 (1 + q - q^2) = E^2 + E - 1 in all. Call that R, let A be
    the law if the record is not sampled and B, B' if it is, before and after. B <= R A and
    B <= R B' give B - B' <= (R - 1) ((1 - eta) A + eta B'), so the ratio of (1 - eta) A + eta B
    to (1 - eta) A + eta B' is at most 1 + eta (R - 1). On the integers a record that is alone
    in its category meets it, at outputs above 0 there and low elsewhere.

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
