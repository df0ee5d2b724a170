"""Errors against what users would pick: same guarantee, replace one record, n public.

``python -m benchmarks.accuracy`` prints a reduced set of cells (under two minutes), with
``--full`` all of them (hours), and the project's targets, reached or not. Ratios are
(error of the peer) / (error of smoothdp): above 1 smoothdp is more accurate; losses are printed as
losses. Root-mean-square errors, with 95% bootstrap intervals over the data sets.
"""

from __future__ import annotations


def main(*, full: bool = False) -> None:
    """Print all tables."""
    from benchmarks.accuracy.adviser import show_adviser, show_break_even
    from benchmarks.accuracy.error_bars import show_error_bars
    from benchmarks.accuracy.means import show_means
    from benchmarks.accuracy.paper_setting import show_paper_setting
    from benchmarks.accuracy.quantile_bars import show_quantile_bars
    from benchmarks.accuracy.quantiles import show_quantiles
    from benchmarks.accuracy.ratios import Targets
    from benchmarks.accuracy.real_columns import show_real_columns
    from benchmarks.accuracy.speed import show_speed

    targets = Targets()
    for show in (
        show_quantiles,
        show_break_even,
        show_adviser,
        show_real_columns,
        show_means,
        show_paper_setting,
        show_error_bars,
        show_quantile_bars,
    ):
        show(full, targets)
    show_speed(targets)
    targets.show()
