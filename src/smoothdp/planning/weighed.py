"""A window and a smoothing, weighed with laws of noise."""

from __future__ import annotations

import math
from dataclasses import dataclass

from smoothdp.planning.alternatives import Alternative
from smoothdp.planning.expected.expected_errors import ExpectedErrors, expected_errors
from smoothdp.planning.expected.sampling_error import SamplingError
from smoothdp.planning.noise_levels import short
from smoothdp.planning.price import Price
from smoothdp.queries import Query

_TIE = math.log(1.02)


@dataclass(frozen=True, slots=True)
class Choice:
    """A window and a smoothing; `log_square` is ln E S^2, and `criterion` the least sought."""

    query: Query
    rate: float
    log_square: float
    criterion: float


@dataclass(frozen=True, slots=True)
class Weighed:
    """A choice with a law, its errors, and the deviation that no noise can beat."""

    choice: Alternative
    errors: ExpectedErrors
    least: float


def weighed(choice: Choice, price: Price, error: SamplingError) -> list[Weighed]:
    """Return a choice with laws of some families, by estimated scales; the best law first.

    An earlier family counts as better up to 2%: its certificates are quicker.
    """
    window, rate = choice.query.drops(price.n_records), short(choice.rate)
    least = math.exp(choice.log_square / 2 + price.log_least(rate))
    width = float(choice.query.bounds[1] - choice.query.bounds[0])
    ranked = []
    for place, quote in enumerate(price.quotes(rate)):
        # An estimate may lie a little below what is proved.
        noise = max(math.exp(choice.log_square / 2 + quote.log_deviation), least)
        errors = expected_errors(error, window, rate, quote.law, noise=noise, least=least)
        half = math.exp(min(choice.log_square / 2 + quote.log_half_width, 700.0))
        found = Alternative(
            choice.query,
            quote.law,
            rate,
            errors.release,
            errors.privacy,
            error.total(window),
            errors.least,
            # Bars end at the bounds.
            None if price.confidence is None else min(half, width / 2),
        )
        cost = quote.log_cost(price.per_deviation) + place * _TIE
        ranked.append((cost, place, Weighed(found, errors, least)))
    return [found for _, _, found in sorted(ranked, key=lambda row: row[:2])]
