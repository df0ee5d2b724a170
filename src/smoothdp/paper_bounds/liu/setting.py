"""The settings of the bounds of paper 1: a sample, counts or a model, and epsilon."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from smoothdp.claims.domains import read_epsilon
from smoothdp.claims.model.model import DataModel
from smoothdp.errors import InvalidData, InvalidParameter
from smoothdp.exact.parameters.numbers import LogRatio, Parameter, Real, exact_fraction, exact_int
from smoothdp.exact.parameters.reading import read_sample_size

# delta falls in epsilon, so a bound at this epsilon holds beyond it; e^-10000 is a number.
_LARGEST_EPSILON = Fraction(10_000)


@dataclass(frozen=True, slots=True)
class Sample:
    """n_draws of n_records records."""

    n_records: int
    n_draws: int

    @property
    def rate(self) -> Fraction:
        """eta = T/n, the exact sampling rate."""
        return Fraction(self.n_draws, self.n_records)

    @property
    def is_everything(self) -> bool:
        """T = n: nothing is lost if records are drawn without replacement."""
        return self.n_draws == self.n_records


@dataclass(frozen=True, slots=True)
class AtCounts:
    """What a bound of delta(x) is about: counts, the sample drawn of them, epsilon."""

    counts: tuple[int, ...]
    sample: Sample
    epsilon: Real


@dataclass(frozen=True, slots=True)
class OverModel:
    """What a bound of smoothed delta is about: probabilities, the sample, epsilon."""

    rows: tuple[tuple[Fraction, ...], ...]
    sample: Sample
    epsilon: Real


def read_at_counts(
    counts: Sequence[int],
    epsilon: Parameter,
    n_draws: int | None,
    sampling_rate: Parameter | None,
    *,
    replacing: bool = False,
) -> AtCounts:
    """Return the validated setting of a bound at given counts, or raise."""
    values = read_histogram(counts)
    sample = read_sample(
        sum(values), n_draws=n_draws, sampling_rate=sampling_rate, replacing=replacing
    )
    return AtCounts(values, sample, read_capped_epsilon(epsilon))


def read_over_model(
    n_records: int,
    epsilon: Parameter,
    n_draws: int | None,
    sampling_rate: Parameter | None,
    model: DataModel | None,
    smallest_probability: Parameter | None,
    n_categories: int | None,
    *,
    replacing: bool = False,
) -> OverModel:
    """Return the validated setting of a bound over a model, or raise."""
    sample = read_sample(
        n_records, n_draws=n_draws, sampling_rate=sampling_rate, replacing=replacing
    )
    rows = read_rows(
        model=model, smallest_probability=smallest_probability, n_categories=n_categories
    )
    return OverModel(rows, sample, read_capped_epsilon(epsilon))


def read_sample(
    n_records: int,
    *,
    n_draws: int | None,
    sampling_rate: Parameter | None,
    replacing: bool = False,
) -> Sample:
    """Return a validated sample; T = ceil(sampling_rate * n_records), exactly.

    Raises:
        InvalidParameter: fewer than 2 records, neither or both of n_draws and
            sampling_rate, no draw, more draws than records without replacement.
    """
    n = exact_int(n_records, name="n_records", minimum=2)
    draws = read_sample_size(n, n_draws=n_draws, sampling_rate=sampling_rate)
    if draws > n and not replacing:
        raise InvalidParameter(
            expected=f"n_draws <= n_records={n}",
            got=f"n_draws={draws}",
            remedy="Draw fewer records",
        )
    return Sample(n, draws)


def read_histogram(counts: Sequence[int]) -> tuple[int, ...]:
    """Return the counts over the whole universe, or raise InvalidData."""
    if isinstance(counts, str | bytes) or not isinstance(counts, Sequence):
        raise InvalidData(
            expected="counts as a sequence",
            got=f"{counts!r}",
            remedy="Give a list with a count for each category",
        )
    try:
        values = tuple(exact_int(c, name="a count", minimum=0) for c in counts)
    except InvalidParameter as error:
        raise error.said_as(InvalidData) from None
    if len(values) < 2 or sum(values) < 2:
        raise InvalidData(
            expected="at least two categories and two records",
            got=f"counts={list(values)}",
            remedy="Give the count of every category of the universe, empty ones as 0",
        )
    return values


def read_rows(
    *,
    model: DataModel | None,
    smallest_probability: Parameter | None,
    n_categories: int | None,
) -> tuple[tuple[Fraction, ...], ...]:
    """Return the probabilities of each distribution: of a model, or m times f.

    f = smallest_probability stands for every one of the n_categories = m probabilities.

    Raises:
        InvalidParameter: neither or both, or f outside [0, 1/m].
    """
    if model is not None:
        if not isinstance(model, DataModel):
            raise InvalidParameter(
                expected="model as a DataModel",
                got=f"{model!r}",
                remedy="Build one with DataModel(vertices)",
            )
        if smallest_probability is not None or n_categories is not None:
            raise InvalidParameter(
                expected="a model, or smallest_probability with n_categories",
                got="both",
                remedy="Give the model alone, or smallest_probability with n_categories",
            )
        return model.vertices
    if smallest_probability is None or n_categories is None:
        raise InvalidParameter(
            expected="a model, or smallest_probability with n_categories",
            got="neither in full",
            remedy="Give a model, or both smallest_probability and n_categories",
        )
    categories = exact_int(n_categories, name="n_categories", minimum=2)
    least = exact_fraction(smallest_probability, name="smallest_probability")
    if not 0 <= least <= Fraction(1, categories):
        raise InvalidParameter(
            expected=f"0 <= smallest_probability <= 1/{categories}",
            got=f"smallest_probability={smallest_probability}",
            remedy="Lower smallest_probability: the least of m probabilities is at most 1/m",
        )
    return ((least,) * categories,)


def read_capped_epsilon(epsilon: Parameter) -> Real:
    """Return an exact epsilon, at most 10,000: beyond it, the bound at 10,000 holds."""
    value = read_epsilon(epsilon)
    if isinstance(value, LogRatio):
        return value if float(value) < _LARGEST_EPSILON else _LARGEST_EPSILON
    return min(value, _LARGEST_EPSILON)
