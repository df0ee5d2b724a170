"""To and from the mechanisms of autodp."""

from __future__ import annotations

import math
from typing import Any

from smoothdp.claims.domains import read_delta
from smoothdp.claims.guarantees.guarantee import Guarantee
from smoothdp.claims.guarantees.standard import ApproxDP, PureDP
from smoothdp.claims.neighbours import Neighbours, read_neighbours
from smoothdp.claims.terms import EpsilonTerms
from smoothdp.errors import InvalidParameter
from smoothdp.exact.parameters.numbers import Parameter, exact_fraction
from smoothdp.interop.extras import binary_up, guarantee_of, library, profile_of


def to_autodp(item: object, *, name: str = "smoothdp") -> Any:
    """Return a guarantee or mechanism as an autodp Mechanism.

    Pure, approximate, zero-concentrated and Gaussian claims become autodp's own descriptions,
    which its composition understands; anything else with a profile gets its certified
    epsilon(delta). autodp computes in doubles, without error bounds.

    Raises:
        InvalidParameter, IncompatibleClaims: no profile, or a smoothed claim.
        MissingExtra: autodp is not installed.

    >>> import smoothdp as sd
    >>> from autodp.transformer_zoo import Composition
    >>> step = to_autodp(sd.GaussianDP("0.5"))
    >>> round(float(Composition()([step], [8]).get_approxDP(1e-4)), 2)
    6.31
    """
    core = library("autodp.autodp_core", extra="autodp")
    profile = profile_of(item)
    mechanism = core.Mechanism()
    mechanism.name = name
    mechanism.params = {}
    claim = guarantee_of(item)
    terms = None if claim is None else claim.terms()
    if isinstance(terms, EpsilonTerms):
        epsilon, delta = binary_up(terms.epsilon), binary_up(terms.delta)
        if delta == 0:
            mechanism.propagate_updates(epsilon, "pureDP")
        else:
            mechanism.propagate_updates((epsilon, delta), "approxDP")
        return mechanism
    exact_rho = None if claim is None else claim.concentrated_rho()
    if exact_rho is not None:
        rho = binary_up(exact_rho)
        mechanism.propagate_updates(lambda order: order * rho, "RDP")
    mechanism.approxDP = lambda delta: profile.epsilon(exact_fraction(delta, name="delta"))
    return mechanism


def from_autodp(
    mechanism: Any, *, neighbours: Neighbours | str, delta: Parameter | None = None
) -> Guarantee:
    """Return the claim of an autodp Mechanism, taken at its word.

    Args:
        mechanism: of autodp.
        neighbours: the relation that it was made for; autodp does not keep it.
        delta: where to read its curve; None: its pure epsilon.

    Raises:
        InvalidParameter: another object, or no finite epsilon there.
        MissingExtra: autodp is not installed.

    >>> from autodp.mechanism_zoo import ExactGaussianMechanism
    >>> theirs = ExactGaussianMechanism(2.0)
    >>> claim = from_autodp(theirs, neighbours="add_remove", delta="1e-6")
    >>> round(claim.epsilon, 4)
    2.2541
    """
    core = library("autodp.autodp_core", extra="autodp")
    about = read_neighbours(neighbours)
    if not isinstance(mechanism, core.Mechanism):
        raise InvalidParameter(
            expected="a Mechanism of autodp",
            got=f"{mechanism!r}",
            remedy="Give an autodp Mechanism object",
        )
    target = None if delta is None else read_delta(delta)
    at = 0.0 if target is None else float(target)
    epsilon = float(mechanism.eps_pureDP if target is None else mechanism.get_eps(at))
    if not 0 <= epsilon < math.inf:
        raise InvalidParameter(
            expected="a finite epsilon",
            got=f"epsilon={epsilon} at delta={at}",
            remedy="Give a larger delta",
        )
    if target is None:
        return PureDP(epsilon, neighbours=about)
    return ApproxDP(epsilon, delta=target, neighbours=about)
