"""The limit of work of a calibration, and the message where a calibration would take more.

The limit is counted (`exact/balls/work.py`), so a refusal is the same on every machine. The laws
of the defaults take a tenth of it. What needs more are shapes near the edge of their range (a
smoothing near sigma sqrt(2 rho), a large sigma of a log-normal law) and guarantees far out (rho
of 1e-12, or 50), for which another shape or a closed form serves as well.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from smoothdp.claims.guarantees.guarantee import Guarantee
from smoothdp.claims.terms import RhoTerms
from smoothdp.errors import Explanation, OutOfReach
from smoothdp.exact.balls.work import WorkLimitReached, limited

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


@contextmanager
def default_work(guarantee: Guarantee, part: Guarantee) -> Iterator[None]:
    """Within the work of one calibration, for noise by rule: a refusal names no law.

    Args:
        guarantee: what was asked for. part: what of it the noise of a value gets.

    Raises:
        OutOfReach: more work than that, which happens far out: rho of 5, or of 1e-12.
    """
    try:
        with limited(MOST_WORK, lambda: too_much_work("noise by rule", part, "by rule")):
            yield
    except WorkLimitReached as error:
        terms = part.terms()
        # Only concentrated claims have laws that take so long.
        is_large = not isinstance(terms, RhoTerms) or terms.rho > 1
        raise OutOfReach(
            expected="a guarantee for whose noise a calibration takes some seconds"
            + (": rho of at most about 3 for each value" if is_large else ""),
            got=f"{guarantee!r}, of which the noise gets {part!r}",
            remedy="Ask for less epsilon or rho, which promises more: the noise is less than the "
            "distance of neighbouring values already"
            if is_large
            else "Ask for more epsilon or rho: at this one the noise is of the order of the bounds",
        ) from error
