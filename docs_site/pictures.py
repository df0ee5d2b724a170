"""The pictures of the documentation, made anew by every build: about ten seconds.

``python -m docs_site.pictures FOLDER`` writes them to look at.
"""

from __future__ import annotations

import io
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from scipy import stats

import smoothdp as sd
from smoothdp import plots
from smoothdp.plots.canvas import BLUE, GREEN, GREY, ORANGE, new_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

VOTES_2020 = (81_283_501, 74_223_975)


def election() -> Axes:
    """Draw delta at the votes of 2020 beside ordinary DP."""
    count = sd.SamplingHistogram(sum(VOTES_2020), sampling_rate="0.998")
    return plots.plot_profiles(
        {"at the votes of 2020": count.at(VOTES_2020), "ordinary DP": count.guarantee},
        largest_epsilon=0.12,
        title="0.2% of the votes of 2020 lost",
        reference=(-8.19, "1/n"),
    )


def privacy_profile() -> Axes:
    """Draw profiles of four claims."""
    return plots.plot_profiles(
        {
            "pure, epsilon = 1": sd.PureDP(1),
            "approximate, (1, 1e-6)": sd.ApproxDP(1, delta="1e-6"),
            "Gaussian, mu = 1/2": sd.GaussianDP("1/2"),
            "shuffled sum of 1,000": _survey(),
        },
        largest_epsilon=3,
        title="privacy profiles",
        least_log10=-14,
    )


def tradeoff_function() -> Axes:
    """Draw trade-off curves of the same claims."""
    return plots.plot_tradeoff(
        {
            "pure, epsilon = 1": sd.PureDP(1),
            "Gaussian, mu = 1": sd.GaussianDP(1),
            "shuffled sum of 1,000": _survey(),
        },
        title="what an attacker must miss",
    )


def smooth_sensitivity() -> Axes:
    """Draw S(t) of three statistics at made-up incomes."""
    rng = np.random.default_rng(1)
    incomes = np.sort(rng.lognormal(10, 1, 1000))
    bounds = (0, 10_000_000)
    queries = {
        "median of 1 value": sd.queries.Median(bounds),
        "median of 15 values": sd.queries.Median(bounds, window=15),
        "5% trimmed mean": sd.queries.TrimmedMean("0.05", bounds=bounds),
    }
    return plots.plot_sensitivity(
        {name: query.sensitivity_curve(incomes) for name, query in queries.items()},
        title="smooth sensitivity of 1,000 made-up incomes",
    )


def several_quantiles() -> Axes:
    """Draw seven released quantiles of made-up incomes, with their intervals."""
    incomes = np.random.default_rng(3).lognormal(10, 0.6, 400)
    query = sd.queries.Quantiles(
        ["0.1", "0.25", "0.4", "0.5", "0.6", "0.75", "0.9"], bounds=(0, 1_000_000)
    )
    found = sd.release(
        incomes, query, guarantee=sd.ZCDP("1/2"), confidence="0.95", rng=sd.SeededRandom(3)
    )
    return plots.plot_quantiles(
        [float(level) for level in query.levels],
        found.value,
        title="quantiles of 400 made-up incomes, rho = 1/2",
        x_label="income",
        intervals=found.interval,  # type: ignore[attr-defined]
    )


def smoothed_dp() -> Axes:
    """Draw delta(x) at every count of a poll, the model's share of counts, and ordinary DP."""
    n, draws, epsilon = 100, 90, 1
    poll = sd.SamplingHistogram(n, n_draws=draws)
    xs = list(range(n + 1))
    logs = [poll.at([k, n - k]).log_delta(epsilon) / np.log(10) for k in xs]
    axes = new_axes()
    axes.axvspan(30, 70, color=GREEN, alpha=0.15, label="where a model of shares .4 to .6 lives")
    axes.plot(xs, logs, color=BLUE, marker="o", markersize=3, label="delta(x)")
    worst = np.log10(poll.worst_case_delta(epsilon=epsilon))
    axes.axhline(worst, color=ORANGE, linestyle="--", label="ordinary DP: the worst count")
    model = sd.DataModel([("0.4", "0.6"), ("0.6", "0.4")])
    found = sd.smoothed_delta(poll, model, epsilon=epsilon).log_delta / np.log(10)
    axes.axhline(found, color=GREY, linestyle=":", label="smoothed delta over the model")
    axes.set_xlabel("records of the first category, of 100 (90 drawn)")
    axes.set_ylabel("log10 delta at epsilon = 1")
    axes.legend(frameon=False, fontsize=9, loc="center")
    return axes


def shuffle_model() -> Axes:
    """Draw how delta falls with the users: shuffled against local."""
    sizes = [100, 200, 500, 1000, 2000, 5000, 10_000, 20_000]
    exact = []
    for n in sizes:
        protocol = sd.shuffle.BooleanSum(n, expected_random_users=n / 5)
        exact.append(protocol.profile().epsilon("1e-6"))
    local = sd.shuffle.BooleanSum(1000, expected_random_users=200).local_profile().epsilon("1e-6")
    axes = new_axes()
    axes.plot(sizes, exact, color=BLUE, marker="o", label="the shuffled sum, exact")
    axes.axhline(local, color=ORANGE, linestyle="--", label="one message alone (no shuffler)")
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel("users, one in five of whom answers at random")
    axes.set_ylabel("epsilon at delta = 1e-6")
    axes.legend(frameon=False, fontsize=9)
    return axes


def concentrated_dp() -> Axes:
    """Draw Renyi divergence against the order: pure, concentrated and a Gaussian law."""
    orders = np.linspace(1.05, 12, 60)
    pair = sd.Pair(np.log([0.7311, 0.2689]), np.log([0.2689, 0.7311]))
    axes = new_axes()
    renyi = [pair.renyi(float(order)) for order in orders]
    axes.plot(orders, renyi, color=BLUE, label="randomised response, epsilon = 1")
    axes.plot(orders, orders / 2, color=ORANGE, linestyle="--", label="zCDP, rho = 1/2: a line")
    axes.plot(
        orders, np.minimum(1.0, orders / 2), color=GREY, linestyle=":", label="pure, epsilon = 1"
    )
    axes.set_ylim(0, 3)
    axes.set_xlabel("order of the Renyi divergence")
    axes.set_ylabel("divergence")
    axes.legend(frameon=False, fontsize=9)
    return axes


def noise_tails() -> Axes:
    """Draw tails of four laws that keep epsilon = 1 at smoothing 0.1."""
    laws = (sd.noise.PolyPlace(10), sd.noise.StudentT(3), sd.noise.GeneralizedCauchy(4))
    found = {repr(law): (law, _scale(law)) for law in laws}
    return plots.plot_tails(found, title="noise for epsilon = 1, smoothing 0.1")


def error_by_budget() -> Axes:
    """Draw what a median of 1,000 records costs."""
    query = sd.queries.Median((0, 100))
    budgets = [(e, sd.PureDP(e)) for e in ("0.05", "0.1", "0.2", "0.5", "1", "2")]
    points = sd.planning.errors_by_epsilon(
        query, budgets, n_records=300, assuming=stats.norm(40, 9)
    )
    return plots.plot_error_by_budget(points, title="median of 300 records")


PICTURES: dict[str, Callable[[], Axes]] = {
    name.__name__.replace("_", "-"): name
    for name in (
        election,
        privacy_profile,
        tradeoff_function,
        smooth_sensitivity,
        several_quantiles,
        smoothed_dp,
        shuffle_model,
        concentrated_dp,
        noise_tails,
        error_by_budget,
    )
}


def svg(axes: Axes) -> str:
    """Return the picture as the text of an SVG file, the same each time."""
    import matplotlib as mpl

    written = io.StringIO()
    figure = axes.get_figure()
    assert figure is not None
    with mpl.rc_context({"svg.hashsalt": "smoothdp"}):
        figure.savefig(written, format="svg", metadata={"Date": None})  # type: ignore[union-attr]
    return written.getvalue()


def main(folder: str) -> None:
    """Write all pictures to a folder."""
    target = Path(folder)
    target.mkdir(parents=True, exist_ok=True)
    for name, draw in PICTURES.items():
        (target / f"{name}.svg").write_text(svg(draw()), encoding="utf-8")


def _survey() -> sd.shuffle.BooleanSum:
    return sd.shuffle.BooleanSum.calibrate(1000, guarantee=sd.ApproxDP(1, delta="1e-6"))


def _scale(law: sd.noise.NoiseDistribution) -> float:
    return law.calibrate(sd.PureDP(1), smoothing="0.1").noise_scale(1)


if __name__ == "__main__":
    main(*sys.argv[1:])
