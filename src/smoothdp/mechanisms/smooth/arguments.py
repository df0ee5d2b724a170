"""Reading the arguments of a release: kinds, neighbours, and which smoothing."""

from __future__ import annotations

from fractions import Fraction

from smoothdp.errors import IncompatibleClaims, InvalidParameter, explain
from smoothdp.exact.parameters.numbers import exact_text
from smoothdp.mechanisms.smooth.defaults import default_smoothing
from smoothdp.noise.law import NoiseDistribution
from smoothdp.privacy.guarantee import Guarantee
from smoothdp.queries import Query
from smoothdp.queries.query import check_overrides
from smoothdp.queries.reading import read_smoothing
from smoothdp.queries.statistic import Statistic


def resolve_smoothing(
    query: Statistic,
    guarantee: Guarantee,
    n_records: int | None,
    given: Fraction | None,
    *,
    error_bars: bool,
) -> Fraction:
    """Return t: 0 where the sensitivity is the same at all data, else what is given or a rule's."""
    if query.fixed_sensitivity(n_records) is not None:
        if given:
            raise InvalidParameter(
                explain(
                    f"smoothing=0 for the {query.describe()}, whose sensitivity is the same at "
                    f"all data",
                    f"smoothing={exact_text(given)}",
                    "Leave smoothing out: it would add noise for nothing",
                )
            )
        return Fraction(0)
    if given is not None:
        return read_smoothing(given)
    if not isinstance(query, Query):
        raise InvalidParameter(
            explain(
                f"smoothing= for {query.describe()}",
                "none",
                "Give t > 0, fixed without looking at the data; epsilon / 10 is a start",
            )
        )
    assert n_records is not None  # n is public
    return default_smoothing(query, guarantee, n_records, error_bars=error_bars)


def check_kinds(query: object, guarantee: object, noise: object, clamp: object) -> None:
    """Refuse arguments of another kind than `SmoothNoise.calibrate` takes."""
    if not isinstance(query, Statistic):
        raise InvalidParameter(
            explain("a statistic such as Median((0, 100))", f"query={query!r}", "Give a query")
        )
    if not isinstance(guarantee, Guarantee):
        raise InvalidParameter(
            explain("a guarantee such as PureDP(1)", f"guarantee={guarantee!r}", "Give one")
        )
    is_family = isinstance(noise, type) and issubclass(noise, NoiseDistribution)
    if noise is not None and not is_family and not isinstance(noise, NoiseDistribution):
        raise InvalidParameter(
            explain("a noise law such as PolyPlace(5)", f"noise={noise!r}", "Give one, or None")
        )
    if not isinstance(clamp, bool):
        raise InvalidParameter(
            explain("clamp as True or False", f"clamp={clamp!r}", "Give one of the two")
        )
    check_statistic(query, guarantee)


def check_statistic(query: Statistic, guarantee: Guarantee) -> None:
    """Refuse a claim about other neighbours, and a query that is not what it seems."""
    if isinstance(query, Query):
        check_overrides(query)
    if guarantee.neighbours is not query.relation():
        raise IncompatibleClaims(
            explain(
                f"a guarantee about {query.relation().sentence(query.record())}",
                f"{guarantee!r}",
                f"Give neighbours={query.relation().value!r}",
            )
        )
