"""Statistics by the names that specs and commands have for them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches

from smoothdp import queries
from smoothdp.errors import InvalidParameter
from smoothdp.queries import FixedStatistic, Query


@dataclass(frozen=True, slots=True)
class NamedStatistic:
    """A statistic as it is named outside of Python.

    Attributes:
        maker: its name in `smoothdp.queries`.
        needed, optional: arguments of its constructor, in the words of a spec.
    """

    maker: str
    needed: tuple[str, ...] = ("bounds",)
    optional: tuple[str, ...] = ()

    def make(
        self, options: Mapping[str, object], *, where: str, also: tuple[str, ...] = ()
    ) -> Query | FixedStatistic:
        """Return the statistic; ``where`` it stands and what ``also`` may, for errors.

        Raises:
            InvalidParameter: an option that is lacking, unknown, or outside its domain.
        """
        known = (*self.needed, *self.optional, *also)
        for name in options:
            if name not in known:
                raise _refused(f"{_listed(known)} for {where}", f"{name!r}", name, known)
        for name in self.needed:
            if name not in options:
                raise InvalidParameter(
                    expected=f"{name} for {where}",
                    got="none",
                    remedy=f"Add {name}, fixed without looking at the data",
                )
        statistic: Query | FixedStatistic = getattr(queries, self.maker)(**options)
        return statistic


NAMED = {
    "median": NamedStatistic("Median", optional=("window",)),
    "quantile": NamedStatistic("Quantile", ("q", "bounds"), ("window",)),
    "quantiles": NamedStatistic("Quantiles", ("levels", "bounds")),
    "trimmed-mean": NamedStatistic("TrimmedMean", ("trim", "bounds")),
    "count": NamedStatistic("Count", ()),
    "sum": NamedStatistic("Sum", optional=("grid",)),
    "mean": NamedStatistic("ClampedMean"),
    "skewed-mean": NamedStatistic("SkewedMean"),
    "variance": NamedStatistic("Variance"),
}
"""What a table may release, by name: a new statistic is one more line."""


_ENDS = ("min", "max", "minimum", "maximum")


def _letters(name: object) -> str:
    return "".join(filter(str.isalpha, str(name))).lower()


_BY_MAKER = {_letters(named.maker): name for name, named in NAMED.items()}
"""What somebody means who writes a name of `smoothdp.queries`, such as clamped-mean."""


def named_statistic(
    name: object, options: Mapping[str, object], *, where: str, also: tuple[str, ...] = ()
) -> Query | FixedStatistic:
    """Return a statistic of `NAMED`.

    Args:
        name: in `NAMED`. options: of its constructor. where: it stands, for errors.
        also: what else may stand there, for errors.

    Raises:
        InvalidParameter: an unknown name, or as `NamedStatistic.make`.

    >>> named_statistic("quantile", {"q": "0.9", "bounds": (0, 10)}, where="pay").describe()
    'quantile 0.9, values clamped to [0, 10]'
    """
    if name in _ENDS:
        raise InvalidParameter(
            expected=f"one of {_listed(NAMED)} for {where}",
            got=f"{name!r}, which one row more can move to the bounds",
            remedy="Take a quantile near it, such as 0.95",
        )
    if not isinstance(name, str) or name not in NAMED:
        meant = _BY_MAKER.get(_letters(name), name)
        raise _refused(f"one of {_listed(NAMED)} for {where}", f"{name!r}", meant, NAMED)
    return NAMED[name].make(options, where=where, also=also)


def _listed(names: Mapping[str, object] | tuple[str, ...]) -> str:
    return ", ".join(names) if names else "no option"


def _refused(
    expected: str, got: str, name: object, known: Mapping[str, object] | tuple[str, ...]
) -> InvalidParameter:
    near = get_close_matches(str(name), list(known), n=1)
    remedy = f"Did you mean {near[0]!r}?" if near else "Leave it out, or correct the name"
    return InvalidParameter(expected=expected, got=got[:80], remedy=remedy)
