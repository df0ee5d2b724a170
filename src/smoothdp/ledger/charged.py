"""A mechanism as a ledger charges it: its guarantee, and its public parameters as text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from enum import Enum
from fractions import Fraction

from smoothdp.claims.curves.profile import PrivacyProfile
from smoothdp.claims.curves.tradeoff import TradeoffFunction
from smoothdp.claims.guarantees.codec import require_readable
from smoothdp.claims.guarantees.guarantee import Guarantee, stated_guarantee
from smoothdp.claims.label import Labelled
from smoothdp.claims.neighbours import require_same
from smoothdp.claims.terms import AverageTerms, EpsilonTerms
from smoothdp.composition.composed_profile import ComposedProfile
from smoothdp.composition.items import Item, read_items
from smoothdp.composition.laws.law import HasLossLaws
from smoothdp.composition.parallel import Parallel
from smoothdp.errors import IncompatibleClaims, InvalidParameter
from smoothdp.exact.parameters.numbers import LogRatio, exact_text

_LONGEST_TEXT = 2000
_LONGEST_SHOWN = 200
_LOOKED_AT = tuple(map(Fraction, ("0", "1/10", "1/2", "1", "2", "4", "8", "16")))


@dataclass(frozen=True)
class Charged:
    """A mechanism, with its promise and the claim that is charged for it.

    Attributes:
        mechanism: its name and description, in words.
        parameters: its public scalar parameters, as text. Never arrays, and nothing called a
            sensitivity.
        guarantee: the promise of the mechanism.
        claim: the claim that is charged: the guarantee, or one that follows from it.
    """

    mechanism: str
    parameters: Mapping[str, str]
    guarantee: Guarantee
    claim: Guarantee


def read_charged(mechanism: object, claim: Guarantee | None) -> Charged:
    """Return a mechanism as it is charged, or raise what is wrong with it."""
    if isinstance(mechanism, Labelled):
        inner = read_charged(mechanism.mechanism, claim)
        return replace(inner, parameters={**inner.parameters, **mechanism.parameters()})
    if claim is not None and not isinstance(claim, Guarantee):
        raise InvalidParameter(
            expected="claim as a guarantee",
            got=f"claim={claim!r}",
            remedy="Name a claim such as PureDP(1)",
        )
    promised = stated_guarantee(mechanism)
    if promised is not None:
        _refute(mechanism, promised)
    stated = promised if promised is not None else claim
    if stated is None:
        raise InvalidParameter(
            expected="a mechanism with a guarantee, or claim= with what it meets",
            got=text if len(text := repr(mechanism)) <= _LONGEST_SHOWN else _words(mechanism),
            remedy="Pass claim=ApproxDP(epsilon, delta=), which is checked against the profile",
        )
    if claim is not None and not _proved(mechanism, promised, claim):
        raise IncompatibleClaims(
            expected="a claim that follows from the mechanism",
            got=f"claim={claim!r} for {_short(_words(mechanism))}",
            remedy="Claim less, such as a larger epsilon or delta",
        )
    charged = claim if claim is not None else stated
    for kept in (stated, charged):
        require_readable(kept)
    return Charged(
        mechanism=_words(mechanism),
        parameters=public_parameters(mechanism),
        guarantee=stated,
        claim=charged,
    )


def is_ours(mechanism: object) -> bool:
    """Return whether a mechanism's class is the library's own, which checks what it states.

    >>> from smoothdp.claims import PureDP
    >>> is_ours(PureDP(1)), is_ours(object())
    (True, False)
    """
    return type(mechanism).__module__.partition(".")[0] == __name__.partition(".")[0]


def _refute(mechanism: object, promised: Guarantee) -> None:
    """Raise IncompatibleClaims if a mechanism from outside of the library contradicts itself.

    The library's own mechanisms compare what they promise with their profile when they are made.
    """
    maker = getattr(mechanism, "profile", None)
    if is_ours(mechanism) or promised.is_average:
        return
    profile, said = maker() if callable(maker) else maker, promised.profile()
    if isinstance(profile, Guarantee):
        profile = profile.profile()
    if not isinstance(profile, PrivacyProfile):
        return
    require_same(profile.neighbours, promised.neighbours)
    own = promised.parameters().get("epsilon")
    for epsilon in (*_LOOKED_AT, *([] if own is None else [own])):
        if profile.log_delta_bounds(epsilon).lower > said.log_delta_bounds(epsilon).upper:
            raise IncompatibleClaims(
                expected="a guarantee that the profile of the mechanism keeps",
                got=f"{promised!r}, refuted at epsilon={exact_text(epsilon)}",
                remedy="State a guarantee that its profile() proves, or correct profile()",
            )


def _proved(mechanism: object, promised: Guarantee | None, claim: Guarantee) -> bool:
    if promised is not None:
        require_same(promised.neighbours, claim.neighbours)
        if promised == claim or promised.implies(claim):
            return True
    # The profile of a mechanism with a smoothed guarantee may be an expectation.
    terms = claim.terms()
    if promised is not None and promised.is_average:
        return False
    if not isinstance(terms, EpsilonTerms | AverageTerms):
        return False
    if promised is not None and not callable(getattr(mechanism, "profile", None)):
        return False
    items = read_items([mechanism])
    model = terms.model if isinstance(terms, AverageTerms) else None
    for item, _ in items:
        require_same(item.neighbours, claim.neighbours)
        if any(part.model != model for part in _smoothed_parts(item)):
            return False
    profile = mechanism if isinstance(mechanism, PrivacyProfile) else items[0][0].profile
    return profile.keeps(terms.epsilon, terms.delta)


def _smoothed_parts(item: Item) -> list[AverageTerms]:
    """Return the claims on average inside an item; refuse a bare profile.

    A bare profile may be that at one database, which promises nothing.
    """
    original = item.original
    if isinstance(original, ComposedProfile):
        return [part for inner, _ in original.accountant.items for part in _smoothed_parts(inner)]
    if item.average is not None:
        return [item.average]
    if isinstance(original, Parallel):
        return [part for inner, _ in read_items(original.items) for part in _smoothed_parts(inner)]
    is_bare = isinstance(original, PrivacyProfile) and not isinstance(original, HasLossLaws)
    # A curve does not say whether it is of one database, or of a claim on average.
    if is_bare or isinstance(original, TradeoffFunction):
        raise IncompatibleClaims(
            expected="a mechanism, or a composition of mechanisms",
            got=f"a bare {type(original).__name__}, which may hold at one database only",
            remedy="Charge the mechanism itself",
        )
    return []


def _words(mechanism: object) -> str:
    if isinstance(mechanism, Guarantee):
        return "external"
    if isinstance(mechanism, ComposedProfile):
        parts = (f"{n} x {_part(item.original)}" for item, n in mechanism.accountant.items)
        return _short(f"composition of {', '.join(parts)}")
    kind = type(mechanism).__name__
    describe = getattr(mechanism, "describe", None)
    return _short(f"{kind}: {describe()}" if callable(describe) else kind)


def _part(mechanism: object) -> str:
    """Return an item of a composition in words: a claim, a description, or public parameters."""
    if isinstance(mechanism, Guarantee):
        return repr(mechanism)
    words = _words(mechanism)
    parameters = public_parameters(mechanism)
    if words != type(mechanism).__name__ or not parameters:
        return words
    return f"{words}({', '.join(f'{name}={text}' for name, text in parameters.items())})"


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST_TEXT else text[: _LONGEST_TEXT - 3] + "..."


def public_parameters(mechanism: object) -> dict[str, str]:
    """Return the scalar parameters of a mechanism as text.

    Only numbers, words and choices are kept, and none that is called a sensitivity: a ledger
    holds nothing that could be data.
    """
    if isinstance(mechanism, Guarantee | type) or not is_dataclass(mechanism):
        return {}
    texts = {}
    for field in fields(mechanism):
        if field.name.startswith("_") or "sensitivity" in field.name:
            continue
        text = _scalar(getattr(mechanism, field.name, None))
        if text is not None:
            texts[field.name.removeprefix("exact_")] = text
    return texts


def _scalar(value: object) -> str | None:
    if isinstance(value, Enum):
        return str(value.value)
    if isinstance(value, Fraction | LogRatio):
        return _short(exact_text(value))
    if isinstance(value, bool | int | float | str):
        return _short(str(value))
    return None
