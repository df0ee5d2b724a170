"""Reading the arguments of a release: kinds, neighbours, and which smoothing."""

from __future__ import annotations

from fractions import Fraction

from smoothdp.claims.guarantees.guarantee import Guarantee
from smoothdp.claims.neighbours import Neighbours
from smoothdp.errors import IncompatibleClaims, InvalidParameter
from smoothdp.exact.parameters.numbers import exact_text
from smoothdp.mechanisms.release.bars.targets import Target
from smoothdp.mechanisms.release.defaults import default_smoothing
from smoothdp.noise.law import NoiseDistribution
from smoothdp.queries import FixedStatistic, Quantiles, Query
from smoothdp.queries.private_size.padded_window import PaddedWindow
from smoothdp.queries.query import check_overrides
from smoothdp.queries.read_arguments import read_smoothing
from smoothdp.queries.statistic import Statistic


def resolve_smoothing(
    query: Statistic,
    guarantee: Guarantee,
    n_records: int | None,
    smoothing: Fraction | None,
    *,
    covers: Target | None,
) -> Fraction:
    """Return t: 0 where the sensitivity is the same at all data, else the caller's or a rule's."""
    if query.fixed_sensitivity(n_records) is not None:
        if smoothing:
            raise InvalidParameter(
                expected=(
                    f"smoothing=0 for the {query.describe()}, whose sensitivity is the same at "
                    f"all data"
                ),
                got=f"smoothing={exact_text(smoothing)}",
                remedy="Leave smoothing out: smoothing > 0 would only add noise",
            )
        return Fraction(0)
    if smoothing is not None:
        return read_smoothing(smoothing)
    if not isinstance(query, Query):
        raise InvalidParameter(
            expected=f"smoothing= for {query.describe()}",
            got="none",
            remedy="Give t > 0, fixed without looking at the data; epsilon / 10 is a start",
        )
    assert n_records is not None  # n is public
    return default_smoothing(query, guarantee, n_records, covers=covers)


def check_kinds(query: object, guarantee: object, noise: object, clamp: object) -> None:
    """Refuse arguments of another kind than `SmoothNoise.calibrate` takes."""
    if not isinstance(query, Statistic | FixedStatistic | Quantiles):
        raise InvalidParameter(
            expected="a statistic such as Median((0, 100))",
            got=f"query={query!r}",
            remedy="Give a statistic of smoothdp.queries, with its bounds",
        )
    if not isinstance(guarantee, Guarantee):
        raise InvalidParameter(
            expected="a guarantee such as PureDP(1)",
            got=f"guarantee={guarantee!r}",
            remedy="Give PureDP(epsilon), or an ApproxDP, ZCDP, TruncatedCDP or GaussianDP",
        )
    if guarantee.is_average:
        raise IncompatibleClaims(
            expected="a guarantee that holds at all data: what noise keeps does not depend on a "
            "model of them",
            got=f"{guarantee!r}",
            remedy="Give guarantee=PureDP(epsilon), which is smoothed DP under every model",
        )
    is_family = isinstance(noise, type) and issubclass(noise, NoiseDistribution)
    if noise is not None and not is_family and not isinstance(noise, NoiseDistribution):
        raise InvalidParameter(
            expected="a noise law such as PolyPlace(5)",
            got=f"noise={noise!r}",
            remedy="Give a law or a class of smoothdp.noise, or None for the default law",
        )
    if not isinstance(clamp, bool):
        raise InvalidParameter(
            expected="clamp as True or False",
            got=f"clamp={clamp!r}",
            remedy="Give clamp=True for a value within the bounds, else clamp=False",
        )
    if isinstance(query, Quantiles):
        _check_quantiles(query, guarantee, noise)
        return
    if isinstance(query, FixedStatistic):
        query.check_neighbours(guarantee.neighbours)
        return
    if isinstance(query, Query) and guarantee.neighbours is Neighbours.ADD_REMOVE:
        # `with_private_size` takes another statistic in its place.
        check_overrides(query)
        return
    check_statistic(query, guarantee)


def _check_quantiles(query: Quantiles, guarantee: Guarantee, noise: object) -> None:
    """Refuse a claim about other neighbours, a subclass, and a law: each value has its own."""
    if type(query) is not Quantiles:
        raise InvalidParameter(
            expected="Quantiles as they are",
            got=f"{type(query).__name__}, which may compute other numbers",
            remedy="Give sd.queries.Quantiles(levels, bounds=)",
        )
    if noise is not None:
        raise InvalidParameter(
            expected="no noise= with Quantiles, whose mechanism brings its laws",
            got=f"noise={noise!r}",
            remedy="Leave it out, or release the quantiles one by one",
        )
    if guarantee.neighbours not in (Neighbours.REPLACE_ONE, Neighbours.ADD_REMOVE):
        raise IncompatibleClaims(
            expected="a guarantee about replacing, or adding or removing, one record",
            got=f"{guarantee!r}",
            remedy="Give neighbours='replace_one' or 'add_remove'",
        )


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
                expected=f"a law that says how it is drawn, beside {changed[0]} of its own",
                got=f"{law!r}, with the draws of the class that it changes",
                remedy="Write its method `lazy`",
            )


def check_statistic(query: Statistic, guarantee: Guarantee) -> None:
    """Refuse a claim about other neighbours, and a query whose class replaces methods."""
    if isinstance(query, Query):
        check_overrides(query)
    if type(query) is not PaddedWindow and isinstance(query, PaddedWindow):
        raise InvalidParameter(
            expected="a PaddedWindow as it is",
            got=f"{type(query).__name__}, which may compute other numbers",
            remedy="Give the functions to smoothdp.queries.Custom, which releases what they return",
        )
    if guarantee.neighbours is not query.relation():
        raise IncompatibleClaims(
            expected=f"a guarantee about {query.relation().sentence(query.record())}",
            got=f"{guarantee!r}",
            remedy=f"Give neighbours={query.relation().value!r}",
        )
