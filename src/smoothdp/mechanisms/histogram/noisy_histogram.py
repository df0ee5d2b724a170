"""The sampling-histogram mechanism with additive discrete noise (Algorithm 4 of paper 1)."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Literal

from smoothdp.claims.curves.profile import PrivacyProfile
from smoothdp.claims.guarantees.guarantee import Guarantee
from smoothdp.claims.guarantees.standard import PureDP
from smoothdp.errors import InvalidParameter, OutOfReach
from smoothdp.exact.balls.balls import ball, precision, round_up
from smoothdp.exact.parameters.numbers import Parameter, exact_fraction
from smoothdp.exact.random.entropy import Entropy
from smoothdp.exact.random.geometric import two_sided_geometric
from smoothdp.mechanisms.histogram.noisy_law import noisy_law
from smoothdp.mechanisms.sampling.draws import DrawnRecords, Sampling, read_draws
from smoothdp.mechanisms.sampling.finite_law import FiniteLawMechanism, OutputLaw
from smoothdp.sources import Source

NoiseSupport = Literal["nonnegative", "integers"]
MOST_CELLS = 5_000_000
_LARGEST_NOISE_EPSILON = 10**9
_PRECISE_BITS = 64


@dataclass(frozen=True, init=False)
class NoisySamplingHistogram(DrawnRecords, FiniteLawMechanism[tuple[int, ...]]):
    """Draw records at random and publish their histogram with discrete noise in each count.

    Given the sampled count h of a category, o is published with probability proportional to
    exp(-noise_epsilon / 4 |o - h|), independently over the categories. The noisy counts need
    not add up to n_draws. The noise parameter is not the epsilon at which delta is asked.

    Source: Liu, Wang, Xia, Smoothed Differential Privacy, Algorithm 4 and equation (4).

    Args:
        n_records: n, the number of records, public; 2 <= n < 2^50.
        n_draws: T, the number of records drawn; 1 <= T <= n without replacement.
        sampling_rate: instead of n_draws: T = ceil(rate * n), in exact arithmetic.
        noise_epsilon: 0 < noise_epsilon <= 1e9, a rational number; more means less noise.
        sampling: "without_replacement" (default) or "with_replacement".
        noise_support: "nonnegative" (default, as printed): o >= 0, so that the normaliser
            depends on h; or "integers".

    Raises:
        InvalidParameter: a parameter outside these domains.

    >>> m = NoisySamplingHistogram(5, n_draws=3, noise_epsilon=4)
    >>> round(m.delta([2, 3], epsilon="0.5"), 10)
    0.1250672792
    >>> round(m.pure_epsilon(), 6)
    1.746932
    """

    source: ClassVar[Source] = Source("liu-wang-xia", "Algorithm 4, equation (4)")
    n_records: int
    n_draws: int
    noise_epsilon: Fraction
    sampling: Sampling
    noise_support: NoiseSupport

    def __init__(
        self,
        n_records: int,
        *,
        n_draws: int | None = None,
        sampling_rate: Parameter | None = None,
        noise_epsilon: Parameter,
        sampling: Sampling = "without_replacement",
        noise_support: NoiseSupport = "nonnegative",
    ) -> None:
        draws = read_draws(
            n_records,
            n_draws=n_draws,
            sampling_rate=sampling_rate,
            sampling=sampling,
            exact_histogram=False,
        )
        noise = exact_fraction(noise_epsilon, name="noise_epsilon")
        if not 0 < noise <= _LARGEST_NOISE_EPSILON:
            raise InvalidParameter(
                expected="0 < noise_epsilon <= 1e9",
                got=f"noise_epsilon={noise_epsilon}",
                remedy="Give a positive number, or use SamplingHistogram for no noise at all",
            )
        if noise_support not in ("nonnegative", "integers"):
            raise InvalidParameter(
                expected='noise_support "nonnegative" or "integers"',
                got=f"noise_support={noise_support!r}",
                remedy='Use "nonnegative", as paper 1 prints it, or "integers" for unbiased noise',
            )
        self._set_draws(draws)
        object.__setattr__(self, "noise_epsilon", noise)
        object.__setattr__(self, "noise_support", noise_support)

    @property
    def noise_rate(self) -> Fraction:
        """lambda = noise_epsilon / 4: the weight of the noise falls by e^-lambda a step."""
        return self.noise_epsilon / 4

    @property
    def guarantee(self) -> Guarantee:
        """What is promised before any data are seen.

        (0, inclusion probability)-DP, or `pure_epsilon`-DP where that is the stronger of the
        two at every epsilon.
        """
        sampling = super().guarantee
        pure = PureDP(Fraction(self.pure_epsilon()))
        return pure if pure.implies(sampling) else sampling

    def pure_epsilon(self) -> float:
        """Return an epsilon of pure DP for every database, rounded up.

        ln(1 + eta (e^x - 1)) with eta = T/n; with replacement T ln(1 + (e^x - 1) / n). e^x
        bounds how the law of the noisy counts changes when one sampled record changes
        category, from g + e_a to g + e_b with T - 1 others g. With q = e^-lambda,

        - on all integers e^x = q^-2, and the bound is attained for every n and T;
        - on the nonnegative ones the normalisers (1 + q - q^(h+1)) / (1 - q) change as well,
          most at g_a = T - 1 and g_b = 0:
          e^x = q^-2 (1 + q - q^2) (1 + q - q^T) / (1 + q - q^(T+1)). The bound is attained
          for T = 1; for more draws it is an upper bound.

        In both cases e^x <= e^noise_epsilon. Proof: with A the law given that the record is
        not drawn, B and B' the laws given that it is, B <= e^x min(A, B') pointwise (for A
        exchange one drawn record for it), so ((1 - eta) A + eta B) / ((1 - eta) A + eta B')
        is at most 1 - eta + eta e^x. With replacement change one draw at a time, each with
        eta = 1/n. The paper's eta noise_epsilon (Table 1) is too small (notes, erratum 10).
        """
        bits = 128
        while True:
            with precision(bits):
                rate = ball(self.noise_rate)
                growth = (2 * rate).exp()
                excess = (2 * rate).expm1()
                if self.noise_support == "nonnegative":
                    # Both factors as 1 + ahead and 1 + behind: small terms stay accurate.
                    q, q_to_t = (-rate).exp(), (-self.n_draws * rate).exp()
                    ahead = q * -(-rate).expm1()
                    behind = -q_to_t * -(-rate).expm1() / (1 + q * -(-self.n_draws * rate).expm1())
                    excess = excess + growth * (ahead + behind + ahead * behind)
                if self.draws.replacing:
                    value = self.n_draws * (excess / self.n_records).log1p()
                else:
                    value = (excess * ball(self.draws.inclusion())).log1p()
                if value.rel_accuracy_bits() >= _PRECISE_BITS:
                    return round_up(value)
            bits *= 2

    def worst_case_delta(self, *, epsilon: Parameter) -> float:
        """Return a delta of ordinary DP at epsilon, rounded up: the better of what is proved.

        That is the probability that a given record is in the sample, or what `pure_epsilon`
        leaves at epsilon: 0 from there on.
        """
        pure = PureDP(Fraction(self.pure_epsilon())).profile()
        return min(super().worst_case_delta(epsilon=epsilon), pure.delta(epsilon))

    def describe(self) -> str:
        """Return the mechanism and its public parameters in words."""
        where = "nonnegative integers" if self.noise_support == "nonnegative" else "all integers"
        return (
            f"histogram of {self.draws.describe()}, with noise of weight "
            f"exp(-{self.noise_rate} |z|) in each count, on {where}"
        )

    def output_law(self, counts: tuple[int, ...]) -> OutputLaw:
        """Return the law of the output, exactly lumped to {0..T} in each category.

        Outputs from T on share all likelihood ratios and are one cell, and so are those up
        to 0 on all integers (notes A6); cells are in the order of numpy's ravel.

        Raises:
            OutOfReach: more than 5e6 cells.
        """
        self._refuse_beyond(len(counts), 1)
        return noisy_law(
            self.draws,
            counts,
            rate=self.noise_rate,
            nonnegative=self.noise_support == "nonnegative",
            most=MOST_CELLS,
        )

    def profile_at(self, counts: tuple[int, ...]) -> PrivacyProfile:
        """Return the profile at validated counts, over all neighbours and both directions.

        Raises:
            OutOfReach: more than 5e6 cells over all neighbours. Releases have no such limit.
        """
        occupied = sum(count > 0 for count in counts)
        self._refuse_beyond(len(counts), occupied * (len(counts) - 1))
        return super().profile_at(counts)

    def _refuse_beyond(self, n_categories: int, n_neighbours: int) -> None:
        cells = (self.n_draws + 1) ** n_categories * n_neighbours
        if cells > MOST_CELLS:
            raise OutOfReach(
                expected=f"(n_draws + 1)^categories * neighbours <= {MOST_CELLS}",
                got=f"({self.n_draws} + 1)^{n_categories} * {n_neighbours}",
                remedy=(
                    "Draw fewer records, join categories, or use an upper bound: "
                    "pure_epsilon(), or delta of SamplingHistogram, which noise only lowers"
                ),
            )

    def _output(self, counts: tuple[int, ...], rng: Entropy) -> tuple[int, ...]:
        nonnegative = self.noise_support == "nonnegative"
        return tuple(
            h + two_sided_geometric(self.noise_rate, rng, lowest=-h if nonnegative else None)
            for h in self._sample(counts, rng)
        )
