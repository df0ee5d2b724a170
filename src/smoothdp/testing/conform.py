"""Is a class a noise law that the library may trust? One call that a test of the class makes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from smoothdp.errors import InvalidParameter
from smoothdp.noise.calibration import Calibration
from smoothdp.noise.law import NoiseDistribution
from smoothdp.testing import law_balls, law_draws, law_floats, law_privacy
from smoothdp.testing.law_floats import require
from smoothdp.testing.law_privacy import LawCalibration
from smoothdp.text import table

FAMILY_CHECKS: tuple[Callable[[type[NoiseDistribution]], None], ...] = (
    law_floats.declares_itself,
    law_floats.reads_its_parameters,
    law_floats.tails_change_one_way,
)
"""What is asked of the class."""

LAW_CHECKS: tuple[Callable[[NoiseDistribution], None], ...] = (
    law_floats.is_symmetric,
    law_floats.is_monotone,
    law_floats.cdf_integrates_the_density,
    law_floats.quantile_inverts_the_cdf,
    law_floats.variance_is_the_second_moment,
    law_floats.moments_rise,
    law_floats.takes_numbers_and_arrays,
    law_floats.behaves_at_the_edges,
    law_floats.is_a_value,
    law_balls.floats_are_near_the_balls,
    law_balls.elasticity_is_the_slope,
    law_balls.growth_is_true,
    law_balls.wide_balls_contain_narrow_ones,
    law_balls.mass_is_one,
    law_draws.draws_are_enclosed,
    law_draws.tails_are_enclosed,
    law_draws.draws_follow_the_law,
)
"""What is asked of a law of each shape."""

_SHAPES = 3


@dataclass(frozen=True, slots=True)
class Conformance:
    """What `conform` found of a class that conforms.

    Attributes:
        family: the class.
        laws: the laws that were looked at.
        calibrations: for each guarantee and smoothing the calibration that quadrature agrees
            with, or why the law has none.

    >>> from smoothdp.noise import Gaussian
    >>> answer = "Expected a power tail; got a normal one. Ask for zCDP."
    >>> passed = Conformance(Gaussian, (Gaussian(),), (("PureDP(1)", "1/20", answer),))
    >>> print(passed.text().splitlines()[-1])
    PureDP(1), smoothing 1/20: Expected a power tail; got a normal one. Ask for zCDP.
    """

    family: type[NoiseDistribution]
    laws: tuple[NoiseDistribution, ...]
    calibrations: tuple[tuple[str, str, LawCalibration | str], ...]

    def text(self) -> str:
        """Return the calibrations as a table, and why others are refused."""
        rows = [
            (guarantee, smoothing, *_cells(answer))
            for guarantee, smoothing, answer in self.calibrations
        ]
        refusals = dict.fromkeys(
            f"{guarantee}, smoothing {smoothing}: {answer}"
            for guarantee, smoothing, answer in self.calibrations
            if isinstance(answer, str)
        )
        shapes = ", ".join(map(repr, self.laws))
        shown = table(rows, header=("guarantee", "smoothing", "s", "label"))
        lines = [f"{self.family.__name__} conforms: {shapes}.", "", shown]
        return "\n".join([*lines, "", *refusals] if refusals else lines)


def _cells(answer: LawCalibration | str) -> tuple[str, str]:
    return ("refused", "") if isinstance(answer, str) else (f"{answer.shift:.6g}", answer.label)


def conform(family: type[NoiseDistribution]) -> Conformance:
    """Check a noise law, for a test of whoever writes one: pass, or an error that says why not.

    * **Declared**: source, parameters and constructor say the same; parameters outside their
      domain are refused.
    * **One law by two routes**: symmetric and falling; cdf, quantiles, variance and moments
      against integrals of the density; floats against balls; the mass certified to be one.
    * **What divergences rest on**: the elasticity -d ln f / d ln|x| is the slope of the density
      and does not fall; balls contain what they should.
    * **Drawn exactly**: `lazy` against the cdf, in balls and by 20,000 seeded draws; a correct
      law is rejected with probability 1e-8 a test at most, and two wrong ones must be rejected.
    * **Private**: PureDP, ApproxDP, ZCDP and TruncatedCDP, with smoothing 1/20 and without,
      calibrated or plainly refused; each calibration against plain quadrature of the density
      alone, other methods no stronger than the exact one, releases that have the law.

    Three typical shapes are looked at, the first one calibrated. Passing proves nothing of other
    shapes: a claim such as `_growth` is believed wherever no check reaches.

    Args:
        family: a subclass of `NoiseDistribution`, of at most one parameter.

    Returns:
        what was found, with a `text()`.

    Raises:
        InvalidParameter: no such class.
        DoesNotConform: a check fails; it is an AssertionError too.

    >>> from smoothdp.noise import Gaussian
    >>> print(conform(Gaussian).text())  # doctest: +ELLIPSIS
    Gaussian conforms: Gaussian().
    ...
    """
    if not (isinstance(family, type) and issubclass(family, NoiseDistribution)):
        raise InvalidParameter(
            expected="a class of noise laws",
            got=f"{family!r}",
            remedy="Give the class, such as PolyPlace",
        )
    for check_family in FAMILY_CHECKS:
        check_family(family)
    laws = typical_laws(family)
    for law in laws:
        for check in LAW_CHECKS:
            check(law)
    return Conformance(family, laws, keeps_its_claims(family))


def typical_laws(family: type[NoiseDistribution]) -> tuple[NoiseDistribution, ...]:
    """Return the laws of a family that are looked at."""
    make: Callable[..., NoiseDistribution] = family
    if not family.parameters:
        return (make(),)
    return tuple(make(value) for value in family.parameters[0].typical[:_SHAPES])


def keeps_its_claims(
    family: type[NoiseDistribution],
) -> tuple[tuple[str, str, LawCalibration | str], ...]:
    """Return the calibrations of the first typical shape to the four guarantees.

    Raises:
        DoesNotConform: a claim that quadrature refutes, or a release that has another law.
    """
    law = typical_laws(family)[0]
    law_privacy.divergences_are_enclosed(law)
    answers = [
        (target, smoothing, law_privacy.calibrated(law, target, smoothing))
        for smoothing in law_privacy.SMOOTHINGS
        for target in law_privacy.TARGETS
    ]
    served = [
        target
        for target, smoothing, answer in answers
        if smoothing and isinstance(answer, Calibration)
    ]
    require(
        served, "a guarantee that some scale keeps", answers, "A law that serves none is no use"
    )
    law_privacy.best_shape_serves(family, served[0])
    law_privacy.releases_are_drawn(law, served[0])
    return tuple(
        (repr(target.guarantee), str(smoothing), answer) for target, smoothing, answer in answers
    )
