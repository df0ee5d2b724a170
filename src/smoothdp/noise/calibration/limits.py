"""How much work a calibration may do, and what is said where it would take more.

The limit is counted (`smoothdp.exact.work`), so a refusal is the same on every machine. What the
library is made for takes a tenth of it; what needs more are shapes near the edge of their range
(a smoothing near sigma sqrt(2 rho), sigma far above what the smoothing asks for, a rho or an
epsilon far below 1e-6), for which another shape or a closed form serves as well.
"""

from __future__ import annotations

from smoothdp.errors import explain

MOST_WORK = 5_000_000
"""Units of `smoothdp.exact.work`: some seconds."""


def too_much_work(law: object, guarantee: object, smoothing: object) -> str:
    """Return the refusal of a calibration that came to the limit."""
    return explain(
        f"a calibration within the work limit of {MOST_WORK:,} units, a few seconds",
        f"more work than that for {law!r}, {guarantee!r} and smoothing={smoothing}",
        "Use another law or shape, a smoothing further from the limit, a less extreme guarantee, "
        'or method="closed_form"',
    )
