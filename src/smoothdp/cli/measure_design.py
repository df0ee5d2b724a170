"""``smoothdp measure --model --target-delta``: how many records must be lost?"""

from __future__ import annotations

import smoothdp as sd
from smoothdp.text import upper_text


def describe_design(
    model: sd.DataModel, n_records: int, epsilon: str, delta: str, sampling: str
) -> tuple[str, dict[str, object]]:
    """Return the largest sample that meets a target, in words and for JSON."""
    design = sd.largest_sample(
        model,
        n_records=n_records,
        epsilon=epsilon,
        delta=delta,
        sampling="with_replacement" if sampling == "with_replacement" else "without_replacement",
    )
    found = design.smoothed
    largest = "one more is proved too many" if design.is_largest else "more may do"
    share = design.n_draws / n_records
    text = (
        f"target          smoothed delta at most {delta} at epsilon {epsilon}\n"
        f"records         {n_records}\n"
        f"largest sample  {design.n_draws} records drawn, a rate of {share:.6g} ({largest})\n"
        + (f"fewest lost     {design.n_lost}\n" if sampling != "with_replacement" else "")
        + f"smoothed delta  {upper_text(found.log_delta, 8)}  (rounded up; {found.method})\n\n"
        f"{found.guarantee.sentence()}"
    )
    return text, {
        "n_records": n_records,
        "epsilon": found.guarantee.epsilon,
        "target_delta": delta,
        "n_draws": design.n_draws,
        "n_lost": design.n_lost,
        "is_largest": design.is_largest,
        "smoothed_delta": found.delta,
        "log_smoothed_delta": found.log_delta,
        "method": found.method,
        "guarantee": found.guarantee.sentence(),
        "version": sd.__version__,
    }
