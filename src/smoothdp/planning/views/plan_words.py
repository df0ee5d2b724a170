"""A plan in words: every error comes with the statistic and the target that it belongs to."""

from __future__ import annotations

from fractions import Fraction

from smoothdp.mechanisms.release.bars.coverage import Coverage
from smoothdp.mechanisms.release.bars.targets import read_target
from smoothdp.planning.alternatives import (
    MIDPOINT,
    NO_DATA,
    PAIR,
    WINDOW,
    choice_words,
    smoothing_text,
)
from smoothdp.planning.candidates import plain
from smoothdp.planning.expected.assumption import STAND_IN
from smoothdp.planning.noise_levels import BOUNDED
from smoothdp.planning.views.figures import PlanFigures
from smoothdp.queries import Mean, Median, Quantile, Query, TrimmedMean


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


def reference_words(query: Query) -> str:
    """Return what the error by privacy is measured against."""
    is_quantile = isinstance(query, Median | Quantile)
    return f"{plain_words(query) if is_quantile else 'the same statistic'} of the records"


def error_rows(plan: PlanFigures) -> list[tuple[str, float, str]]:
    """Return a short name, the root mean square error and its meaning, for each figure of a plan.

    All errors but that of privacy are against one target. Without an assumption there are none.
    """
    n = plan.n_records
    query = plan.query if plan.asked is None or plan.may_change_trim else plan.asked
    target = target_words(query, n)
    is_plain = plain(query).drops(n) == plan.query.drops(n)
    best = "" if plan.confidence is not None else "; the plan chose for the least of it"
    first, second = (best, "") if plan.may_change_trim else ("", best)
    rows = [
        ("release", plan.rmse, f"the released value, clamped, against {target}{first}"),
        (
            "sampling",
            plan.rmse_without_noise,
            f"the same statistic without noise, against {target}",
        ),
        (
            "privacy",
            plan.privacy_rmse,
            f"the released value, clamped, against {reference_words(query)}{second}",
        ),
    ]
    if isinstance(plan.guarantee, BOUNDED) and plan.has_lower_bound:
        words = (
            f"no noise goes below before clamping, with this statistic and smoothing, against "
            f"{target}"
        )
        rows.append(("least", plan.rmse_lower_bound, words))
    if not is_plain:
        words = f"{plain_words(query)}, without privacy, against {target}"
        rows.append(("plain", plan.rmse_without_privacy, words))
    return [(name, value, words) for name, value, words in rows if value is not None]


def judged_words(plan: PlanFigures) -> str:
    """Return what the error that choices were compared by is measured against."""
    if plan.may_change_trim:
        return target_words(plan.query, plan.n_records)
    asked = plan.query if plan.asked is None else plan.asked
    if isinstance(asked, Median | Quantile):
        return reference_words(asked)
    return f"the {asked.describe()}, of the records without noise"


def rivals_words(plan: PlanFigures) -> str:
    """Return what the errors of the rivals are, and against what; "" if there are none."""
    own = plan.compared_error
    if own is None or not plan.rivals:
        return ""
    return (
        f"{own:.4g} is the error of this plan against {judged_words(plan)}; others with the same "
        "promise, values clamped"
    )


def verdict_words(plan: PlanFigures) -> str:
    """Return who wins by how much, or that no release is better than any; "" where unknown."""
    own = plan.compared_error
    if plan.method == MIDPOINT:
        return (
            "The middle of the bounds, which reads no data, is nearer than any release: unless the "
            "assumption puts the target there by chance, no release is better than any. Raise "
            "epsilon or take more records."
        )
    if own is None or not plan.rivals:
        return ""
    best = min(plan.rivals, key=lambda rival: rival.error)
    name = method_words(plan)
    if best.error < own:
        other = best.name[0].upper() + best.name[1:]
        return f"{other} errs less: {best.error / own:.3g} times the error of this plan."
    ratio = plan.midpoint_ratio
    words = f"{name} errs least: {own / best.error:.3g} times the error of {best.name}"
    if best.name != NO_DATA and ratio is not None:
        words += f", {ratio:.3g} times that of {NO_DATA}"
    return f"{words}."


def method_words(plan: PlanFigures) -> str:
    """Return the method of a plan, for the beginning of a sentence.

    >>> from smoothdp.planning import plan
    >>> from smoothdp.claims import PureDP
    >>> from smoothdp.queries import Median
    >>> method_words(plan(Median((0, 9)), guarantee=PureDP(1), n_records=1000))
    'A window with noise scaled to smooth sensitivity'
    """
    if plan.method == PAIR:
        return "A window, noise of the max law on it and on ln of its smooth sensitivity"
    if plan.method == WINDOW:
        fixed = plan.smoothing == 0
        kind = "sensitivity at all data" if fixed else "smooth sensitivity"
        statistic = "A mean" if fixed else "A window"
        return f"{statistic} with noise scaled to {kind}"
    words = choice_words(plan.method, plan.query, plan.noise, plan.smoothing, plan.n_records)
    return words[0].upper() + words[1:]


def replaced_words(plan: PlanFigures) -> str:
    """Return that the trimming asked for was replaced, by what, and how to keep it; or ""."""
    if plan.replaced is None:
        return ""
    asked, error = plan.replaced.query.trim, plan.replaced.rmse
    chosen = plan.query.drops(plan.n_records)[0]
    text = f"{asked}" if isinstance(asked, int) else f"{float(asked):g}"
    why = "which has shorter error bars and less error together"
    if not plan.replaced.is_served:
        why = "as no noise serves the one asked for"
    elif error is None or plan.rmse is None:
        why = f"which is better for {STAND_IN}; nothing was assumed of the data"
    elif error > plan.rmse:
        why = f"which has less error ({plan.rmse:.4g} instead of {error:.4g})"
    return (
        f"You asked for --trim {text}; this plan trims {chosen} values a side, {why}. "
        f"Keep --trim {text} without --may-change-trim (in Python may_change_trim=False)."
    )


UNKNOWN = (
    "unknown, as nothing is assumed of the data. Give --assume or --public-sample (in Python "
    "assuming=) to see what to expect"
)
"""The words for errors where nothing was assumed."""


def noise_words(plan: PlanFigures) -> str:
    """Return the size of the noise in units of the smooth sensitivity, which is private."""
    if plan.noise_deviation is None:
        return ""
    return f"{plan.noise_deviation:.4g} times the smooth sensitivity of the data"


def gaps_words(plan: PlanFigures) -> str:
    """Return the error by privacy in gaps, which have no unit; "" where it is not known."""
    if plan.gaps is None:
        return ""
    whose = "" if plan.is_assumed else f", for {STAND_IN}"
    return f"off by {plan.gaps:.3g} gaps between neighbouring values near the quantile{whose}"


def plan_text(plan: PlanFigures) -> str:
    """Return a plan as lines for a reader."""
    lines = [f"Release     {plan.statistic}; n = {plan.n_records}"]
    if plan.replaced is not None:
        lines.append(f"Replaced    {replaced_words(plan)}")
    lines += [f"Method      {method_words(plan)}", f"Promise     {plan.guarantee!r}"]
    if plan.smoothing is not None:
        size, law = noise_words(plan), "max law" if plan.noise is None else repr(plan.noise)
        lines.append(
            f"Noise       {law} at smoothing t = {smoothing_text(plan.smoothing)}"
            + (f"; standard deviation {size}" if size else "")
        )
    if plan.caution():
        lines.append(f"Caution     {plan.caution()}")
    lines.append(f"Assuming    {plan.assumption}")
    if plan.is_assumed:
        lines.append("Errors      root mean square, expected under the assumption")
    else:
        lines.append(f"Errors      {UNKNOWN}")
    if plan.gaps is not None:
        lines.append(f"Ranks       {gaps_words(plan)}")
    lines += [f"  {name:<10}{value:.4g}: {words}" for name, value, words in error_rows(plan)]
    if plan.confidence is not None:
        length = "" if plan.half_width is None else f", +- {plan.half_width:.4g} on average"
        lines.append(
            f"Error bars  {float(plan.confidence):.15g} confidence{length}: each "
            f"{plan_covers(plan)}; {paid_words(plan)}"
        )
    if words := rivals_words(plan):
        lines.append(f"Beside      {words}")
        lines += [f"  {rival.error:<10.4g}{rival.name}" for rival in plan.rivals]
    if verdict_words(plan):
        lines.append(f"Verdict     {verdict_words(plan)}")
    lines += [
        f"Runner-up   {alternative.describe(plan.n_records)}" for alternative in plan.runners_up
    ]
    return "\n".join(lines)


def paid_words(plan: PlanFigures) -> str:
    """Return what of the promise pays for error bars, and by whom window and noise were chosen."""
    if plan.covers in ("quantile", "population"):
        how = "one law of noise serves value and bars"
        if plan.method != PAIR:
            how = "a share of the promise pays for them"
        return f"{how}, window and smoothing as release chooses them without a plan"
    return (
        "a share of the promise pays for them, and the plan chose for them and the error together"
    )


def plan_covers(plan: PlanFigures) -> str:
    """Return what the error bars of a plan cover unless they are asked for something else."""
    target = "window" if plan.covers is None else plan.covers
    coverage = Coverage(plan.confidence or Fraction(1, 2), read_target(target))
    return coverage.words(plan.query, plan.n_records)
