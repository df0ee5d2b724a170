"""A plan in words: every number says of what it is the error, and against what."""

from __future__ import annotations

from typing import TYPE_CHECKING

from smoothdp.planning.alternatives import smoothing_text
from smoothdp.planning.candidates import plain
from smoothdp.planning.noise_levels import BOUNDED
from smoothdp.queries import Mean, Median, Quantile, Query, TrimmedMean

if TYPE_CHECKING:
    from smoothdp.planning.result import Plan


def target_words(query: Query, n_records: int) -> str:
    """Return what the errors of a statistic are measured against.

    >>> target_words(TrimmedMean("0.05", bounds=(0, 9)), 100)
    "the population's mean"
    """
    if isinstance(query, Median):
        return "the population's median"
    if isinstance(query, Quantile):
        return f"the population's {float(query.q):g} quantile"
    if isinstance(query, Mean | TrimmedMean):
        return "the population's mean"
    low, high = query.drops(n_records)
    ends = f"{low / n_records:.4g} and {1 - high / n_records:.4g}"
    return f"the population's mean between its quantiles {ends}"


def plain_words(query: Query) -> str:
    """Return the statistic that nobody would make private, in words."""
    if isinstance(query, Median):
        return "the plain median"
    if isinstance(query, Quantile):
        return "the plain sample quantile"
    return "the mean of all values" if isinstance(query, TrimmedMean) else "the statistic itself"


def error_rows(plan: Plan) -> list[tuple[str, float, str]]:
    """Return a short name, the root mean square error and what it is, for each figure of a plan.

    All but that of privacy are against one target.
    """
    query, n = plan.query, plan.n_records
    target = target_words(query, n)
    is_plain = plain(query).drops(n) == query.drops(n)
    is_quantile = isinstance(query, Median | Quantile)
    without = plain_words(query) if is_quantile else "the same statistic"
    best = "" if plan.confidence is not None else "; the plan chose for the least of it"
    first, second = ("", best) if is_quantile else (best, "")
    rows = [
        ("release", plan.rmse, f"the released value, against {target} (values clamped){first}"),
        (
            "sampling",
            plan.rmse_without_noise,
            f"the same statistic without noise, against {target}",
        ),
        (
            "privacy",
            plan.privacy_rmse,
            f"the released value, against {without} of the records{second}",
        ),
    ]
    if isinstance(plan.guarantee, BOUNDED):
        words = f"no noise goes below, with this statistic and smoothing, against {target}"
        rows.append(("least", plan.rmse_lower_bound, words))
    if not is_plain:
        words = f"{plain_words(query)}, without privacy, against {target}"
        rows.append(("plain", plan.rmse_without_privacy, words))
    return rows


def replaced_words(plan: Plan) -> str:
    """Return that the trimming asked for was replaced, by what, and how to keep it; or ""."""
    if plan.replaced is None:
        return ""
    asked, error = plan.replaced.query.trim, plan.replaced.rmse
    chosen = plan.query.drops(plan.n_records)[0]
    text = f"{asked}" if isinstance(asked, int) else f"{float(asked):g}"
    why = "which has shorter error bars and less error together"
    if error is None:
        why = "as no noise serves the one asked for"
    elif error > plan.rmse:
        why = f"which has less error ({plan.rmse:.4g} instead of {error:.4g})"
    return (
        f"You asked for --trim {text}; this plan trims {chosen} values a side, {why}. "
        f"Keep --trim {text} with --keep-trim (in Python keep_trim=True)."
    )


def plan_text(plan: Plan) -> str:
    """Return a plan as lines for a reader."""
    lines = [f"Release     {plan.query.describe()}, n = {plan.n_records}"]
    if plan.replaced is not None:
        lines.append(f"Replaced    {replaced_words(plan)}")
    lines += [
        f"Promise     {plan.guarantee!r}",
        f"Noise       {plan.noise!r} at smoothing t = {smoothing_text(plan.smoothing)}",
        f"Assuming    {plan.assumption}",
        "Errors      root mean square, expected under the assumption",
    ]
    lines += [f"  {name:<10}{value:.4g}: {words}" for name, value, words in error_rows(plan)]
    if plan.confidence is not None and plan.half_width is not None:
        lines.append(
            f"Error bars  {float(plan.confidence):.15g} confidence, "
            f"+- {plan.half_width:.4g} on average; a share of the promise pays for them, and "
            "the plan chose for them and the error together"
        )
    lines += [f"Runner-up   {other.describe()}" for other in plan.runners_up]
    return "\n".join(lines)
