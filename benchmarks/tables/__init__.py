"""Tables: errors of groups against what users would pick, the size of a group being private.

``python -m benchmarks.tables`` prints the tables of this part, with ``--full`` all epsilons, and
the project's targets, reached or not. Ratios are (error of smoothdp) / (error of the peer): below
1 smoothdp is more accurate. Errors are exact given the data unless said otherwise.
"""

from __future__ import annotations


def main(*, full: bool = False) -> None:
    """Print all tables."""
    from benchmarks.accuracy.ratios import Targets
    from benchmarks.tables.means import show_means
    from benchmarks.tables.quantiles import show_quantiles
    from benchmarks.tables.speed import show_speed

    targets = Targets("Tables", exact=True)
    for show in (show_quantiles, show_means, show_speed):
        show(full, targets)
    targets.show()


def written(page: str, printed: str) -> str:
    """Return a page with the block of its section "Tables" replaced by what was printed."""
    before, section = page.split("\n## Tables\n", 1)
    start, _, end = section.split("```\n", 2)
    lines = "\n".join(line.rstrip() for line in printed.strip().splitlines())
    return f"{before}\n## Tables\n{start}```\n{lines}\n```\n{end}"
