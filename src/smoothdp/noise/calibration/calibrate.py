"""`calibrate`: from a law, a guarantee and a smoothing to the least noise, a `Calibration`."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from fractions import Fraction
from typing import Generic, TypeVar

from smoothdp.claims.curves.profile import PrivacyProfile
from smoothdp.claims.guarantees.guarantee import Guarantee
from smoothdp.errors import InvalidParameter
from smoothdp.exact.balls.shown import shown
from smoothdp.exact.balls.work import apart
from smoothdp.exact.parameters.numbers import Parameter, exact_fraction, float_bounds
from smoothdp.noise.abstract_law import AbstractLaw
from smoothdp.noise.calibration.approximate.smooth_profile import SmoothProfile
from smoothdp.noise.calibration.lower_bounds import variance_lower_bound
from smoothdp.noise.calibration.proved_claim import check_target, proved_claim
from smoothdp.noise.shift_claim import LABELS
from smoothdp.sources import Source
from smoothdp.text import number_up

Law = TypeVar("Law", bound=AbstractLaw)
LawOut = TypeVar("LawOut", bound=AbstractLaw, covariant=True)


@dataclass(frozen=True, repr=False)
class Calibration(Generic[LawOut]):
    """Noise (S / s) Z keeps ``guarantee`` for every S that is smooth with ``smoothing``.

    Whoever makes one, it is compared with what `calibrate` proves for the same target.

    S is a ``smoothing``-smooth upper bound of the local sensitivity: it bounds it, and
    between neighbours ln S changes by at most ``smoothing``.

    Attributes:
        law: the noise law at unit scale.
        guarantee: what is kept.
        smoothing: t >= 0.
        exact_shift: s, safe: no larger than the true largest one.
        label: how it is known: "proved", "certified" (in balls) or "numerical".
        relative_gap: (u - s) / s for a value u at which the guarantee is known to fail or
            which is a proved upper bound; inf if there is none.
        method: "exact", "paper" (the theorem as printed) or "closed_form".
        source: where the argument comes from.
        reason: the theorem or the route.

    Raises:
        InvalidParameter: a shift larger, or a label stronger, than what is proved.

    >>> from smoothdp.noise import StudentT
    >>> from smoothdp.claims import PureDP
    >>> calibration = StudentT(3).calibrate(PureDP(1), smoothing="0.1")
    >>> calibration.label, calibration.noise_scale(2) == 2 / calibration.shift
    ('proved', True)
    """

    law: LawOut
    guarantee: Guarantee
    smoothing: Fraction
    exact_shift: Fraction
    label: str
    relative_gap: float
    method: str
    source: Source
    reason: str

    def __post_init__(self) -> None:
        self.check()

    def __reduce__(self) -> tuple[type[Calibration[LawOut]], tuple[object, ...]]:
        # A pickle is read by the constructor, which compares what it says.
        return type(self), tuple(getattr(self, field.name) for field in fields(self))

    def check(self) -> None:
        """Raise InvalidParameter if the calibration claims more than is proved."""
        smoothing = check_target(self.law, self.guarantee, self.smoothing, self.method)
        if not isinstance(self.smoothing, Fraction) or not isinstance(self.exact_shift, Fraction):
            raise _false("smoothing and exact_shift as Fractions", f"{self.exact_shift!r}")
        if self.exact_shift <= 0:
            raise _false("exact_shift > 0", f"exact_shift={shown(self.exact_shift)}")
        # Remembered for each target: a calibration that was just made costs nothing here.
        with apart():
            claim = proved_claim(self.law, self.guarantee, smoothing, self.method)
        if self.exact_shift > claim.exact_shift:
            raise _false(
                f"a shift of at most {shown(claim.exact_shift)}, as far as {self.guarantee!r} is "
                f"{claim.label} for {self.law!r}",
                f"shift={shown(self.exact_shift)}",
            )
        if self.label not in LABELS or LABELS.index(self.label) < LABELS.index(claim.label):
            raise _false(f"label={claim.label!r} or a weaker one", f"label={self.label!r}")
        least = (
            (claim.exact_shift * (1 + Fraction(claim.relative_gap)) / self.exact_shift - 1)
            if (math.isfinite(claim.relative_gap))
            else math.inf
        )
        if not self.relative_gap >= least * (1 - 1e-12):
            raise _false(f"a relative_gap of at least {float(least)}", f"{self.relative_gap}")

    @property
    def shift(self) -> float:
        """s as a float, rounded down."""
        return float_bounds(self.exact_shift)[0]

    def noise_scale(self, sensitivity: Parameter) -> float:
        """Return sensitivity / s, rounded up: the scale by which Z is multiplied.

        Raises:
            InvalidParameter: a sensitivity that is not a number >= 0.
        """
        scale = exact_fraction(sensitivity, name="sensitivity")
        if scale < 0:
            raise InvalidParameter(
                expected="sensitivity >= 0",
                got=f"sensitivity={sensitivity}",
                remedy="Give the magnitude of the sensitivity, a number >= 0",
            )
        return float_bounds(scale / self.exact_shift)[1]

    @property
    def standard_deviation(self) -> float:
        """Standard deviation of the noise at smooth sensitivity 1; inf where it is infinite."""
        return math.sqrt(self.law.variance) / self.shift

    @property
    def bound_ratio(self) -> float:
        """Standard deviation over a proved lower bound of that of every noise; inf if none is.

        At most so much could still be gained by another law; the bounds are loose for large
        smoothing.
        """
        try:
            bound = variance_lower_bound(self.guarantee, shift=1, smoothing=self.smoothing)
        except InvalidParameter:
            return math.inf
        return self.standard_deviation / math.sqrt(bound)

    def profile(self) -> PrivacyProfile:
        """Return the privacy profile of one release, tighter than what the guarantee implies."""
        return SmoothProfile(self.law, self.exact_shift, self.smoothing, self.guarantee.neighbours)

    def sentence(self) -> str:
        """Return the result in plain English."""
        gap = (
            "no larger one is refuted"
            if math.isinf(self.relative_gap)
            else f"within {number_up(self.relative_gap, 2)} of the largest"
        )
        return (
            f"{self.law!r} scaled to S / {self.shift:.9g} keeps {self.guarantee!r} for every S "
            f"that changes by at most a factor e^{shown(self.smoothing)} between "
            f"neighbours: {self.label}, {gap} ({self.reason})."
        )

    def __repr__(self) -> str:
        return (
            f"Calibration(law={self.law!r}, guarantee={self.guarantee!r}, "
            f"smoothing={shown(self.smoothing)}, shift={self.shift!r}, "
            f"label={self.label!r}, relative_gap={self.relative_gap:.2g}, "
            f"method={self.method!r})"
        )


def calibrate(
    law: Law,
    guarantee: Guarantee,
    *,
    smoothing: Parameter,
    method: str = "exact",
) -> Calibration[Law]:
    """Return the least noise with which a release at smooth sensitivity keeps a guarantee.

    The release f(x) + (S(x) / s) Z keeps it for every query f and every S that bounds its
    local sensitivity and is t-smooth: ln S changes by at most t between neighbours. The
    largest such s is returned, or a safe value just below it.

    Args:
        law: a noise law at unit scale.
        guarantee: PureDP, ApproxDP, ZCDP, TruncatedCDP, or GaussianDP: exact for normal noise
            without smoothing, else by the pure claim that implies it.
        smoothing: t, from 0 to 20.
        method: "exact" (default), the tightest analysis; "paper", the theorem of the papers as
            it is printed, with its loose constants; "closed_form", this library's sharper
            formula of the same kind (see `smoothdp.noise.calibration.paper`).

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
    claim = proved_claim(law, guarantee, t, method)
    return Calibration(
        law=law,
        guarantee=guarantee,
        smoothing=t,
        exact_shift=claim.exact_shift,
        label=claim.label,
        relative_gap=claim.relative_gap,
        method=method,
        source=claim.source,
        reason=claim.reason,
    )


def _false(expected: str, got: str) -> InvalidParameter:
    return InvalidParameter(
        expected=expected, got=got, remedy="Take what calibrate() of the law returns"
    )
