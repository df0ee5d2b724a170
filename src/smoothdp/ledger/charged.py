"""What is charged: the guarantee of a mechanism, and what an entry may say about it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass
from enum import Enum
from fractions import Fraction

from smoothdp.errors import IncompatibleClaims, InvalidParameter, explain
from smoothdp.exact.balls.balls import log_bounds
from smoothdp.exact.parameters.numbers import LogRatio, exact_text
from smoothdp.privacy.composition.composed_profile import ComposedProfile
from smoothdp.privacy.composition.items import Item, read_items
from smoothdp.privacy.composition.laws import HasLossLaws
from smoothdp.privacy.guarantee import Guarantee
from smoothdp.privacy.neighbours import require_same
from smoothdp.privacy.profile import PrivacyProfile
from smoothdp.privacy.smoothed import SmoothedDP
from smoothdp.privacy.standard import EpsilonDelta, PureDP
from smoothdp.privacy.tradeoff import TradeoffFunction

_LONGEST_TEXT = 2000
_LOOKED_AT = tuple(map(Fraction, ("0", "1/10", "1/2", "1", "2", "4", "8", "16")))


@dataclass(frozen=True)
class Charged:
    """A mechanism, with what it promises and what is charged for it.

    Attributes:
        mechanism: its name and description, in words.
        parameters: its public scalar parameters, as text. Never arrays, and nothing called a
            sensitivity.
        guarantee: what the mechanism promises.
        claim: what is charged: the same, or something that follows from it.
    """

    mechanism: str
    parameters: Mapping[str, str]
    guarantee: Guarantee
    claim: Guarantee


def read_charged(mechanism: object, claim: Guarantee | None) -> Charged:
    """Return what a mechanism is charged as, or raise what is wrong with it."""
    if claim is not None and not isinstance(claim, Guarantee):
        raise InvalidParameter(
            explain("claim as a guarantee", f"claim={claim!r}", "Give one, such as PureDP(1)")
        )
    promised = guarantee_of(mechanism)
    if promised is not None:
        _refute(mechanism, promised)
    if claim is None and promised is None:
        raise InvalidParameter(
            explain(
                "a mechanism with a guarantee, or claim= with what it meets",
                f"{_short(repr(mechanism))}",
                "Pass claim=ApproxDP(epsilon, delta=): it is checked against the profile",
            )
        )
    if claim is not None and not _proved(mechanism, promised, claim):
        raise IncompatibleClaims(
            explain(
                "a claim that follows from the mechanism",
                f"claim={claim!r} for {_short(_words(mechanism))}",
                "Claim less, such as a larger epsilon or delta",
            )
        )
    return Charged(
        mechanism=_words(mechanism),
        parameters=public_parameters(mechanism),
        guarantee=promised or _given(claim),
        claim=claim or _given(promised),
    )


def _refute(mechanism: object, promised: Guarantee) -> None:
    """Raise IncompatibleClaims if what stands outside of the library contradicts itself.

    The library's own mechanisms compare what they promise with their profile when they are made.
    """
    maker = getattr(mechanism, "profile", None)
    is_ours = type(mechanism).__module__.partition(".")[0] == __name__.partition(".")[0]
    if is_ours or isinstance(promised, SmoothedDP):
        return
    profile, said = maker() if callable(maker) else maker, promised.profile()
    if isinstance(profile, Guarantee):
        profile = profile.profile()
    if not isinstance(profile, PrivacyProfile):
        return
    require_same(profile.neighbours, promised.neighbours)
    own = getattr(promised, "exact_epsilon", None)
    for epsilon in (*_LOOKED_AT, *([] if own is None else [own])):
        if profile.log_delta_bounds(epsilon).lower > said.log_delta_bounds(epsilon).upper:
            raise IncompatibleClaims(
                explain(
                    "a guarantee that the profile of the mechanism keeps",
                    f"{promised!r}, refuted at epsilon={exact_text(epsilon)}",
                    "State what the profile proves",
                )
            )


def _given(claim: Guarantee | None) -> Guarantee:
    assert claim is not None
    return claim


def guarantee_of(mechanism: object) -> Guarantee | None:
    """Return the guarantee that an object is or has, as attribute or method."""
    if isinstance(mechanism, Guarantee):
        return mechanism
    if isinstance(mechanism, type):
        return None
    found = getattr(mechanism, "guarantee", None)
    if callable(found):
        found = found()
    return found if isinstance(found, Guarantee) else None


def _proved(mechanism: object, promised: Guarantee | None, claim: Guarantee) -> bool:
    if promised is not None:
        require_same(promised.neighbours, claim.neighbours)
        if promised == claim or promised.implies(claim):
            return True
    # The profile of a mechanism with a smoothed guarantee may be an expectation.
    if isinstance(promised, SmoothedDP) or not isinstance(claim, PureDP | EpsilonDelta):
        return False
    if promised is not None and not callable(getattr(mechanism, "profile", None)):
        return False
    items = read_items([mechanism])
    model = claim.model if isinstance(claim, SmoothedDP) else None
    for item, _ in items:
        require_same(item.neighbours, claim.neighbours)
        if not all(part.model == model for part in _smoothed_parts(item)):
            return False
    profile = mechanism if isinstance(mechanism, PrivacyProfile) else items[0][0].profile
    upper = profile.log_delta_bounds(claim.exact_epsilon).upper
    delta = Fraction(0) if isinstance(claim, PureDP) else claim.exact_delta
    return upper == -math.inf if delta == 0 else upper <= log_bounds(delta).lower


def _smoothed_parts(item: Item) -> list[SmoothedDP]:
    """Return the smoothed claims inside an item; refuse a bare profile.

    It may be the profile at one database, which promises nothing.
    """
    given = item.given
    if isinstance(given, ComposedProfile):
        return [part for inner, _ in given.accountant.items for part in _smoothed_parts(inner)]
    if isinstance(given, SmoothedDP):
        return [given]
    is_bare = isinstance(given, PrivacyProfile) and not isinstance(given, HasLossLaws)
    # A curve does not know what it is of: one database, or a claim on average.
    if is_bare or isinstance(given, TradeoffFunction):
        raise IncompatibleClaims(
            explain(
                "a mechanism, or a composition of mechanisms",
                f"a bare {type(given).__name__}, which may hold at one database only",
                "Charge the mechanism itself",
            )
        )
    return []


def _words(mechanism: object) -> str:
    if isinstance(mechanism, Guarantee):
        return "external"
    kind = type(mechanism).__name__
    describe = getattr(mechanism, "describe", None)
    return _short(f"{kind}: {describe()}" if callable(describe) else kind)


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST_TEXT else text[: _LONGEST_TEXT - 3] + "..."


def public_parameters(mechanism: object) -> dict[str, str]:
    """Return the scalar parameters of a mechanism as text.

    Whatever is no number, word or choice is left out, and so is whatever is called a
    sensitivity: a ledger holds nothing that could be data.
    """
    if isinstance(mechanism, Guarantee | type) or not is_dataclass(mechanism):
        return {}
    found = {}
    for field in fields(mechanism):
        if field.name.startswith("_") or "sensitivity" in field.name:
            continue
        text = _scalar(getattr(mechanism, field.name, None))
        if text is not None:
            found[field.name.removeprefix("exact_")] = text
    return found


def _scalar(value: object) -> str | None:
    if isinstance(value, Enum):
        return str(value.value)
    if isinstance(value, Fraction | LogRatio):
        return _short(exact_text(value))
    if isinstance(value, bool | int | float | str):
        return _short(str(value))
    return None
