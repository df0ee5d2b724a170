"""Calibrations that come with the library: common guarantees and smoothings.

`table.json` is made by ``python -m smoothdp.noise.make_table``; a test certifies
entries again.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from importlib.resources import files

from smoothdp.claims.guarantees.guarantee import Guarantee
from smoothdp.exact.parameters.numbers import exact_text
from smoothdp.noise.abstract_law import AbstractLaw
from smoothdp.noise.shift_claim import ShiftClaim
from smoothdp.sources import Source

FILE = "table.json"
_HOME = "smoothdp.noise."


@dataclass(frozen=True, slots=True)
class Entry:
    """One calibration as text: exact numbers as ratios, the guarantee by its parameters."""

    law: str
    shape: str
    guarantee: str
    smoothing: str
    shift: str
    upper: str | None
    label: str
    reason: str
    source_key: str
    source_where: str

    def claim(self) -> ShiftClaim:
        """Return the entry as a claim."""
        upper = None if self.upper is None else Fraction(self.upper)
        source = Source(self.source_key, self.source_where)
        return ShiftClaim(Fraction(self.shift), upper, self.label, source, self.reason)


def guarantee_text(guarantee: Guarantee) -> str:
    """Return a guarantee without its neighbours, which both directions serve alike."""
    parameters = ", ".join(f"{name}={exact_text(v)}" for name, v in guarantee.parameters().items())
    return f"{type(guarantee).__name__}({parameters})"


def shape_text(law: AbstractLaw) -> str:
    """Return the exact shape of a law, empty if it has none."""
    return ", ".join(exact_text(value) for value in law.values().values())


def make_entry(
    law: AbstractLaw, guarantee: Guarantee, smoothing: Fraction, claim: ShiftClaim
) -> Entry:
    """Return a claim as an entry."""
    return Entry(
        law=type(law).__name__,
        shape=shape_text(law),
        guarantee=guarantee_text(guarantee),
        smoothing=exact_text(smoothing),
        shift=str(claim.exact_shift),
        upper=None if claim.upper is None else str(claim.upper),
        label=claim.label,
        reason=claim.reason,
        source_key=claim.source.key,
        source_where=claim.source.where,
    )


@lru_cache(maxsize=1)
def entries() -> tuple[Entry, ...]:
    """Return the shipped calibrations."""
    text = files("smoothdp.noise.calibration").joinpath(FILE).read_text(encoding="utf-8")
    return tuple(Entry(**row) for row in json.loads(text)["entries"])


@lru_cache(maxsize=1)
def _by_law() -> dict[tuple[str, str, str], Entry]:
    return {(e.law, e.guarantee, e.smoothing): e for e in entries()}


def _shipped(law: type[AbstractLaw], guarantee: Guarantee, smoothing: Fraction) -> Entry | None:
    # A class of the same name elsewhere is another law.
    if not law.__module__.startswith(_HOME):
        return None
    return _by_law().get((law.__name__, guarantee_text(guarantee), exact_text(smoothing)))


def shipped_shape(
    law: type[AbstractLaw], guarantee: Guarantee, smoothing: Fraction
) -> Fraction | None:
    """Return the shape that the table has for a family, a guarantee and a smoothing."""
    entry = _shipped(law, guarantee, smoothing)
    return None if entry is None else Fraction(entry.shape)


def shipped_claim(law: AbstractLaw, guarantee: Guarantee, smoothing: Fraction) -> ShiftClaim | None:
    """Return the calibration that the table has for a law, or None."""
    entry = _shipped(type(law), guarantee, smoothing)
    return entry.claim() if entry is not None and entry.shape == shape_text(law) else None
