"""Reading the arguments of a release: kinds, neighbours, and which smoothing."""

from __future__ import annotations

from fractions import Fraction

from smoothdp.errors import IncompatibleClaims, InvalidParameter, explain
from smoothdp.exact.parameters import exact_text
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


# Of the draws; the last belongs to Python's abstract classes.
_SAYS_NOTHING = {
    *("source", "parameters", "printed_shapes"),
    *("_shipped_targets", "_shape_rule", "_shape_range", "_abc_impl"),
}


def check_sampler(law: NoiseDistribution) -> None:
    """Refuse a law that cannot be drawn, and one whose draws are those of a class it changes.

    Raises:
        InvalidParameter: no `lazy`, or one that is inherited beside a density of its own.
    """
    law.lazy()
    for kind in type(law).__mro__:
        if "lazy" in vars(kind):
            return
        own = [name for name in vars(kind) if not name.startswith("__")]
        changed = [n for n in own if hasattr(NoiseDistribution, n) and n not in _SAYS_NOTHING]
        if changed:
            raise InvalidParameter(
                explain(
                    f"a law that says how it is drawn, beside {changed[0]} of its own",
                    f"{law!r}, with the draws of the class that it changes",
                    "Write its method `lazy`",
                )
            )


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
