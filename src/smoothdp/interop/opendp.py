"""To and from the measurements of OpenDP."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

from smoothdp.claims.curves.profile import FunctionProfile, PrivacyProfile
from smoothdp.claims.guarantees.concentrated import ZCDP
from smoothdp.claims.guarantees.guarantee import Guarantee
from smoothdp.claims.guarantees.standard import ApproxDP, PureDP
from smoothdp.claims.neighbours import Neighbours, read_neighbours
from smoothdp.errors import IncompatibleClaims, InvalidParameter
from smoothdp.exact.logspace.bounds import LogBounds
from smoothdp.exact.parameters.numbers import Real, exact_int, float_of
from smoothdp.interop.extras import binary_up, guarantee_of, library

_METRICS = {
    ("ChangeOneDistance()", 1): Neighbours.REPLACE_ONE,
    ("HammingDistance()", 1): Neighbours.REPLACE_ONE,
    ("SymmetricDistance()", 1): Neighbours.ADD_REMOVE,
    ("InsertDeleteDistance()", 1): Neighbours.ADD_REMOVE,
    ("SymmetricDistance()", 2): Neighbours.REPLACE_ONE,
    ("InsertDeleteDistance()", 2): Neighbours.REPLACE_ONE,
}


def to_opendp(mechanism: Any, *, input_domain: Any = None, input_metric: Any = None) -> Any:
    """Return a mechanism as a user measurement of OpenDP, with its privacy map.

    The map of d_in = k is group privacy of the guarantee for k records, every number rounded
    up; the measurement returns `Release.value`. OpenDP asks for its features "contrib" and
    "honest-but-curious" first.

    Args:
        mechanism: something with a guarantee and `release(data)`.
        input_domain: default: lists of n_records floats without nan.
        input_metric: default: the change-one distance for replace_one, the symmetric distance
            for add_remove.

    Raises:
        InvalidParameter: no guarantee or release.
        IncompatibleClaims: a smoothed or truncated claim, which OpenDP has no measure for.
        MissingExtra: OpenDP is not installed.

    >>> import opendp.prelude as dp
    >>> import smoothdp as sd
    >>> dp.enable_features("contrib", "honest-but-curious")
    >>> mechanism = sd.mechanisms.SmoothNoise.calibrate(
    ...     sd.queries.Median((0, 120)), guarantee=sd.PureDP("0.5"), n_records=1000
    ... )
    >>> measurement = to_opendp(mechanism)
    >>> measurement.map(1), measurement.map(2)
    (0.5, 1.0)
    >>> 0 <= measurement([20.0 + i % 50 for i in range(1000)]) <= 120
    True
    """
    dp = library("opendp.prelude", extra="opendp")
    guarantee = guarantee_of(mechanism)
    if guarantee is None or not callable(getattr(mechanism, "release", None)):
        raise InvalidParameter(
            expected="a mechanism with a guarantee and release()",
            got=f"{mechanism!r}",
            remedy="Give a mechanism such as SmoothNoise or SamplingHistogram",
        )
    measure, cost = _measure(dp, guarantee)
    if input_metric is None:
        if guarantee.neighbours is Neighbours.ZERO_OUT:
            raise IncompatibleClaims(
                expected="a guarantee about replace_one or add_remove",
                got=guarantee.neighbours.value,
                remedy="OpenDP has no metric for it: state the claim about replace_one",
            )
        change_one = guarantee.neighbours is Neighbours.REPLACE_ONE
        input_metric = dp.change_one_distance() if change_one else dp.symmetric_distance()
    elif _METRICS.get((str(input_metric), 1)) is not guarantee.neighbours:
        raise IncompatibleClaims(
            expected=f"a metric in which distance 1 is {guarantee.neighbours.value}",
            got=f"{input_metric}",
            remedy="Leave input_metric out",
        )
    if input_domain is None:
        size = getattr(mechanism, "n_records", None)
        input_domain = dp.vector_domain(dp.atom_domain(T=float, nan=False), size=size)

    def privacy_map(distance: int) -> Any:
        if distance == 0:
            return cost(guarantee, free=True)
        return cost(guarantee.for_group(int(distance)))

    return dp.m.make_user_measurement(
        input_domain,
        input_metric,
        measure,
        lambda data: mechanism.release(data).value,
        privacy_map,
    )


def _measure(dp: Any, guarantee: Guarantee) -> tuple[Any, Callable[..., Any]]:
    """Return the measure of OpenDP for a claim, and the map from a claim to its distance."""
    if isinstance(guarantee, ApproxDP):
        return (
            dp.fixed_smoothed_max_divergence(),
            lambda g, free=False: (
                (0.0, 0.0)
                if free
                else (binary_up(g.exact_epsilon), min(1.0, binary_up(g.exact_delta)))
            ),
        )
    if isinstance(guarantee, PureDP):
        return (
            dp.max_divergence(),
            lambda g, free=False: 0.0 if free else binary_up(g.pure_epsilon()),
        )
    if guarantee.concentrated_rho() is not None:
        return (
            dp.zero_concentrated_divergence(),
            lambda g, free=False: 0.0 if free else binary_up(g.concentrated_rho()),
        )
    raise IncompatibleClaims(
        expected="a pure, approximate, zero-concentrated or Gaussian claim",
        got=f"{guarantee!r}",
        remedy="Claim ApproxDP at one epsilon instead",
    )


def from_opendp(
    measurement: Any, *, d_in: Any = 1, neighbours: Neighbours | str | None = None
) -> Guarantee | PrivacyProfile:
    """Return the guarantee of an OpenDP measurement, for `compose` and the ledger.

    Pure, zero-concentrated and (epsilon, delta) measures become PureDP, ZCDP and ApproxDP; a
    measure that is a curve becomes a profile, an upper bound. OpenDP's numbers are taken at
    their word, as exact binary values.

    Args:
        measurement: of opendp.
        d_in: the distance between neighbours in its input metric.
        neighbours: needed unless the metric says it: distance 1 in the change-one or Hamming
            metric is replace_one; 1 in the symmetric or insert-delete metric is add_remove,
            and 2 is replace_one.

    Raises:
        InvalidParameter: no measurement, or neighbours that are not known.
        IncompatibleClaims: neighbours that contradict the metric, or another measure.
        MissingExtra: OpenDP is not installed.

    >>> import opendp.prelude as dp
    >>> dp.enable_features("contrib")
    >>> numbers = dp.vector_domain(dp.atom_domain(bounds=(0.0, 1.0)), size=10)
    >>> noisy_sum = dp.t.make_sum(numbers, dp.symmetric_distance()) >> dp.m.then_laplace(2.0)
    >>> claim = from_opendp(noisy_sum, d_in=2)
    >>> claim.neighbours.value, round(claim.epsilon, 6)
    ('replace_one', 0.5)
    """
    mod = library("opendp.mod", extra="opendp")
    if not isinstance(measurement, mod.Measurement):
        raise InvalidParameter(
            expected="a measurement of OpenDP",
            got=f"{type(measurement).__name__}",
            remedy="Give the measurement itself, such as space >> then_laplace(2.0)",
        )
    about = _neighbours(str(measurement.input_metric), d_in, neighbours)
    measure = str(measurement.output_measure)
    cost = measurement.map(d_in)
    if measure == "MaxDivergence":
        return PureDP(Fraction(cost), neighbours=about)
    if measure == "ZeroConcentratedDivergence":
        return ZCDP(Fraction(cost), neighbours=about)
    if measure == "Approximate(MaxDivergence)":
        return ApproxDP(Fraction(cost[0]), delta=Fraction(cost[1]), neighbours=about)
    if measure == "SmoothedMaxDivergence":
        return FunctionProfile(lambda epsilon: _curve(cost, epsilon), about)
    raise IncompatibleClaims(
        expected="a measure of pure, approximate or zero-concentrated DP",
        got=measure,
        remedy="Convert the measurement to one of these measures in OpenDP first",
    )


def _neighbours(metric: str, d_in: Any, named: Neighbours | str | None) -> Neighbours:
    known = (
        _METRICS.get((metric, exact_int(d_in, name="d_in", minimum=1)))
        if (metric in {name for name, _ in _METRICS})
        else None
    )
    if named is None and known is None:
        raise InvalidParameter(
            expected="neighbours, which this metric and distance do not say",
            got=f"{metric} with d_in={d_in}",
            remedy='Give neighbours="replace_one" or "add_remove"',
        )
    if named is None:
        assert known is not None
        return known
    relation = read_neighbours(named)
    if known is not None and known is not relation:
        raise IncompatibleClaims(
            expected=f"neighbours {known.value}, as {metric} with d_in={d_in} says",
            got=relation.value,
            remedy="Leave neighbours out, or change d_in",
        )
    return relation


def _curve(curve: Any, epsilon: Real) -> LogBounds:
    """Bound ln delta from above: delta falls, so it is asked for at a float below epsilon."""
    below = math.nextafter(float_of(epsilon), 0.0)
    delta = min(1.0, float(curve.delta(below)))
    upper = math.nextafter(math.log(delta), 1.0) * 1.0 if delta > 0 else -745.0
    return LogBounds(-math.inf, min(0.0, upper + 1e-15 * abs(upper)))
