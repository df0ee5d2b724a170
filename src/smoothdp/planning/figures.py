"""The figures of a plan: what was chosen and the errors to expect, for words, pages and JSON."""

from __future__ import annotations

import json
from dataclasses import dataclass, fields as dataclass_fields, replace
from fractions import Fraction
from typing import Any, Self

from smoothdp.claims.guarantees.guarantee import Guarantee
from smoothdp.errors import InvalidParameter
from smoothdp.exact.parameters.numbers import exact_text
from smoothdp.mechanisms.release.statistic_words import value_words
from smoothdp.mechanisms.release.usefulness import useless_words
from smoothdp.noise.law import NoiseDistribution
from smoothdp.planning.alternatives import ERRORS, ERRORS_OF_OTHERS, Alternative, Replaced
from smoothdp.planning.rivals import Rival
from smoothdp.queries import Query

_COMMON = ("bounds", "truncate")
PLAN_VERSION = 1
"""The version of the JSON of a plan."""


@dataclass(frozen=True, slots=True)
class PlanFigures:
    """The figures of a plan; the docstring of `Plan`, which can release, explains each."""

    query: Query
    guarantee: Guarantee
    n_records: int
    noise: NoiseDistribution
    smoothing: Fraction
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
    rivals: tuple[Rival, ...] = ()

    def __post_init__(self) -> None:
        # Every `mechanism` computes anew whether the noise keeps the guarantee.
        if not isinstance(self.guarantee, Guarantee):
            raise InvalidParameter(
                expected="a guarantee such as PureDP(1)",
                got=f"guarantee={self.guarantee!r}",
                remedy="Give a guarantee, such as PureDP(1)",
            )

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
            rivals=(),
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
            "statistic": value_words(self.query, self.n_records),
            "caution": self.caution(),
            **_choice(self),
            **{name: getattr(self, name) for name in ERRORS},
            "assumption": self.assumption,
            "runners_up": [
                {
                    **_choice(alternative),
                    **{name: getattr(alternative, name) for name in ERRORS_OF_OTHERS},
                    "half_width": alternative.half_width,
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
            "rivals": [{"name": rival.name, "error": rival.error} for rival in self.rivals],
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
    law = {"type": type(choice.noise).__name__}
    law |= {name: exact_text(value) for name, value in choice.noise.values().items()}
    return {"query": _query(choice.query), "noise": law, "smoothing": exact_text(choice.smoothing)}
