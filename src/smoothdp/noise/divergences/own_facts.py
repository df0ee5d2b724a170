"""A law whose density differs from that of the class it extends must bring its own facts.

Closed forms, claims and limits are theorems about one density. A subclass that replaces the
density and inherits them would be calibrated by theorems about another law. Those of the library's
laws are proved one by one (proofs/dilated-divergences#8).
"""

from __future__ import annotations

from functools import lru_cache

from smoothdp.errors import InvalidParameter

_FACTS = (
    *("_growth", "_reverse_convexity", "_pure_claim", "_undilated_claim", "_printed_claim"),
    *("_closed_form_claim", "_renyi_closed", "_supremum_closed", "_delta_closed"),
    *("_elasticity_limit", "_elasticity_slope", "_elasticity_size", "_continuation_error"),
    *("_ball_branch", "_kinks", "_fast_log_density", "finite_moment_above"),
)

# Neither density nor theorem: words, ranges that a search looks at, and how the law is drawn.
_BESIDE = (
    *("_shape_rule", "_shape_range", "_shipped_targets", "_ball_work", "_abc_impl"),
    "_draw_function",
)


def check_own_facts(law: object) -> None:
    """Refuse a law that inherits facts about a density that it replaces.

    Raises:
        InvalidParameter: such a law, with the fact.
    """
    fact = _inherited_fact(type(law))  # type: ignore[arg-type]
    if fact is not None:
        raise InvalidParameter(
            expected=f"{fact} of {type(law).__name__} itself, whose density is its own",
            got=f"{law!r}, with the facts of the law that it changes",
            remedy=f"Write {fact} for the new density, or derive the class from NoiseDistribution",
        )


@lru_cache(maxsize=1024)
def _inherited_fact(kind: type) -> str | None:
    order = kind.__mro__
    # The library's own families share formulas on purpose: their members are tested one by one.
    own = [k for k in order if not k.__module__.startswith("smoothdp.")]
    replacing = [order.index(k) for k in own if _replaces(k, order)]
    if not replacing:
        return None
    for fact in _FACTS:
        home = next((k for k in order if fact in vars(k)), None)
        if home is not None and order.index(home) > min(replacing) and _is_a_law(home):
            return fact
    return None


def _replaces(kind: type, order: tuple[type, ...]) -> bool:
    """Whether a class replaces some part of a law that it extends, a helper included."""
    above = [k for k in order[order.index(kind) + 1 :] if _is_a_law(k)]
    parts = [name for name in vars(kind) if name.startswith(("_", "exact_"))]
    return any(
        name in vars(k)
        for name in parts
        if not name.startswith("__") and name not in _FACTS + _BESIDE
        for k in above
    )


def _is_a_law(kind: type) -> bool:
    """Whether a class has a density: what it says is about that one, and no safe default."""
    density = getattr(kind, "_ball_log_density", None)
    return density is not None and not getattr(density, "__isabstractmethod__", False)
