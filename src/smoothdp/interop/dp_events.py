"""To and from the DpEvent trees of dp_accounting: which mechanisms ran, and how often."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, TypeAlias

from smoothdp.claims.guarantees.concentrated import ZCDP
from smoothdp.claims.guarantees.gaussian import GaussianDP
from smoothdp.claims.neighbours import Neighbours, read_neighbours
from smoothdp.errors import IncompatibleClaims, InvalidParameter
from smoothdp.exact.parameters.numbers import (
    exact_fraction,
    exact_int,
    exact_positive,
    exact_probability,
    float_bounds,
)
from smoothdp.interop.extras import library
from smoothdp.mechanisms import LaplaceMechanism
from smoothdp.training_runs import (
    MixtureOfGaussians,
    Subsampled,
    SubsampledGaussian,
    TrainingRun,
)
from smoothdp.training_runs.truncated_poisson import TruncatedPoisson

Counted: TypeAlias = tuple[Any, int]
# How far from 1 probabilities that were rounded to floats may add up.
_ROUNDED = Fraction(1, 10**9)


def from_dp_event(event: Any, *, neighbours: Neighbours | str) -> list[Counted]:
    """Return what a DpEvent names, as items with counts for `smoothdp.compose`.

    Gaussian and Laplace mechanisms, zCDP, Poisson samples, truncated Poisson samples, mixtures of
    Gaussians, and compositions of these. Numbers are taken as they are printed: .1 is one tenth.
    What the probabilities of a mixture lack of 1 by rounding counts for its largest sensitivity,
    what they have too much is taken from the smallest: the larger shifts are the worse
    (proofs/mixtures-of-gaussians#1).

    Under replace_one zCDP alone: there PLDAccountant takes the noise of a GaussianDpEvent over the
    clipping norm, and RdpAccountant over the sensitivity, which is twice that. The event does not
    say which is meant, and the smaller figure may be wrong by more than a factor of 2.

    Args:
        event: a DpEvent.
        neighbours: what it is about, which dp_accounting keeps elsewhere: "add_remove" for what
            is sampled.

    Raises:
        InvalidParameter: another object, or an event that is not covered: samples of a fixed
            size, whose noise dp_accounting's accountants take in different units, trees; or one
            that protects nothing.
        IncompatibleClaims: sampled events under other neighbours; noise under replace_one.
        MissingExtra: dp_accounting is not installed.

    >>> import dp_accounting
    >>> import smoothdp as sd
    >>> step = dp_accounting.PoissonSampledDpEvent(0.01, dp_accounting.GaussianDpEvent(1.1))
    >>> run = from_dp_event(
    ...     dp_accounting.SelfComposedDpEvent(step, 1000), neighbours="add_remove"
    ... )
    >>> round(sd.compose(run).epsilon("1e-5"), 4)
    1.5154
    """
    events = library("dp_accounting", extra="dp-accounting")
    about = read_neighbours(neighbours)
    return _items(events, event, about)


def _items(events: Any, event: Any, about: Neighbours) -> list[Counted]:
    if isinstance(event, events.NoOpDpEvent):
        return []
    if isinstance(event, events.SelfComposedDpEvent):
        times = exact_int(event.count, name="count", minimum=1)
        return [(item, count * times) for item, count in _items(events, event.event, about)]
    if isinstance(event, events.ComposedDpEvent):
        return [item for part in event.events for item in _items(events, part, about)]
    if isinstance(event, events.GaussianDpEvent | events.LaplaceDpEvent):
        _check_unit(about, type(event).__name__)
    if isinstance(event, events.GaussianDpEvent):
        noise = exact_positive(event.noise_multiplier, name="noise_multiplier")
        return [(GaussianDP(1 / noise, neighbours=about), 1)]
    if isinstance(event, events.LaplaceDpEvent):
        return [(LaplaceMechanism(event.noise_multiplier, neighbours=about), 1)]
    if isinstance(event, events.ZCDpEvent) and event.xi == 0:
        return [(ZCDP(event.rho, neighbours=about), 1)]
    if isinstance(event, events.TruncatedSubsampledGaussianDpEvent):
        step = TruncatedPoisson(
            event.sampling_probability,
            max_batch=event.truncated_batch_size,
            n_records=event.dataset_size,
            noise_multiplier=event.noise_multiplier,
        )
        return [(step, 1)]
    if isinstance(event, events.dp_event.MixtureOfGaussiansDpEvent):
        return _mixture(event, about)
    if isinstance(event, events.PoissonSampledDpEvent):
        rate = exact_fraction(event.sampling_probability, name="sampling_probability")
        inner = _items(events, event.event, about)
        if len(inner) == 1 and inner[0][1] == 1:
            return [(_sampled(inner[0][0], rate, about), 1)]
    if isinstance(event, events.NonPrivateDpEvent):
        raise InvalidParameter(
            expected="events that protect something",
            got="NonPrivateDpEvent, which stands for a release without noise: no epsilon holds",
            remedy="Leave it out only if what it stands for does not depend on the data; else no "
            "figure can be given",
        )
    raise InvalidParameter(
        expected="Gaussian, Laplace, zCDP, Poisson-sampled or truncated events, mixtures of "
        "Gaussians, and compositions of these",
        got=type(event).__name__,
        remedy="Describe the run with smoothdp.training, which asks how batches are drawn",
    )


def _mixture(event: Any, about: Neighbours) -> list[Counted]:
    """Return a mixture of Gaussians; nothing where no shift is above 0."""
    sizes = [exact_fraction(c, name="a sensitivity") for c in event.sensitivities]
    shares = [exact_probability(p, name="a probability") for p in event.sampling_probs]
    lacking = 1 - sum(shares, Fraction(0))
    if len(sizes) != len(shares) or abs(lacking) > _ROUNDED:
        raise InvalidParameter(
            expected="as many probabilities as sensitivities, which add up to 1 but for rounding",
            got=f"{len(sizes)} sensitivities, {len(shares)} probabilities of a sum of "
            f"{float(1 - lacking)!r}",
            remedy="Mend the event",
        )
    places = sorted(range(len(sizes)), key=lambda place: sizes[place])
    if lacking > 0:
        shares[places[-1]] += lacking
    for place in places:
        taken = min(shares[place], max(Fraction(0), -lacking))
        shares[place] -= taken
        lacking += taken
    if not any(c > 0 and p > 0 for c, p in zip(sizes, shares, strict=True)):
        return []
    sigma = exact_positive(event.standard_deviation, name="standard_deviation")
    return [(MixtureOfGaussians(sizes, shares, sigma=sigma, neighbours=about), 1)]


def _check_unit(about: Neighbours, what: str) -> None:
    if about is Neighbours.REPLACE_ONE:
        raise IncompatibleClaims(
            expected="neighbours under which the unit of the noise is known, add_remove or "
            "zero_out",
            got=f"neighbours='replace_one' for {what}",
            remedy="Give the mechanism itself, such as sd.GaussianMechanism(sigma, sensitivity=2)",
        )


def _sampled(item: Any, rate: Fraction, about: Neighbours) -> Any:
    if isinstance(item, GaussianDP) and about is not Neighbours.REPLACE_ONE:
        return SubsampledGaussian(rate, noise_multiplier=1 / item.exact_mu, neighbours=about)
    return Subsampled(item, rate)


def to_dp_event(run: TrainingRun | MixtureOfGaussians) -> Any:
    """Return a training run as a DpEvent of dp_accounting, for its accountants.

    Noise is rounded down, rates and sensitivities up, and so are all probabilities of a mixture
    but that of its smallest sensitivity.

    Args:
        run: what `smoothdp.training` returned, sampled as "poisson", "truncated_poisson",
            "banded", "shuffled" or "ftrl", not under replace_one; or a mixture of Gaussians.

    Raises:
        InvalidParameter: another object, or a sampling that no event stands for.
        IncompatibleClaims: a run under replace_one, as in `from_dp_event`.
        MissingExtra: dp_accounting is not installed.

    >>> import smoothdp as sd
    >>> run = sd.training(n_records=1000, batch=10, steps=7, noise=2, sampling="poisson")
    >>> to_dp_event(run).count, to_dp_event(run).event.event.noise_multiplier
    (7, 2.0)
    """
    events = library("dp_accounting", extra="dp-accounting")
    if isinstance(run, MixtureOfGaussians):
        return _mixture_event(events, run)
    if not isinstance(run, TrainingRun):
        raise InvalidParameter(
            expected="a training run or a mixture of Gaussians",
            got=f"{run!r}",
            remedy="Make one with smoothdp.training",
        )
    unit, count = run.scheme.unit, run.scheme.count
    if isinstance(unit, SubsampledGaussian) and unit.sampling == "poisson":
        noise = events.GaussianDpEvent(float_bounds(unit.exact_noise)[0])
        event = events.PoissonSampledDpEvent(float_bounds(unit.exact_rate)[1], noise)
    elif isinstance(unit, TruncatedPoisson):
        event = events.TruncatedSubsampledGaussianDpEvent(
            unit.n_records,
            float_bounds(unit.exact_rate)[1],
            unit.max_batch,
            float_bounds(unit.exact_noise)[0],
        )
    elif isinstance(unit, GaussianDP):
        _check_unit(run.neighbours, f"sampling={run.sampling!r}")
        event = events.GaussianDpEvent(float_bounds(1 / unit.exact_mu)[0])
    else:
        raise InvalidParameter(
            expected="a sampling that dp_accounting has an event for",
            got=f"sampling={run.sampling!r}, neighbours={run.neighbours.value!r}",
            remedy="Use to_dp_accounting(run.profile()), which hands over the profile",
        )
    return events.SelfComposedDpEvent(event, count)


def _mixture_event(events: Any, mixture: MixtureOfGaussians) -> Any:
    sizes = [float_bounds(c)[1] for c in mixture.exact_sensitivities]
    shares = [float_bounds(p)[1] for p in mixture.exact_probabilities[1:]]
    # The larger shifts have no less than their shares (proofs/mixtures-of-gaussians#1).
    rest = max(Fraction(0), 1 - sum(map(Fraction, shares), Fraction(0)))
    return events.dp_event.MixtureOfGaussiansDpEvent(
        float_bounds(mixture.exact_sigma)[0], sizes, [float_bounds(rest)[0], *shares]
    )
