"""A picture of what privacy costs a plan: error against the number of records and epsilon."""

from __future__ import annotations

import math
from pathlib import Path

from smoothdp.claims import Guarantee
from smoothdp.planning import ErrorPoint, Plan, errors_by_epsilon, errors_by_size
from smoothdp.plots.canvas import save
from smoothdp.plots.panels import Panel, plot_panels

_FACTORS = (1, 3, 10, 30, 100)
_EPSILONS = ("0.1", "0.2", "0.5", "1", "2")
_LEAST_RECORDS = 30


def draw_plan(plan: Plan, path: str | Path, *, assuming: object = None) -> Path:
    """Write a picture of the expected error of the best plan, by n and by epsilon.

    Args:
        plan: what is drawn: its statistic, guarantee and n.
        path: a picture file such as out.png.
        assuming: the assumption that the plan was made with.

    Raises:
        MissingExtra: matplotlib is not installed.

    >>> import smoothdp as sd
    >>> assuming = [float(delay % 50) for delay in range(1000)]
    >>> plan = sd.plan(
    ...     sd.queries.Median((0, 60)), guarantee=sd.PureDP(1), n_records=1000, assuming=assuming
    ... )  # doctest: +SKIP
    >>> draw_plan(plan, "errors.png", assuming=assuming)  # doctest: +SKIP
    PosixPath('errors.png')
    """
    sizes = sorted(
        {max(round(plan.n_records * up / 10), _LEAST_RECORDS) for up in _FACTORS} | {plan.n_records}
    )
    # A window that was chosen for this n and epsilon suits no others.
    query, guarantee = plan.query if plan.asked is None else plan.asked, plan.guarantee
    by_size = errors_by_size(query, sizes, guarantee=guarantee, assuming=assuming)
    by_epsilon = errors_by_epsilon(
        query,
        [(epsilon, _at(guarantee, epsilon)) for epsilon in _EPSILONS],
        n_records=plan.n_records,
        assuming=assuming,
    )
    names = {"epsilon": "epsilon", "mu": "mu"}
    name = next((names[p] for p in guarantee.parameters() if p in names), "sqrt(2 rho)")
    panels = [
        _panel(by_size, f"{guarantee!r}", "records"),
        _panel(by_epsilon, f"n = {plan.n_records}", name),
    ]
    return save(plot_panels(panels), path)


def _panel(points: list[ErrorPoint], title: str, x_label: str) -> Panel:
    kept = [point for point in points if math.isfinite(point.rmse)]
    return Panel(
        title=title,
        x_label=x_label,
        y_label="expected error",
        xs=[point.x for point in kept],
        curves={
            "best plan": [point.rmse for point in kept],
            "the plain statistic without privacy": [point.rmse_without_privacy for point in kept],
            "least, with any noise": [point.rmse_lower_bound for point in kept],
            "by privacy alone": [point.privacy_rmse for point in kept],
        },
        log_scale=True,
        log_x=True,
    )


def _at(guarantee: Guarantee, epsilon: str) -> Guarantee:
    """Return the guarantee of the same kind with another epsilon or mu, or rho = epsilon^2 / 2."""
    for name in ("epsilon", "mu"):
        if name in guarantee.parameters():
            return guarantee.changed(**{name: epsilon})
    return guarantee.changed(rho=float(epsilon) ** 2 / 2)
