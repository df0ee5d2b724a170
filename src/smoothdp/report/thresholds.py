"""The epsilon and the adversary's accuracy of a measurement: one gives the other."""

from __future__ import annotations

import math
from fractions import Fraction

from smoothdp.claims.domains import read_epsilon
from smoothdp.errors import InvalidParameter
from smoothdp.exact.parameters.numbers import LogRatio, Parameter, Real, exact_fraction
from smoothdp.mechanisms.histogram.accounting.utility import odds

_THRESHOLD_STEP = 10**15


def resolve_threshold(
    epsilon: Parameter | None, threshold: Parameter | None
) -> tuple[Real, Fraction]:
    """Return both where one of them is given, by threshold = E / (E + 1) with E = e^epsilon.

    Raises:
        InvalidParameter: neither is given, or one is outside its domain.
    """
    if epsilon is None and threshold is None:
        raise InvalidParameter(
            expected="epsilon or threshold",
            got="neither",
            remedy="Give one, such as threshold 0.51",
        )
    if threshold is not None:
        exact_threshold = exact_fraction(threshold, name="threshold")
        if not Fraction(1, 2) <= exact_threshold < 1 and epsilon is None:
            raise InvalidParameter(
                expected="1/2 <= threshold < 1 (it sets epsilon = ln(t / (1 - t)))",
                got=f"threshold={threshold}",
                remedy="Raise the threshold, or give epsilon beside it",
            )
        if epsilon is None:
            return odds(exact_threshold), exact_threshold
    assert epsilon is not None
    exact_epsilon = read_epsilon(epsilon)
    if threshold is not None:
        return exact_epsilon, exact_threshold
    if isinstance(exact_epsilon, LogRatio):
        return exact_epsilon, exact_epsilon.ratio / (1 + exact_epsilon.ratio)
    # t = 1 / (1 + e^-epsilon), rounded down to 15 places, two units below the float.
    places = math.floor(_THRESHOLD_STEP / (1 + math.exp(-min(700.0, float(exact_epsilon))))) - 2
    return exact_epsilon, max(Fraction(1, 2), Fraction(places, _THRESHOLD_STEP))
