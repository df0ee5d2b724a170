"""The limit of work of a calibration, and the message where a calibration would take more.

The limit is counted (`exact/balls/work.py`), so a refusal is the same on every machine. The laws
of the defaults take a tenth of it. What needs more are shapes near the edge of their range (a
smoothing near sigma sqrt(2 rho), a large sigma of a log-normal law) and guarantees far out (rho
of 1e-12, or 50), for which another shape or a closed form serves as well.
"""

from __future__ import annotations

from smoothdp.errors import Explanation

MOST_WORK = 4_500_000
"""Units of `smoothdp.exact.balls.work`: some seconds."""

MOST_WORK_OF_A_CURVE = MOST_WORK // 4
"""For all orders of one pair of laws, of which a certificate needs three, and a cover more."""


def too_much_work(law: object, guarantee: object, smoothing: object) -> Explanation:
    """Return the refusal of a calibration that came to the limit."""
    return Explanation(
        f"a calibration within the work limit of {MOST_WORK:,} units, a few seconds",
        f"more work than that for {law!r}, {guarantee!r} and smoothing={smoothing}",
        "Use another law or shape, a smoothing further from the limit, a less extreme guarantee, "
        'or method="closed_form" for a law of the papers',
    )
