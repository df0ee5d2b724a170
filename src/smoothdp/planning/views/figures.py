"""The figures of a plan: what was chosen and the errors to expect, for words, pages and JSON."""

from __future__ import annotations

import json
from dataclasses import dataclass, fields as dataclass_fields, replace
from fractions import Fraction
from typing import Any, Self

from smoothdp.claims.guarantees.guarantee import Guarantee
from smoothdp.claims.terms import EpsilonTerms
from smoothdp.errors import InvalidParameter
from smoothdp.exact.parameters.numbers import exact_text
from smoothdp.mechanisms.quantiles.chosen import shifts_by_default
from smoothdp.mechanisms.quantiles.half_shift.rules import shifted_words
from smoothdp.mechanisms.release.statistic_words import drawn_words, value_words
from smoothdp.mechanisms.release.usefulness import useless_words
from smoothdp.noise.law import NoiseDistribution
from smoothdp.planning.alternatives import (
    CLIPPED,
    ERRORS,
    ERRORS_OF_OTHERS,
    EXPONENTIAL,
    GLOBAL,
    HALF_SHIFT,
    METHODS,
    MIDPOINT,
    PAIR,
    WINDOW,
    WITHOUT_NOISE,
    Alternative,
    Replaced,
    Rival,
)
from smoothdp.planning.candidates import without_window
from smoothdp.queries import Mean, Median, Quantile, Query
from smoothdp.queries.read_arguments import bounds_text

_COMMON = ("bounds", "truncate")
PLAN_VERSION = 2
"""The version of the JSON of a plan; 1 had windows alone, and other methods by name."""


@dataclass(frozen=True, slots=True)
class PlanFigures:
    """The figures of a plan; the docstring of `Plan`, which can release, explains each."""

    query: Query
    guarantee: Guarantee
    n_records: int
    noise: NoiseDistribution | None
    smoothing: Fraction | None
    rmse: float | None
    privacy_rmse: float | None
    rmse_without_noise: float | None
    rmse_without_privacy: float | None
    rmse_lower_bound: float | None
    assumption: str
    runners_up: tuple[Alternative, ...] = ()
    confidence: Fraction | None = None
    covers: str | None = None
    half_width: float | None = None
    replaced: Replaced | None = None
    noise_deviation: float | None = None
    method: str = WINDOW
    gaps: float | None = None
    asked: Query | None = None
    may_change_trim: bool = False

    def __post_init__(self) -> None:
        # Every `mechanism` computes anew whether the noise keeps the guarantee.
        if not isinstance(self.guarantee, Guarantee):
            raise InvalidParameter(
                expected="a guarantee such as PureDP(1)",
                got=f"guarantee={self.guarantee!r}",
                remedy="Give a guarantee, such as PureDP(1)",
            )
        if words := self._misfit():
            raise InvalidParameter(
                expected=f"a plan whose method, {self.method!r}, fits the rest",
                got=words,
                remedy="Make the plan with smoothdp.plan",
            )

    def _misfit(self) -> str:
        """Return what of the plan its method has no place for; "" if nothing."""
        if self.method not in METHODS:
            return f"a method that is none of {', '.join(METHODS)}"
        if (self.noise is None) != (self.method in WITHOUT_NOISE):
            return f"noise={self.noise!r}"
        if (self.smoothing is None) != (self.noise is None and self.method != PAIR):
            return f"smoothing={self.smoothing}"
        if self.method in (GLOBAL, CLIPPED) and self.smoothing != 0:
            return f"smoothing={self.smoothing}"
        if self.method == CLIPPED and not isinstance(self.query, Mean):
            return f"query={self.query!r}"
        if self.method == EXPONENTIAL and not isinstance(self.query, Median | Quantile):
            return f"query={self.query!r}"
        if self.method == HALF_SHIFT and not shifts_by_default(
            without_window(self.query), self.guarantee, has_bars=False
        ):
            return f"query={self.query!r}, guarantee={self.guarantee!r}"
        if self.method == PAIR and (self.confidence is None or not self._suits_pair()):
            return f"query={self.query!r}, guarantee={self.guarantee!r}, covers={self.covers}"
        if self.method not in (WINDOW, PAIR) and self.confidence is not None:
            return f"confidence={self.confidence}, for a method without error bars"
        return self._other_than_asked()

    def _suits_pair(self) -> bool:
        """Whether one law may serve the value and bars for its quantile."""
        is_pure = isinstance(self.guarantee.terms(), EpsilonTerms)
        of_quantile = self.covers in ("quantile", "population")
        return is_pure and of_quantile and isinstance(self.query, Median | Quantile)

    def _other_than_asked(self) -> str:
        """Return what of the statistic is not what was asked for; "" if nothing."""
        asked, query = self.asked, self.query
        if asked is None:
            return ""
        words = f"asked={asked!r} with query={query!r}"
        if asked.bounds != query.bounds:
            return words
        if self.method == CLIPPED:
            return "" if isinstance(asked, Median | Quantile) else words
        if self.method == MIDPOINT:
            return ""
        kept = ["q", "drop_low", "drop_high", *([] if self.may_change_trim else ["trim"])]
        if isinstance(asked, Median | Quantile) and asked.window is not None:
            kept.append("window")
        same = all(getattr(asked, name, None) == getattr(query, name, None) for name in kept)
        return "" if same and type(asked) is type(query) else words

    @property
    def statistic(self) -> str:
        """What is released, and of which values it is made, in words."""
        words, plain = value_words(self.query, self.n_records), self._asked_words()
        if isinstance(self.query, Median | Quantile) and self.method == EXPONENTIAL:
            return drawn_words(self.query)
        if isinstance(self.query, Median | Quantile) and self.method == HALF_SHIFT:
            return shifted_words(self.query, self.guarantee, self.n_records)
        if self.method == MIDPOINT:
            return f"the middle of {bounds_text(self.query.bounds)}, in place of {plain}; no data"
        if self.method == CLIPPED:
            first, _, rest = words.partition("; ")
            return f"{first}, in place of {plain}; {rest}"
        return words

    def _asked_words(self) -> str:
        asked = self.query if self.asked is None else self.asked
        if isinstance(asked, Median):
            return "the median"
        if isinstance(asked, Quantile):
            return f"the {float(asked.q):g} quantile"
        return f"the {asked.describe()}"

    @property
    def compared_error(self) -> float | None:
        """The error that the choice was judged by; None without an assumption.

        `privacy_rmse`, or `rmse` where the trimming was allowed to change.
        """
        return self._compared(self)

    @property
    def rivals(self) -> tuple[Rival, ...]:
        """The best of each other method, by what the choice was judged by; () where unknown."""
        found: dict[str, Rival] = {}
        for other in self.runners_up:
            error = self._compared(other)
            if other.method != self.method and error is not None:
                found.setdefault(other.method, Rival(other.name(self.n_records), error))
        return tuple(found.values())

    @property
    def midpoint_ratio(self) -> float | None:
        """The error over that of the middle of the bounds, which reads no data."""
        own = self.compared_error
        away = [
            error
            for other in self.runners_up
            if other.method == MIDPOINT and (error := self._compared(other))
        ]
        return own / away[0] if own is not None and away else None

    def _compared(self, choice: PlanFigures | Alternative) -> float | None:
        by_records = not self.may_change_trim or choice.method == MIDPOINT
        return choice.privacy_rmse if by_records else choice.rmse

    @property
    def is_assumed(self) -> bool:
        """Whether something was assumed of the data, so that errors can be told."""
        return self.rmse is not None

    @property
    def has_lower_bound(self) -> bool:
        """Whether a bound on all noise is known that says more than the error without noise."""
        bound, without = self.rmse_lower_bound, self.rmse_without_noise
        return bound is not None and without is not None and bound > without

    def without_errors(self) -> Self:
        """Return the plan without any error: what can be told where nothing is assumed."""
        asked = self.replaced
        return replace(
            self,
            rmse=None,
            privacy_rmse=None,
            rmse_without_noise=None,
            rmse_without_privacy=None,
            rmse_lower_bound=None,
            half_width=None,
            runners_up=tuple(alternative.without_errors() for alternative in self.runners_up),
            replaced=None if asked is None else replace(asked, rmse=None),
        )

    def caution(self) -> str:
        """Return that the noise may be of the order of the bounds, as `release` warns; or ""."""
        return useless_words(self.query, self.guarantee, self.n_records)

    def to_json(self) -> str:
        """Return the plan as JSON, nothing rounded; `plan_from_json` reads it back exactly."""
        fields: dict[str, Any] = {
            "type": "Plan",
            "version": PLAN_VERSION,
            "guarantee": json.loads(self.guarantee.to_json()),
            "n_records": self.n_records,
            "statistic": self.statistic,
            "caution": self.caution(),
            **_choice(self),
            **{name: getattr(self, name) for name in ERRORS},
            "assumption": self.assumption,
            "runners_up": [
                {
                    **_choice(alternative),
                    **{name: getattr(alternative, name) for name in ERRORS_OF_OTHERS},
                    "half_width": alternative.half_width,
                    "gaps": alternative.gaps,
                }
                for alternative in self.runners_up
            ],
            "confidence": None if self.confidence is None else exact_text(self.confidence),
            "covers": self.covers,
            "half_width": self.half_width,
            "replaced": None
            if self.replaced is None
            else {
                "query": _query(self.replaced.query),
                "rmse": self.replaced.rmse,
                "is_served": self.replaced.is_served,
            },
            "noise_deviation": self.noise_deviation,
            "gaps": self.gaps,
            "asked": None if self.asked is None else _query(self.asked),
            "may_change_trim": self.may_change_trim,
        }
        return json.dumps(fields, indent=1)


def _query(query: Query) -> dict[str, Any]:
    fields: dict[str, Any] = {
        "type": type(query).__name__,
        "bounds": [exact_text(bound) for bound in query.bounds],
    }
    for name in _fields_of(query):
        value = getattr(query, name)
        fields[name] = exact_text(value) if isinstance(value, Fraction) else value
    return fields


def _fields_of(query: Query) -> list[str]:
    """Return what a statistic is made from, beside bounds; plans clamp the inputs alone."""
    return [field.name for field in dataclass_fields(query) if field.name not in _COMMON]


def _choice(choice: PlanFigures | Alternative) -> dict[str, Any]:
    law, smoothing = None, choice.smoothing
    if choice.noise is not None:
        law = {"type": type(choice.noise).__name__}
        law |= {name: exact_text(value) for name, value in choice.noise.values().items()}
    return {
        "method": choice.method,
        "query": _query(choice.query),
        "noise": law,
        "smoothing": None if smoothing is None else exact_text(smoothing),
    }
