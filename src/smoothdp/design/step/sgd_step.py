"""One step of SGD with quantised gradients: smoothed delta between two proved ends."""

from __future__ import annotations

import json
from dataclasses import dataclass, fields
from fractions import Fraction
from functools import lru_cache
from pathlib import Path
from typing import Any

from smoothdp.claims.domains import read_epsilon
from smoothdp.claims.model.model import DataModel
from smoothdp.design.facts import differing
from smoothdp.design.step.bounds import StepBounds, step_bounds
from smoothdp.design.step.facts import StepFacts
from smoothdp.design.step.views import draw_step, step_page
from smoothdp.design.step.words import step_dict, step_sentence, step_text
from smoothdp.errors import InvalidParameter
from smoothdp.exact.logspace.bounds import exp_lower, exp_upper
from smoothdp.exact.parameters.numbers import Parameter, Real, exact_int
from smoothdp.mechanisms.sampling.counts import read_n_records


@dataclass(frozen=True)
class SgdStepDelta(StepFacts):
    """Smoothed delta of the average of a batch of quantised gradients: two ends, far apart.

    Attributes:
        model, n_records, batch, epsilon: what was asked.
        log_lower, log_delta: natural logarithms; the largest expectation of delta(x) over all
            mixtures of the model lies between them.
        log_ordinary: ln(T/n), rounded up: ordinary DP at every finite epsilon.
        decided_by: which bound the upper end is.

    Raises:
        InvalidParameter: figures that do not follow from what was asked.

    >>> step = sgd_step_delta(DataModel([("0.5", "0.5")]), n_records=200, batch=5, epsilon=1)
    >>> round(step.log_lower), round(step.log_delta), step.decided_by
    (-142, -113, 'few of a level')
    """

    def __post_init__(self) -> None:
        found = _found(self.model, self.n_records, self.batch, self.epsilon)
        wrong = differing(self, found)
        if wrong is not None:
            raise InvalidParameter(
                expected=f"{wrong}={getattr(found, wrong)!r}, which follows from the model, "
                "n_records, batch and epsilon",
                got=f"{getattr(self, wrong)!r}",
                remedy="Take what sgd_step_delta() returns, and call it again for other arguments",
            )
        # What is printed was computed here, to the last digit.
        for one in fields(StepFacts):
            object.__setattr__(self, one.name, getattr(found, one.name))

    def __reduce__(self) -> tuple[type[SgdStepDelta], tuple[object, ...]]:
        # A pickle is read by the constructor, which compares what it says.
        return type(self), tuple(getattr(self, one.name) for one in fields(self))

    @property
    def delta(self) -> float:
        """A float not below smoothed delta."""
        return exp_upper(self.log_delta)

    @property
    def lower(self) -> float:
        """A float not above it."""
        return exp_lower(self.log_lower)

    def sentence(self) -> str:
        """Return the result in plain English, with what must hold for it."""
        return step_sentence(self)

    def text(self) -> str:
        """Return a table and the sentence."""
        return step_text(self)

    def to_dict(self) -> dict[str, object]:
        """Return everything for JSON; logarithms are natural."""
        return step_dict(self)

    def to_json(self) -> str:
        """Return everything as JSON."""
        return json.dumps(self.to_dict(), indent=2)

    def to_html(self, *, command: str = "") -> str:
        """Return one page of HTML that loads nothing; ``command`` writes the same page."""
        return step_page(self, command=command).html()

    def write_html(self, path: str | Path, *, command: str = "") -> Path:
        """Write the page, whole or not at all, and return its path."""
        return step_page(self, command=command).write(path)

    def plot(self) -> Any:
        """Return a picture of both ends against n, as matplotlib axes."""
        return draw_step(self)


def sgd_step_delta(
    model: DataModel, *, n_records: int, batch: int, epsilon: Parameter
) -> SgdStepDelta:
    """Bound smoothed delta of one step of SGD with quantised gradients, from both sides.

    T of n records are drawn without replacement, and the average of their values, one of m
    levels each, is published without noise (Algorithm 3 of paper 1, its second application).
    With q the least probability of a level over the laws of the model, E = e^epsilon,
    h0 = T / (1 - 1/E) and kappa = KL(1 - 1/E || T/n), for every mixture

        E delta <= min(T/n, sum over levels of min(u, w)),   u = (T/n) P(Bin(n, q) < h0),
        w = (1 - q (1 - e^-kappa))^n  where T/n < 1 - 1/E,   else 1,

    and for the worst one E delta >= (T/n) sum of pi(c)^n, pi any law of the model
    (proofs/designer#7, #8). The upper end holds for the histogram of the batch and all that is
    made of it; it is T/n up to about n = ln(n/T) / q_min, and falls exponentially in n beyond.

    Args:
        model: the laws of a record's level, at least two levels, fixed without the data.
        n_records: n, 2 <= n < 2^50. batch: T, 1 <= T <= n. epsilon: >= 0.

    Raises:
        InvalidParameter: arguments outside these domains.

    >>> model = DataModel.quantized_normal([0], std="0.12", bits=8)
    >>> step = sgd_step_delta(model, n_records=10**9, batch=31622, epsilon=2)
    >>> round(step.log_delta), f"{step.crossover:.1e}"
    (-2361, '1.7e+06')
    """
    found = _found(model, n_records, batch, epsilon)
    return SgdStepDelta(**{one.name: getattr(found, one.name) for one in fields(StepFacts)})


def _found(model: DataModel, n_records: int, batch: int, epsilon: Parameter) -> StepFacts:
    """Return what follows from the arguments; see `sgd_step_delta`."""
    if not isinstance(model, DataModel):
        raise InvalidParameter(
            expected="model as a DataModel",
            got=type(model).__name__,
            remedy="Build one with DataModel(vertices) or DataModel.quantized_normal(...)",
        )
    n = read_n_records(n_records)
    size, exact = exact_int(batch, name="batch", minimum=1), read_epsilon(epsilon)
    if size > n or model.n_atoms < 2:
        raise InvalidParameter(
            expected=f"batch <= n_records={n}, and a model of at least two levels",
            got=f"batch={size} and {model.n_atoms} levels",
            remedy="Draw at most all records",
        )
    found = _known_bounds(model.vertices, n, size, exact)
    return StepFacts(
        model=model,
        n_records=n,
        batch=size,
        epsilon=exact,
        log_lower=found.log_lower,
        log_delta=found.log_upper,
        log_ordinary=found.log_ordinary,
        decided_by=found.decided_by,
    )


@lru_cache(maxsize=64)
def _known_bounds(
    vertices: tuple[tuple[Fraction, ...], ...], n_records: int, batch: int, epsilon: Real
) -> StepBounds:
    """Return `step_bounds`, once for a result and the comparison with it."""
    return step_bounds(vertices, n_records=n_records, batch=batch, epsilon=epsilon)
