"""What each sampling of a training run costs: a unit, how often it runs, what must hold.

Noise over clipping norm is the unit throughout. Under replace_one neighbours the clipped sum
moves by two clipping norms, so the noise counts half. Where no sampling is
counted, and bands: proofs/subsampled-steps#7.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

from smoothdp.claims.guarantees.gaussian import GaussianDP
from smoothdp.claims.neighbours import Neighbours
from smoothdp.errors import InvalidParameter
from smoothdp.exact.parameters.numbers import exact_text
from smoothdp.text import whole_text
from smoothdp.training_runs.allocation import RandomAllocation
from smoothdp.training_runs.settings import Sampling, Settings
from smoothdp.training_runs.subsampled import Subsampled
from smoothdp.training_runs.subsampled_gaussian import SubsampledGaussian
from smoothdp.training_runs.truncated_poisson import TruncatedPoisson
from smoothdp.training_runs.with_replacement import ReplacementBatch

Ends = Literal["two-sided", "bound"]
"""Whether some run attains the figures, or only their upper ends speak of runs."""

_COINS = "the coins that draw a batch depend on neither data nor outputs"
_SECRET = "nobody learns who is in a batch"
_SECRET_SIZE = "nobody learns who is in a batch, nor how many are"
_FIXED_DIVISOR = (
    "nothing is divided by the size that a batch turned out to have: a mean divides by a number "
    "that was fixed without the data"
)
_DECLARED = "n_records is a number that was declared, not read off private data"
_CLIPPED = "each record adds one vector, clipped to the clipping norm, to the sum of its batch"


@dataclass(frozen=True)
class Scheme:
    """A run as items of the accountant, and in words.

    Attributes:
        unit: what is composed: something that `compose` takes.
        count: how often.
        ends: whether some run attains the profile.
        words: how batches are drawn.
        conditions: without which the figures are not about the run.
        reached: what some run costs in each of these units, where that is less than ``unit``.
    """

    unit: Any
    count: int
    ends: Ends
    words: str
    conditions: tuple[str, ...]
    reached: Any = None


_LEAST_NOISE = Fraction(1, 10**300)


def scheme_of(settings: Settings) -> Scheme:
    """Return what the settings cost, or raise InvalidParameter for those that do not fit."""
    return _SCHEMES[settings.sampling](settings)


def _clip_noise(settings: Settings) -> Fraction:
    """Return the noise over how far one record can move the clipped sum."""
    moves = 2 if settings.neighbours is Neighbours.REPLACE_ONE else 1
    counted = settings.noise / (moves * settings.column_norm)
    if not _LEAST_NOISE <= counted <= 1 / _LEAST_NOISE:
        raise InvalidParameter(
            expected="1e-300 <= noise / (what a record moves the sum by) <= 1e300",
            got=f"noise={exact_text(settings.noise)}, column_norm="
            f"{exact_text(settings.column_norm)}, and a record that moves the sum by "
            f"{moves} clipping norms",
            remedy="Give a noise such as 1, in clipping norms",
        )
    return counted


def _random_size(settings: Settings) -> tuple[str, ...]:
    declared = (_DECLARED,) if settings.neighbours is Neighbours.ADD_REMOVE else ()
    return (_CLIPPED, _COINS, _SECRET_SIZE, _FIXED_DIVISOR, *declared)


def _poisson(settings: Settings) -> Scheme:
    replaces = settings.neighbours is Neighbours.REPLACE_ONE
    unit: Any = None
    if replaces:
        unit = Subsampled(
            GaussianDP(1 / _clip_noise(settings)),
            settings.rate,
            add_remove=GaussianDP(1 / settings.noise, neighbours=Neighbours.ADD_REMOVE),
        )
    else:
        unit = SubsampledGaussian(
            settings.rate, noise_multiplier=settings.noise, neighbours=settings.neighbours
        )
    words = (
        "Poisson batches: each step draws each record by its own coin, with probability "
        f"{settings.rate}"
    )
    ends: Ends = "bound" if replaces else "two-sided"
    return Scheme(unit, settings.steps, ends, words, _random_size(settings))


def _truncated_poisson(settings: Settings) -> Scheme:
    most = settings.max_batch
    if most is None:
        raise InvalidParameter(
            expected="max_batch for sampling='truncated_poisson'",
            got="none",
            remedy="Give the largest batch that the trainer uses, such as max_batch=300",
        )
    unit = TruncatedPoisson(
        settings.rate,
        max_batch=most,
        n_records=settings.n_records,
        noise_multiplier=settings.noise,
    )
    words = (
        "Poisson batches, cut: each step draws each record by its own coin, with probability "
        f"{settings.rate}, and of more than {most} a uniform {most} are used"
    )
    conditions = (
        *_random_size(settings),
        "there are at most n_records records",
    )
    # Few other records are never cut.
    uncut = SubsampledGaussian(settings.rate, noise_multiplier=settings.noise)
    return Scheme(unit, settings.steps, "bound", words, conditions, uncut)


def _fixed(settings: Settings) -> Scheme:
    unit = SubsampledGaussian(
        settings.rate,
        noise_multiplier=_clip_noise(settings),
        sampling="without_replacement",
    )
    ends: Ends = "two-sided" if settings.steps == 1 else "bound"
    words = (
        f"batches of exactly {settings.batch} of {whole_text(settings.n_records)} records, drawn "
        "anew without replacement for each step"
    )
    # All other records alike, and unlike the replaced one: a coin whether it is there.
    alike = SubsampledGaussian(settings.rate, noise_multiplier=_clip_noise(settings))
    conditions = (_CLIPPED, _COINS, _SECRET)
    return Scheme(unit, settings.steps, ends, words, conditions, alike)


def _fixed_with_replacement(settings: Settings) -> Scheme:
    batch = int(settings.batch)
    unit = ReplacementBatch(settings.n_records, batch=batch, noise_multiplier=_clip_noise(settings))
    words = (
        f"batches of exactly {batch} draws from {whole_text(settings.n_records)} records, with "
        "replacement, drawn anew for each step"
    )
    return Scheme(unit, settings.steps, "bound", words, (_CLIPPED, _COINS, _SECRET))


def _balls_in_bins(settings: Settings) -> Scheme:
    steps = int(settings.n_records / settings.batch)
    choices = settings.choices or 1
    if steps % choices:
        raise InvalidParameter(
            expected=f"choices that divide the {steps} steps of an epoch",
            got=f"choices={choices}",
            remedy="Choose another number, or another batch",
        )
    passes = settings.epochs or math.ceil(Fraction(settings.steps, steps))
    unit: Any = GaussianDP(1 / settings.noise, neighbours=settings.neighbours)
    if steps > choices:
        unit = RandomAllocation(
            steps // choices, noise_multiplier=settings.noise, neighbours=settings.neighbours
        )
    joins = "one step" if choices == 1 else f"{choices} steps"
    words = (
        f"random allocation: {passes} {'epoch' if passes == 1 else 'epochs'} of {steps} steps, in "
        f"each of which each record joins {joins}, drawn uniformly for it alone"
    )
    # A last epoch that is broken off, or that has a smaller batch as well, costs less.
    whole = settings.steps == passes * steps
    ends: Ends = "two-sided" if whole and choices in (1, steps) else "bound"
    ended = (
        (f"no more than {passes} {'epoch is' if passes == 1 else 'epochs are'} begun",)
        if settings.steps > passes * steps
        else ()
    )
    anew = ("the steps that a record joins are drawn anew for each epoch",) if passes > 1 else ()
    return Scheme(unit, passes * choices, ends, words, (*_random_size(settings), *anew, *ended))


def _shuffled(settings: Settings) -> Scheme:
    unit = GaussianDP(1 / _clip_noise(settings), neighbours=settings.neighbours)
    words = (
        "fixed batches, cut from the shuffled data: no privacy by sampling is counted, and the "
        "figure of Poisson batches would be wrong"
    )
    conditions = (
        _CLIPPED,
        f"a record is in one batch of each of {settings.passes} "
        f"{'pass' if settings.passes == 1 else 'passes'} over the data at most, at a position that "
        "does not depend on the data",
    )
    return Scheme(unit, settings.passes, "bound", words, conditions)


def _banded(settings: Settings) -> Scheme:
    bands = settings.bands
    if bands is None:
        raise InvalidParameter(
            expected="bands for sampling='banded'",
            got="none",
            remedy="Give the number of bands of the matrix C, such as bands=4",
        )
    rate = bands * settings.rate
    if rate > 1:
        raise InvalidParameter(
            expected="batches of at most n_records / bands, the records of one group",
            got=f"batch={settings.batch}, n_records={settings.n_records}, bands={bands}",
            remedy="Lower the batch, or the bands",
        )
    unit = SubsampledGaussian(
        rate, noise_multiplier=_clip_noise(settings), neighbours=settings.neighbours
    )
    words = (
        f"correlated noise C^-1 z by a lower triangular matrix C with {bands} bands; records in "
        f"{bands} fixed groups, step i draws each record of group i mod {bands} by its own coin, "
        f"with probability {rate}"
    )
    conditions = (
        *_random_size(settings),
        f"{settings.column_norm} is the largest norm of a column of C",
        "the group of a record does not depend on the data",
    )
    ends: Ends = "two-sided" if settings.column_norm == 1 else "bound"
    return Scheme(unit, math.ceil(Fraction(settings.steps, bands)), ends, words, conditions)


def _ftrl(settings: Settings) -> Scheme:
    times = settings.passes if settings.participations is None else settings.participations
    least = settings.epochs or math.ceil(settings.steps * settings.rate)
    if times < least:
        raise InvalidParameter(
            expected=f"at least {least} participations: some record takes part so often",
            got=f"participations={times}",
            remedy="Raise participations, or lower the steps",
        )
    apart = ""
    if times > 1:
        if settings.bands is None:
            raise InvalidParameter(
                expected="bands for records that take part more than once",
                got=f"participations={times} without bands",
                remedy="Give the number of bands of C; each record must take part at steps that "
                "are at least so far apart",
            )
        if (times - 1) * settings.bands >= settings.steps:
            raise InvalidParameter(
                expected="participations that are at least bands steps apart",
                got=f"participations={times}, bands={settings.bands}, steps={settings.steps}",
                remedy="Lower participations, or the bands",
            )
        apart = f", at steps that are at least {settings.bands} apart"
    unit = GaussianDP(1 / _clip_noise(settings), neighbours=settings.neighbours)
    words = (
        "correlated noise C^-1 z by a lower triangular matrix C (DP-FTRL), no privacy by sampling; "
        f"each record takes part at most {'once' if times == 1 else f'{times} times'}{apart}"
    )
    conditions = (
        _CLIPPED,
        f"{settings.column_norm} is the largest norm of a column of C",
        "at which steps a record takes part does not depend on the data",
        *((f"C has at most {settings.bands} bands",) if times > 1 else ()),
    )
    ends: Ends = "two-sided" if times == 1 else "bound"
    return Scheme(unit, times, ends, words, conditions)


_SCHEMES: dict[Sampling, Callable[[Settings], Scheme]] = {
    "poisson": _poisson,
    "truncated_poisson": _truncated_poisson,
    "fixed": _fixed,
    "fixed_with_replacement": _fixed_with_replacement,
    "balls_in_bins": _balls_in_bins,
    "shuffled": _shuffled,
    "banded": _banded,
    "ftrl": _ftrl,
}
