"""`calibrate`: from a law, a guarantee and a smoothing to the least noise."""

from __future__ import annotations

from fractions import Fraction

from smoothdp.claims.guarantees.concentrated import ZCDP, TruncatedCDP
from smoothdp.claims.guarantees.guarantee import Guarantee
from smoothdp.claims.guarantees.standard import ApproxDP, PureDP
from smoothdp.errors import InvalidParameter
from smoothdp.exact.balls.shown import shown
from smoothdp.exact.balls.work import remembered
from smoothdp.exact.parameters.numbers import Parameter, exact_fraction
from smoothdp.noise.calibration.limits import MOST_WORK, too_much_work
from smoothdp.noise.calibration.result import Calibration
from smoothdp.noise.calibration.table import shipped_claim
from smoothdp.noise.law import NoiseDistribution
from smoothdp.noise.shift_claim import ShiftClaim

_METHODS = ("exact", "paper", "closed_form")
_LARGEST_SMOOTHING = 20


def calibrate(
    law: NoiseDistribution,
    guarantee: Guarantee,
    *,
    smoothing: Parameter,
    method: str = "exact",
) -> Calibration:
    """Return the least noise with which a release at smooth sensitivity keeps a guarantee.

    The release f(x) + (S(x) / s) Z keeps it for every query f and every S that bounds its
    local sensitivity and is t-smooth: ln S changes by at most t between neighbours. The
    largest such s is returned, or a safe value just below it.

    Args:
        law: a noise law at unit scale.
        guarantee: PureDP, ApproxDP, ZCDP or TruncatedCDP.
        smoothing: t, from 0 to 20.
        method: "exact" (default), the tightest analysis; "paper", the theorem of the papers as
            it is printed, with its loose constants; "closed_form", this library's sharper
            formula of the same kind (see `smoothdp.noise.theorems`).

    Raises:
        InvalidParameter: no scale of the law meets the guarantee, or another guarantee.
        OutOfReach: it could not be certified, or only with more work than a few seconds, a limit
            that is counted and not timed (`smoothdp.noise.calibration.limits`).

    >>> from smoothdp.noise import StudentT
    >>> from smoothdp.claims import ZCDP
    >>> result = calibrate(StudentT(13), ZCDP("1/2"), smoothing="0.1")
    >>> round(result.shift, 3), result.label
    (1.085, 'certified')
    """
    t = check_target(law, guarantee, smoothing, method)
    return _calibrate(law, guarantee, t, method)


def check_target(law: object, guarantee: object, smoothing: object, method: object) -> Fraction:
    """Return t, or raise InvalidParameter where nothing can be calibrated."""
    if not isinstance(law, NoiseDistribution):
        raise InvalidParameter(
            expected="a noise law", got=f"{law!r}", remedy="Give one such as PolyPlace(5)"
        )
    if method not in _METHODS:
        raise InvalidParameter(
            expected='method "exact", "paper" or "closed_form"',
            got=f"{method!r}",
            remedy="Choose one of the three",
        )
    t = exact_fraction(smoothing, name="smoothing")  # type: ignore[arg-type]
    if not 0 <= t <= _LARGEST_SMOOTHING:
        raise InvalidParameter(
            expected=f"0 <= smoothing <= {_LARGEST_SMOOTHING}",
            got=f"smoothing={shown(t)}",
            remedy="Give the smoothing of the sensitivity, such as 0.1",
        )
    if not isinstance(guarantee, PureDP | ApproxDP | ZCDP | TruncatedCDP):
        raise InvalidParameter(
            expected="PureDP, ApproxDP, ZCDP or TruncatedCDP",
            got=f"{guarantee!r}",
            remedy="Calibrate to one of these; the result's profile() bounds the others",
        )
    return t


def _calibrate(
    law: NoiseDistribution, guarantee: Guarantee, smoothing: Fraction, method: str
) -> Calibration:
    claim = proved_claim(law, guarantee, smoothing, method)
    return Calibration(
        law=law,
        guarantee=guarantee,
        smoothing=smoothing,
        exact_shift=claim.exact_shift,
        label=claim.label,
        relative_gap=claim.relative_gap,
        method=method,
        source=claim.source,
        reason=claim.reason,
    )


@remembered(
    MOST_WORK,
    kept=4096,
    message=lambda law, guarantee, smoothing, _: too_much_work(law, guarantee, shown(smoothing)),
)
def proved_claim(
    law: NoiseDistribution, guarantee: Guarantee, smoothing: Fraction, method: str
) -> ShiftClaim:
    """Return what is proved of a law: every `Calibration` is compared with it when it is made."""
    if method == "paper":
        from smoothdp.noise.theorems import paper_shift

        return paper_shift(law, guarantee, smoothing)
    if method == "closed_form":
        from smoothdp.noise.theorems import closed_form_shift

        return closed_form_shift(law, guarantee, smoothing)
    shipped = shipped_claim(law, guarantee, smoothing)
    return compute_claim(law, guarantee, smoothing) if shipped is None else shipped


def compute_claim(law: NoiseDistribution, guarantee: Guarantee, smoothing: Fraction) -> ShiftClaim:
    """Return the exact claim, not from the table."""
    if isinstance(guarantee, ApproxDP) and guarantee.exact_delta == 0:
        guarantee = PureDP(guarantee.exact_epsilon, neighbours=guarantee.neighbours)
    if isinstance(guarantee, PureDP):
        from smoothdp.noise.theorems import pure_shift

        return pure_shift(law, guarantee.exact_epsilon, smoothing)
    if isinstance(guarantee, ApproxDP):
        from smoothdp.noise.calibration.approximate import approximate_shift

        return approximate_shift(law, guarantee, smoothing)
    if isinstance(guarantee, ZCDP | TruncatedCDP):
        from smoothdp.noise.calibration.concentrated import concentrated_shift

        return concentrated_shift(law, guarantee, smoothing)
    raise AssertionError(f"unreachable: {guarantee!r}")
