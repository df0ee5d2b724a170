"""What a noise law says of itself in floats, by two routes: each check refutes or returns."""

from __future__ import annotations

import copy
import inspect
import math
import pickle
from collections.abc import Callable
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np

from smoothdp.errors import DoesNotConform, InvalidParameter, OutOfReach
from smoothdp.noise.law import NoiseDistribution
from smoothdp.sources import Source

_NO_NUMBERS = (True, "x", None, [1], "ln(3)")


def require(holds: object, expected: str, got: object, remedy: str) -> None:
    """Refute a law unless something holds.

    Raises:
        DoesNotConform: it does not hold.
    """
    if not bool(holds):
        raise DoesNotConform(expected=expected, got=got, remedy=remedy)


def require_refusal(call: Callable[[], object], kind: type[Exception], word: str) -> None:
    """Refute a law whose call does not end in an error of a kind whose message has a word."""
    try:
        value = call()
    except kind as error:
        require(word in str(error), f"an error that names {word}", error, "Say what is wrong")
        return
    require(False, f"a {kind.__name__} about {word}", repr(value), "Refuse it in the constructor")


def declares_itself(family: type[NoiseDistribution]) -> None:
    """Source, docstring, parameters and constructor say the same."""
    name, source = family.__name__, getattr(family, "source", None)
    require(
        isinstance(source, Source), f"{name}.source as a Source", source, "Name where it is from"
    )
    require(vars(family).get("__doc__"), f"a docstring of {name}", "none", "State the density")
    arguments = [word for word in inspect.signature(family).parameters if word != "self"]
    declared = [spec.name for spec in family.parameters]
    require(
        arguments == declared, f"arguments {declared}", arguments, "Declare each in `parameters`"
    )
    require(len(declared) < 2, "at most one parameter", declared, "Fix the others")


def reads_its_parameters(family: type[NoiseDistribution]) -> None:
    """Typical values are read exactly, in each way of writing them; others are refused."""
    make: Any = family
    for spec in family.parameters:
        require(spec.meaning, f"a meaning of {spec.name}", "none", "Say it in two words")
        require(len(spec.typical) > 2, "three typical values", spec.typical, "Name three")
        for value in spec.typical:
            exact, law = spec.read(value), make(value)
            require(law.values() == {spec.name: exact}, f"{exact}", law.values(), "Keep it exact")
            same = law == make(exact) == make(str(exact)) and hash(law) == hash(make(exact))
            require(same, "equal laws of equal parameters", law, "Make it a frozen dataclass")
            shown = getattr(law, spec.name)
            require(shown == float(exact), f"{float(exact)}", shown, "Return the nearest float")
            again = eval(repr(law), {family.__name__: family, "Fraction": Fraction})
            require(again == law, "a repr that makes the law anew", repr(law), "Keep the base's")
        for wrong in (spec.above, spec.above - 1, math.nan, math.inf, -math.inf, *_NO_NUMBERS):
            require_refusal(lambda wrong=wrong: make(wrong), InvalidParameter, spec.name)  # type: ignore[misc]
        lowest, highest = (Fraction(end) for end in spec.reach)
        beyond = [highest * 2, *([] if lowest == spec.above else [(lowest + spec.above) / 2])]
        for far in beyond:
            require_refusal(lambda far=far: make(far), OutOfReach, spec.name)  # type: ignore[misc]
        for end in (lowest, highest):
            make(end)


def tails_change_one_way(family: type[NoiseDistribution]) -> None:
    """The tail beside the quartile rises with the parameter, or falls, over typical values."""
    make: Any = family
    for spec in family.parameters:
        laws = [make(value) for value in sorted(spec.read(value) for value in spec.typical)]
        weights = [float(law.quantile(0.999) / law.quantile(0.75)) for law in laws]
        steps = {math.copysign(1.0, b - a) for a, b in pairwise(weights) if b != a}
        require(
            len(steps) == 1 and len(set(weights)) == len(weights),
            f"tails that change one way with {spec.name}",
            f"quantile ratios {weights}",
            "Give the shape a parameter in which the tail is monotone: shapes are searched so",
        )


def is_symmetric(law: NoiseDistribution) -> None:
    """Functions at x and -x agree to the bit."""
    x = np.array([0.0, 1e-5, 0.3, 1.0, 4.0, 300.0])
    pairs = {
        "density": (law.density(x), law.density(-x)),
        "log_density": (law.log_density(x), law.log_density(-x)),
        "survival and cdf": (law.survival(x), law.cdf(-x)),
        "log_survival and log_cdf": (law.log_survival(x), law.log_cdf(-x)),
    }
    for name, (first, second) in pairs.items():
        require(np.array_equal(first, second), f"a symmetric {name}", first - second, "See |x|")
    require(law.cdf(0.0) == 0.5, f"{law!r}.cdf(0) = 1/2", law.cdf(0.0), "Keep the base's cdf")
    require(law.quantile(0.5) == 0.0, "a median of 0", law.quantile(0.5), "See _central_quantile")
    p = np.array([0.01, 0.1, 0.25, 0.375])
    mirrored = np.allclose(law.quantile(p), -law.quantile(1 - p), rtol=1e-12)
    require(mirrored, "quantiles of p and 1 - p of one size", law.quantile(p), "See _quantile")


def is_monotone(law: NoiseDistribution) -> None:
    """cdf and quantile rise, tail and density fall with |x|."""
    x = np.linspace(-6, 6, 241)
    p = np.linspace(0.001, 0.999, 101)
    around_a_quarter = np.linspace(0.25 - 5e-9, 0.25 + 5e-9, 11)
    # Near 1, neighbouring points may share a float.
    steps = {
        "a cdf that does not fall": (np.diff(law.cdf(x)), 0.0),
        "a cdf that rises": (np.diff(law.cdf(x[x <= 0])), 5e-324),
        "a tail that falls": (-np.diff(law.log_survival(x)), 5e-324),
        "a density that falls with |x|": (-np.diff(law.log_density(x[x > 0])), 5e-324),
        "quantiles that rise": (np.diff(law.quantile(p)), 5e-324),
        "quantiles that rise at 1/4": (np.diff(law.quantile(around_a_quarter)), 5e-324),
    }
    for expected, (rise, least) in steps.items():
        require(
            np.all(rise >= least), expected, f"{law!r}: steps of {rise.min()}", "See its formula"
        )


def cdf_integrates_the_density(law: NoiseDistribution) -> None:
    """Gauss and Legendre in ln x, between points of the positive half-line."""
    nodes, weights = np.polynomial.legendre.leggauss(40)
    kinks = [float(kink) for kink in law._kinks()]
    for low, high in pairwise(sorted([1e-3, 0.1, 0.4, 1.0, 3.0, 9.0, *kinks])):
        half = math.log(high / low) / 2
        x = low * np.exp(half * (nodes + 1))
        mass = float(np.sum(weights * half * x * law.density(x)))
        stated = law.survival(low) - law.survival(high)
        require(
            math.isclose(mass, stated, rel_tol=1e-9),
            f"P({low:.4g} < Z < {high:.4g}) = {mass!r}, the integral of the density of {law!r}",
            repr(stated),
            "See _log_survival, or name every kink of the density in _kinks",
        )


def quantile_inverts_the_cdf(law: NoiseDistribution) -> None:
    """quantile(cdf(x)) is x, and tail_quantile the inverse of log_survival, far out too."""
    x = np.array([-8.0, -1.5, -0.4, -0.01, 0.02, 0.2])
    p = law.cdf(x)
    # Rounding p moves x by a unit of p over the density.
    slack = 1e-12 * np.abs(x) + 4 * np.spacing(p) / law.density(x)
    off = np.abs(law.quantile(p) - x)
    require(np.all(off <= slack), "quantile(cdf(x)) = x", f"{law!r}: off by {off}", "See quantiles")
    for target in (-0.7, -1.5, -40.0, -1e3, -1e6):
        far = law.tail_quantile(target)
        if far >= 1e300:
            require(law.log_survival(1e300) > target, "a heavier tail", far, "See _tail_quantile")
            continue
        back = law.log_survival(far)
        # A unit of x moves ln of the tail by its elasticity.
        steep = math.exp(law.log_density(far) - back) * far
        require(
            math.isfinite(back) and abs(back - target) <= 1e-13 * abs(target) + 4e-16 * steep,
            f"ln P(Z > tail_quantile({target})) = {target}",
            f"{back!r} for {law!r}",
            "Work in logarithms: see _tail_quantile and _log_survival",
        )


def variance_is_the_second_moment(law: NoiseDistribution) -> None:
    """The integral of x^2 f in ln x; where it is infinite, that is said."""
    if law.variance == math.inf:
        require_refusal(lambda: law.standard_deviation, InvalidParameter, "finite variance")
        return
    require(law.standard_deviation == math.sqrt(law.variance), "its root", law, "Keep the base's")
    nodes, weights = np.polynomial.legendre.leggauss(30)
    kinks = [math.log(float(kink)) for kink in law._kinks()]
    edges = np.array(sorted([*np.linspace(-25, 150, 701), *kinks]))
    half = np.diff(edges)[:, None] / 2
    v = (edges[:-1, None] + half * (nodes + 1)).ravel()
    log_terms = 3 * v + law.log_density(np.exp(v)) + np.log((half * weights).ravel())
    second = 2 * float(np.sum(np.exp(log_terms)))
    require(
        math.isclose(second, law.variance, rel_tol=1e-10),
        f"variance {second!r}, the second moment of the density of {law!r}",
        repr(law.variance),
        "See _moment(2)",
    )


def moments_rise(law: NoiseDistribution) -> None:
    """Lyapunov: (E|Z|^k)^(1/k) does not fall with k."""
    require(law.moment(0) == 1.0, "E|Z|^0 = 1", law.moment(0), "Keep the base's moment")
    roots = [law.moment(k) ** (1 / k) for k in (1, 2, 3, 4)]
    rising = all(a <= b * (1 + 1e-12) for a, b in pairwise(roots))
    require(rising, "roots of moments that rise", f"{law!r}: {roots}", "See _moment")
    for k in (-1, 1.5, True, "2"):
        require_refusal(lambda k=k: law.moment(k), InvalidParameter, "k")  # type: ignore[misc]


def takes_numbers_and_arrays(law: NoiseDistribution) -> None:
    """A number gives a float, an array an array of its shape, with the same values."""
    x = np.array([[-2.0, 0.0], [0.5, 7.0]])
    for name in ("density", "log_density", "cdf", "survival", "log_survival"):
        function = getattr(law, name)
        values, single = function(x), function(0.5)
        same = values.shape == x.shape and math.isclose(single, values[1, 0], rel_tol=1e-14)
        require(same and isinstance(single, float), f"{name} of both", values, "Compute by element")
    require(isinstance(law.quantile(0.3), float), "a float", law.quantile(0.3), "See quantiles")
    require_refusal(lambda: law.density("a"), InvalidParameter, "number")  # type: ignore[type-var]


def behaves_at_the_edges(law: NoiseDistribution) -> None:
    """Infinities, nan and probabilities outside [0, 1]."""
    stated = {
        "density(inf)": (law.density(math.inf), 0.0),
        "density(-inf)": (law.density(-math.inf), 0.0),
        "log_density(inf)": (law.log_density(math.inf), -math.inf),
        "cdf(-inf)": (law.cdf(-math.inf), 0.0),
        "survival(inf)": (law.survival(math.inf), 0.0),
        "cdf(inf)": (law.cdf(math.inf), 1.0),
        "quantile(0)": (law.quantile(0.0), -math.inf),
        "quantile(1)": (law.quantile(1.0), math.inf),
        "tail_quantile(-inf)": (law.tail_quantile(-math.inf), math.inf),
        "tail_quantile(ln(1/2))": (law.tail_quantile(math.log(0.5)), 0.0),
    }
    for name, (value, wanted) in stated.items():
        require(value == wanted, f"{name} = {wanted} of {law!r}", value, "See infinite arguments")
    require(law.density(0.0) > 0, "a density above 0 at 0", law.density(0.0), "See _log_density")
    for value in (law.density(math.nan), law.cdf(math.nan)):
        require(math.isnan(value), "nan of nan", value, "Compare so that nan stays")
    for p in (-0.1, 1.1, math.nan):
        require_refusal(lambda p=p: law.quantile(p), InvalidParameter, "p=")  # type: ignore[misc]
    for log_tail in (-0.5, 0.0, math.nan):
        require_refusal(
            lambda tail=log_tail: law.tail_quantile(tail),  # type: ignore[misc]
            InvalidParameter,
            "log_tail",
        )


def is_a_value(law: NoiseDistribution) -> None:
    """It cannot be changed, and copies and pickles of it are equal to it."""
    law.renyi(2, shift="0.3", dilation="0.05")
    for twin in (copy.copy(law), copy.deepcopy(law), pickle.loads(pickle.dumps(law))):
        require(twin == law, f"a copy equal to {law!r}", twin, "Make it a frozen dataclass")
    for name in law.values():
        require_refusal(
            lambda name=name: setattr(law, f"exact_{name}", Fraction(1)),  # type: ignore[misc]
            AttributeError,
            name,
        )
