"""One step of SGD with quantised gradients: smoothed delta between two proved ends."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from smoothdp.claims.domains import read_epsilon
from smoothdp.claims.model.model import DataModel
from smoothdp.design.step.bounds import step_bounds
from smoothdp.design.step.facts import StepFacts
from smoothdp.design.step.views import draw_step, step_page
from smoothdp.design.step.words import step_dict, step_sentence, step_text
from smoothdp.errors import InvalidParameter
from smoothdp.exact.logspace.bounds import exp_lower, exp_upper
from smoothdp.exact.parameters.numbers import Parameter, exact_int
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

    >>> step = sgd_step_delta(DataModel([("0.5", "0.5")]), n_records=200, batch=5, epsilon=1)
    >>> round(step.log_lower), round(step.log_delta), step.decided_by
    (-142, -113, 'few of a level')
    """

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
    found = step_bounds(model.vertices, n_records=n, batch=size, epsilon=exact)
    return SgdStepDelta(
        model=model,
        n_records=n,
        batch=size,
        epsilon=exact,
        log_lower=found.log_lower,
        log_delta=found.log_upper,
        log_ordinary=found.log_ordinary,
        decided_by=found.decided_by,
    )
