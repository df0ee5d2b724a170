"""What smoothed DP implies: the properties of section 4 and appendix B of paper 1.

One function per implication; each takes a claim and returns what follows from it.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from smoothdp.claims.guarantees.guarantee import factor_text, weaknesses
from smoothdp.claims.guarantees.smoothed import SmoothedDP
from smoothdp.claims.model.model import DataModel
from smoothdp.claims.model.push import RecordFunction
from smoothdp.errors import IncompatibleClaims, InvalidParameter
from smoothdp.exact.balls.balls import ball, precision, round_up
from smoothdp.exact.parameters.numbers import LogRatio, Real
from smoothdp.sources import Source
from smoothdp.text import ratio_up


def smoothed_post_processing(claim: SmoothedDP) -> SmoothedDP:
    """Return the claim for any function of the output, randomised or not: the same.

    Paper 1, Proposition 4. The claim holds at each database, so also on average
    (proofs/smoothed-properties#1).

    Raises:
        InvalidParameter: something else than a claim of smoothed DP.

    >>> model = DataModel([("1/3", "2/3")])
    >>> claim = SmoothedDP(1, delta="1e-6", model=model)
    >>> smoothed_post_processing(claim) == claim
    True
    """
    return _read_claim(claim)


def compose_smoothed(first: SmoothedDP, second: SmoothedDP) -> SmoothedDP:
    """Return the claim for two independent releases about one database: sums.

    Paper 1, Proposition 5: (epsilon1 + epsilon2, delta1 + delta2, Pi). It is true; inequality (5)
    of its proof is printed with <= for >=. It holds at each x, and then on
    average (proofs/composition-at-a-database#3, #4). The second mechanism must not depend on what
    the first one published, and both claims must be over one model: without either it is false
    (proofs/composition-at-a-database#6, #7). `smoothdp.compose` says more below the sum of the
    epsilons.

    Raises:
        InvalidParameter: something else than claims of smoothed DP.
        IncompatibleClaims: claims over different models.

    >>> model = DataModel([("1/3", "2/3")])
    >>> a = SmoothedDP("0.5", delta="1e-6", model=model)
    >>> total = compose_smoothed(a, SmoothedDP(1, delta="2e-6", model=model))
    >>> total.exact_epsilon, total.exact_delta == Fraction(3, 10**6)
    (Fraction(3, 2), True)
    """
    if not _read_claim(first).model.same_hull(_read_claim(second).model):
        raise IncompatibleClaims(
            expected="two claims over the same model",
            got=f"{first.model.n_vertices} and {second.model.n_vertices} different distributions",
            remedy="Measure both mechanisms over one model, such as first.model | second.model",
        )
    return SmoothedDP(
        _sum_up(first.exact_epsilon, second.exact_epsilon),
        delta=min(Fraction(1), first.exact_delta + second.exact_delta),
        model=first.model,
    )


def smoothed_pre_processing(
    claim: SmoothedDP,
    record_function: RecordFunction,
    *,
    model: DataModel,
    n_atoms: int | None = None,
) -> SmoothedDP:
    """Return the claim for the mechanism after f over a model, from its claim over f(model).

    Paper 1, Proposition 6, for functions f of one record (see `DataModel.push`):
    if x and x' differ in one record, so do f(x) and f(x') (proofs/smoothed-properties#2).

    Raises:
        InvalidParameter: a function that is not record-wise.
        IncompatibleClaims: a claim that does not cover the pushed model.

    >>> records = DataModel([("0.2", "0.3", "0.5")])
    >>> features = records.push([0, 1, 1])
    >>> claim = SmoothedDP(1, delta="1e-6", model=features)
    >>> smoothed_pre_processing(claim, [0, 1, 1], model=records).model == records
    True
    """
    features = _read_model(model).push(record_function, n_atoms=n_atoms)
    _require_covered(_read_claim(claim).model, features)
    return SmoothedDP(claim.exact_epsilon, delta=claim.exact_delta, model=model)


def smoothed_distribution_reduction(claim: SmoothedDP, *, model: DataModel) -> SmoothedDP:
    """Return the claim over another model whose distributions are mixtures of the claim's.

    Paper 1, Proposition 7: the expectation of delta(x) is linear in the distribution of each
    record, so over the convex hull it is largest at vertices. For a set that is not closed
    the printed proof fails, as the vertices need not belong to it; the supremum is the same.

    Raises:
        IncompatibleClaims: a model that is not known to lie within the claim's.

    >>> wide = DataModel([("0.2", "0.8"), ("0.8", "0.2")])
    >>> claim = SmoothedDP(1, delta="1e-6", model=wide)
    >>> smoothed_distribution_reduction(claim, model=DataModel([("0.5", "0.5")])).delta
    1e-06
    """
    _require_covered(_read_claim(claim).model, model)
    return SmoothedDP(claim.exact_epsilon, delta=claim.exact_delta, model=model)


@dataclass(frozen=True, slots=True)
class DistributionalDP:
    """(epsilon, delta, Pi)-distributional DP (paper 1, Definition 4): a claim.

    The output of M on a database whose i-th record is known to be X is (epsilon,
    delta)-close to that of a simulator which does not see the i-th record, for every
    distribution of the others in Pi. The adversary knows only that distribution, so it says
    less than smoothed DP.

    Attributes:
        exact_epsilon, exact_delta, model: as in `SmoothedDP`.
        simulated: the distribution from which the simulator draws the record it lacks.

    >>> model = DataModel([("1/3", "2/3")])
    >>> smoothed_to_distributional(SmoothedDP(1, delta="1e-6", model=model)).sentence()[-23:]
    ' e^1 (2.719) plus 1e-6.'
    """

    source: ClassVar[Source] = Source("liu-wang-xia", "Definition 4")
    exact_epsilon: Real
    exact_delta: Fraction
    model: DataModel
    simulated: tuple[Fraction, ...]

    def sentence(self) -> str:
        """Return the claim in plain English."""
        like = SmoothedDP(self.exact_epsilon, delta=self.exact_delta, model=self.model)
        weak = "; ".join(weaknesses(like))
        return (
            "How much the output tells about one row to somebody who knows only the distribution "
            "of the other rows: knowing that row changes the probability of any set of outputs by "
            f"at most a factor {factor_text(self.exact_epsilon)} plus "
            f"{ratio_up(self.exact_delta)}." + (f" This is weak: {weak}." if weak else "")
        )


def smoothed_to_distributional(claim: SmoothedDP) -> DistributionalDP:
    """Return the same epsilon and delta for distributional DP.

    Paper 1, Proposition 9. Its proof lets the simulator depend on the distribution pi_i of the
    record it lacks, which Definition 4 does not allow. Repaired: the simulator draws it from a
    fixed pi_0 of Pi (proofs/smoothed-properties#3).

    Raises:
        InvalidParameter: something else than a claim of smoothed DP.

    >>> model = DataModel([("1/3", "2/3")])
    >>> weaker = smoothed_to_distributional(SmoothedDP(1, delta="1e-6", model=model))
    >>> weaker.simulated == model.vertices[0], weaker.exact_delta
    (True, Fraction(1, 1000000))
    """
    return DistributionalDP(
        _read_claim(claim).exact_epsilon, claim.exact_delta, claim.model, claim.model.vertices[0]
    )


def _read_claim(claim: object) -> SmoothedDP:
    if not isinstance(claim, SmoothedDP):
        raise InvalidParameter(
            expected="a claim of smoothed DP",
            got=f"{claim!r}",
            remedy="Use smoothed_delta(...).guarantee",
        )
    return claim


def _read_model(model: object) -> DataModel:
    if not isinstance(model, DataModel):
        raise InvalidParameter(
            expected="model as a DataModel",
            got=f"{model!r}",
            remedy="Build one with DataModel(vertices)",
        )
    return model


def _sum_up(first: Real, second: Real) -> Real:
    """Return the sum, exactly if both are of one kind, else rounded up."""
    if isinstance(first, LogRatio) and isinstance(second, LogRatio):
        return LogRatio(first.ratio * second.ratio)
    if isinstance(first, Fraction) and isinstance(second, Fraction):
        return first + second
    if 0 in (first, second):
        return second if first == 0 else first
    with precision(128):
        return Fraction(round_up(ball(first) + ball(second)))


def _require_covered(wide: DataModel, narrow: DataModel) -> None:
    """Raise unless every distribution of ``narrow`` is a mixture of those of ``wide``."""
    inside = all(wide.contains(vertex) for vertex in _read_model(narrow).vertices)
    if not inside:
        raise IncompatibleClaims(
            expected="a model whose distributions are mixtures of the claim's vertices",
            got=f"{narrow.n_vertices} distributions over {narrow.n_atoms} values, not all of them",
            remedy="Measure smoothed delta over this model",
        )
