"""What leaves a mechanism: the value and the promise, nothing else about the data."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Generic, TypeVar

from smoothdp.claims.guarantees.guarantee import Guarantee
from smoothdp.claims.label import Label
from smoothdp.errors import InvalidParameter
from smoothdp.text import html_card
from smoothdp.version import __version__

if TYPE_CHECKING:
    from smoothdp.sources import Source

Value = TypeVar("Value")
_LONGEST_SHOWN = 500


def library_version() -> str:
    """Return the version of smoothdp that runs, whatever else is installed."""
    return __version__


@dataclass(frozen=True, slots=True)
class Release(Generic[Value]):
    """A released value with its guarantee.

    It never holds the data, a sensitivity at the data, delta at the data, or a seed.

    Attributes:
        value: what was released.
        guarantee: the promise, known before the data were read.
        mechanism: the mechanism and its public parameters, in words.
        is_private: False when seeded randomness was used: such a value must not be
            published, because whoever knows the seed can undo the noise.
        library_version: the version of smoothdp that made it.
        sources: where the mechanism and its guarantee are described.
        label: its name, purpose and who, if it was given one.
        condition: what the promise rests on besides the mechanism, in words: "provided ...".

    Raises:
        InvalidParameter: a guarantee that is none.

    >>> import smoothdp as sd
    >>> ages = [20 + i % 50 for i in range(1000)]
    >>> release = sd.release(ages, sd.queries.Median((0, 120)), guarantee=sd.PureDP(1))
    >>> 0 <= release.value <= 120, release.guarantee, release.is_private
    (True, PureDP(epsilon=1, neighbours='replace_one'), True)
    """

    value: Value
    guarantee: Guarantee
    mechanism: str
    is_private: bool
    library_version: str
    sources: tuple[Source, ...]
    label: Label | None = field(default=None, kw_only=True)
    condition: str = field(default="", kw_only=True)

    def __post_init__(self) -> None:
        if not isinstance(self.guarantee, Guarantee):
            raise InvalidParameter(
                expected="a guarantee such as PureDP(1)",
                got=f"guarantee={self.guarantee!r}",
                remedy="State what the mechanism keeps",
            )

    def sentence(self) -> str:
        """Return the promise in plain English, after the label if there is one."""
        before = "" if self.label is None else f"{self.label.words()}: "
        if not self.is_private:
            return (
                f"{before}NOT PRIVATE: made with seeded randomness, for tests and simulation only."
            )
        provided = f" It holds {self.condition}." if self.condition else ""
        return before + self.guarantee.sentence() + provided

    def _repr_html_(self) -> str:
        """Return the release for a notebook: what was released, its error bars, the promise."""
        rows = [("value", _shown(self.value))]
        interval = getattr(self, "interval", None)
        if interval is not None:
            rows.append(("error bars", f"{_shown(interval)} ({getattr(self, 'covers', '')})"))
        rows += [("mechanism", self.mechanism), ("claim", repr(self.guarantee))]
        title = "Release" if self.label is None else self.label.words()
        return html_card(title, rows, note=self.sentence())


def _shown(value: object) -> str:
    if isinstance(value, tuple | list):
        return ", ".join(map(_shown, value))
    text = f"{value:.10g}" if isinstance(value, float) else str(value)
    return text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]} ..."
