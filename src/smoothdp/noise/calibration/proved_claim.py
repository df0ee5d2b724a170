"""The claim that a calibration of a law, a guarantee and a smoothing may make: what is proved."""

from __future__ import annotations

from fractions import Fraction

from smoothdp.claims.guarantees.concentrated import ZCDP, TruncatedCDP
from smoothdp.claims.guarantees.gaussian import GaussianDP
from smoothdp.claims.guarantees.guarantee import Guarantee
from smoothdp.claims.guarantees.standard import ApproxDP, PureDP
from smoothdp.errors import InvalidParameter
from smoothdp.exact.balls.shown import shown
from smoothdp.exact.balls.work import remembered
from smoothdp.exact.parameters.numbers import exact_fraction
from smoothdp.noise.abstract_law import AbstractLaw
from smoothdp.noise.calibration.approximate.shift import approximate_shift
from smoothdp.noise.calibration.concentrated.shift import concentrated_shift
from smoothdp.noise.calibration.limits import MOST_WORK, too_much_work
from smoothdp.noise.calibration.paper import closed_form_shift, paper_shift
from smoothdp.noise.calibration.pure import pure_shift
from smoothdp.noise.calibration.shipped_claims import shipped_claim
from smoothdp.noise.divergences.own_facts import check_own_facts
from smoothdp.noise.shift_claim import ShiftClaim

_METHODS = ("exact", "paper", "closed_form")
_LARGEST_SMOOTHING = 20


def check_target(law: object, guarantee: object, smoothing: object, method: object) -> Fraction:
    """Return t, or raise InvalidParameter where nothing can be calibrated."""
    if not isinstance(law, AbstractLaw):
        raise InvalidParameter(
            expected="a noise law", got=f"{law!r}", remedy="Give a law, such as PolyPlace(5)"
        )
    check_own_facts(law)
    if method not in _METHODS:
        raise InvalidParameter(
            expected='method "exact", "paper" or "closed_form"',
            got=f"{method!r}",
            remedy='Choose method="exact", "paper" or "closed_form"',
        )
    t = exact_fraction(smoothing, name="smoothing")  # type: ignore[arg-type]
    if not 0 <= t <= _LARGEST_SMOOTHING:
        raise InvalidParameter(
            expected=f"0 <= smoothing <= {_LARGEST_SMOOTHING}",
            got=f"smoothing={shown(t)}",
            remedy="Give the smoothing of the sensitivity, such as 0.1",
        )
    if not isinstance(guarantee, PureDP | ApproxDP | ZCDP | TruncatedCDP | GaussianDP):
        raise InvalidParameter(
            expected="PureDP, ApproxDP, ZCDP, TruncatedCDP or GaussianDP",
            got=f"{guarantee!r}",
            remedy="Calibrate to one of these; the result's profile() bounds the others",
        )
    if isinstance(guarantee, GaussianDP) and method != "exact":
        raise InvalidParameter(
            expected='method="exact" for GaussianDP, about which the papers of noise say nothing',
            got=f"{method!r}",
            remedy="Leave method out",
        )
    return t


@remembered(
    MOST_WORK,
    kept=4096,
    message=lambda law, guarantee, smoothing, _: too_much_work(law, guarantee, shown(smoothing)),
)
def proved_claim(
    law: AbstractLaw, guarantee: Guarantee, smoothing: Fraction, method: str
) -> ShiftClaim:
    """Return what is proved of a law: every `Calibration` is compared with it when it is made."""
    if method == "paper":
        return paper_shift(law, guarantee, smoothing)
    if method == "closed_form":
        return closed_form_shift(law, guarantee, smoothing)
    shipped = shipped_claim(law, guarantee, smoothing)
    return compute_claim(law, guarantee, smoothing) if shipped is None else shipped


def compute_claim(law: AbstractLaw, guarantee: Guarantee, smoothing: Fraction) -> ShiftClaim:
    """Return the exact claim, not from the table."""
    if isinstance(guarantee, ApproxDP) and guarantee.exact_delta == 0:
        guarantee = PureDP(guarantee.exact_epsilon, neighbours=guarantee.neighbours)
    if isinstance(guarantee, GaussianDP):
        # (proofs/gaussian-dp#1)
        return _gaussian_shift(law, guarantee, smoothing)
    if isinstance(guarantee, PureDP):
        return pure_shift(law, guarantee.exact_epsilon, smoothing)
    if isinstance(guarantee, ApproxDP):
        return approximate_shift(law, guarantee, smoothing)
    if isinstance(guarantee, ZCDP | TruncatedCDP):
        return concentrated_shift(law, guarantee, smoothing)
    raise AssertionError(f"unreachable: {guarantee!r}")


def _gaussian_shift(law: AbstractLaw, guarantee: GaussianDP, smoothing: Fraction) -> ShiftClaim:
    """Return a shift that is mu-Gaussian DP, by one of two routes; no other has a proof.

    A law that knows its own mu where nothing is dilated (normal noise); else the shift of the pure
    claim that implies mu (proofs/gaussian-dp#1), beyond which nothing is known.

    Raises:
        InvalidParameter: a law without pure DP at this smoothing.
    """
    own = None if smoothing else law._undilated_claim(guarantee)
    if own is not None:
        return own
    pure = guarantee.sufficient_pure()
    try:
        claim = pure_shift(law, pure.exact_epsilon, smoothing)
    except InvalidParameter:
        raise InvalidParameter(
            expected=f"a law with a proved mu at smoothing={shown(smoothing)}: normal noise "
            "without smoothing, or one with pure DP of the epsilon that implies mu",
            got=f"{law!r} for {guarantee!r}, which asks for epsilon={shown(pure.exact_epsilon)}",
            remedy="Use PolyPlace, StudentT or GeneralizedCauchy, a smaller smoothing, or a larger "
            "mu",
        ) from None
    reason = f"{claim.reason}, by the pure DP that implies it"
    return ShiftClaim(claim.exact_shift, None, claim.label, claim.source, reason)
