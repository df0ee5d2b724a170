"""`split_budget`: one budget for several releases, whose errors shall stand in given ratios."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any, ClassVar

from smoothdp.composition.calibrate import Calibrated, Target, calibrate
from smoothdp.errors import InvalidParameter
from smoothdp.exact.parameters.numbers import Parameter, exact_positive
from smoothdp.sources import Source


class SplitBudget:
    """The standard deviation of each release, and the items that together meet the target.

    >>> import smoothdp as sd
    >>> shares = split_budget((1, "1e-6"), {"a": (sd.GaussianMechanism, 1)})
    >>> round(shares.standard_deviations["a"], 6), round(shares.calibrated.value, 6)
    (4.224679, 4.224679)
    """

    source: ClassVar[Source] = Source("zhu-dong-wang", "Theorem 10, for the composition")

    def __init__(self, calibrated: Calibrated, weights: Mapping[str, Fraction]) -> None:
        self._calibrated = calibrated
        self._weights = dict(weights)

    @property
    def calibrated(self) -> Calibrated:
        """The common factor of all weights, with what was certified."""
        return self._calibrated

    @property
    def standard_deviations(self) -> dict[str, float]:
        """The standard deviation of the noise of each release, by name."""
        factor = float(self._calibrated.value)
        return {name: deviation(factor, weight) for name, weight in self._weights.items()}

    @property
    def items(self) -> dict[str, Any]:
        """What each ``make`` returned at its standard deviation, by name."""
        return dict(zip(self._weights, self._calibrated.item, strict=True))

    def __repr__(self) -> str:
        return f"SplitBudget({self.standard_deviations!r})"


def split_budget(
    target: Target, releases: Mapping[str, tuple[Callable[[float], Any], Parameter]]
) -> SplitBudget:
    """Return the noise of several releases that just meet a target together.

    Release j gets noise of standard deviation s weight_j; s is the smallest that is certified, by
    one `calibrate` over s.

    Args:
        target: `ApproxDP`, `PureDP` or (epsilon, delta), as in `calibrate`.
        releases: name -> (make, weight). ``make`` takes a standard deviation and returns an
            item of `compose`, or (item, count); the weight is > 0: twice the weight, twice the
            error.

    Raises:
        InvalidParameter: no releases, or not (make, weight); weights that are not positive.
        OutOfReach: no noise meets the target.

    >>> import smoothdp as sd
    >>> shares = split_budget((1, "1e-6"), {
    ...     "count": (lambda sd_: sd.LaplaceMechanism(sd_ / 2**0.5), 1),
    ...     "mean": (lambda sd_: sd.GaussianMechanism(sd_), 4),
    ... })
    >>> {name: round(value, 3) for name, value in shares.standard_deviations.items()}
    {'count': 2.37, 'mean': 9.481}
    >>> sd.compose(shares.items.values()).delta(1) <= 1e-6
    True
    """
    if not isinstance(releases, Mapping) or not releases:
        raise InvalidParameter(
            expected="releases by name, such as {'count': (make, 1)}",
            got=f"{releases!r}",
            remedy="Give a dict from name to (make, weight)",
        )
    for name, release in releases.items():
        if not isinstance(release, tuple) or len(release) != 2 or not callable(release[0]):
            raise InvalidParameter(
                expected=f"(make, weight) for {name}, make being callable",
                got=f"{release!r}",
                remedy="Give a dict from name to (make, weight)",
            )
    makers = {name: make for name, (make, _) in releases.items()}
    weights = {
        name: exact_positive(weight, name=f"weight of {name}")
        for name, (_, weight) in releases.items()
    }

    def made(factor: float) -> list[Any]:
        return [makers[name](deviation(factor, weights[name])) for name in weights]

    return SplitBudget(calibrate(made, target), weights)


def deviation(factor: float, weight: Fraction) -> float:
    """Return factor times weight as the one float that is used and shown."""
    return float(factor * weight)
