"""What the pictures take: a claim, mechanism or protocol, or the curve itself, by label."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from smoothdp.claims.curves.pair import Pair
from smoothdp.claims.curves.profile import PrivacyProfile
from smoothdp.claims.curves.tradeoff import TradeoffFunction
from smoothdp.errors import InvalidParameter
from smoothdp.plots.canvas import STYLES

if TYPE_CHECKING:
    from collections.abc import Callable

    from matplotlib.axes import Axes


class HasProfile(Protocol):
    """A claim, a mechanism, a protocol, a calibration: whatever has a privacy profile."""

    @property
    def profile(self) -> Callable[..., PrivacyProfile]:
        """`profile()` returns the privacy profile."""


def profile_of(item: PrivacyProfile | HasProfile) -> PrivacyProfile:
    """Return a profile, or the profile of what has one.

    Raises:
        InvalidParameter: it has none.
    """
    if isinstance(item, PrivacyProfile):
        return item
    if not callable(getattr(item, "profile", None)):
        raise InvalidParameter(
            expected="a privacy profile, or a claim, mechanism or protocol with .profile()",
            got=repr(item)[:80],
            remedy="Measure at given counts with mechanism.at(counts)",
        )
    return item.profile()


def tradeoff_of(item: TradeoffFunction | Pair | PrivacyProfile | HasProfile) -> TradeoffFunction:
    """Return a trade-off function, or that of a pair, profile, claim, mechanism or protocol."""
    if isinstance(item, TradeoffFunction):
        return item
    if isinstance(item, Pair):
        return item.tradeoff()
    return profile_of(item).tradeoff()


def by_label(items: Any, *, label: str) -> Mapping[str, Any]:
    """Return several curves by label, or one under a label of its own.

    Raises:
        InvalidParameter: none, or more than there are styles to tell apart.
    """
    named = items if isinstance(items, Mapping) else {label: items}
    if not 0 < len(named) <= len(STYLES):
        raise InvalidParameter(
            expected=f"1 to {len(STYLES)} curves in one picture",
            got=len(named),
            remedy="Draw fewer",
        )
    return named


def power_of_ten(exponent: float) -> str:
    """Return the label of a tick at a log10: 1 or 1e-40."""
    return "1" if exponent == 0 else f"1e{exponent:.0f}"


def power_ticks(axes: Axes, exponents: Sequence[float]) -> None:
    """Label the vertical axis, which holds log10, with powers of ten."""
    axes.set_yticks(list(exponents), [power_of_ten(each) for each in exponents])


def label_axes(axes: Any, *, x: str, y: str, title: str, legend: str = "best") -> None:
    """Give axes their words and legend, as all pictures have them."""
    axes.set_xlabel(x)
    axes.set_ylabel(y)
    axes.set_title(title, fontsize=10)
    axes.legend(frameon=False, fontsize=9, loc=legend)
