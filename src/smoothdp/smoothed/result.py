"""Smoothed delta: the largest expectation of delta(x) over the databases of a model."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass

from smoothdp.errors import InvalidParameter, OutOfReach, PrivacyWarning, explain
from smoothdp.exact.parameters import Parameter
from smoothdp.mechanisms.histograms import HistogramMechanism
from smoothdp.privacy.model import DataModel
from smoothdp.privacy.profile import read_epsilon
from smoothdp.privacy.smoothed import SmoothedDP
from smoothdp.smoothed.compositions import expectation, expectations, relative_error
from smoothdp.smoothed.table import delta_table

MOST_COMPOSITIONS = 20_001
MOST_HISTOGRAMS = 50_000


@dataclass(frozen=True, slots=True)
class SmoothedDelta:
    """Smoothed delta with its bounds.

    Attributes:
        delta: an upper bound, as a float; lower: a lower bound.
        log_delta: ln of the upper bound.
        vertex_counts: records per vertex of ``model.hull()`` in the worst composition.
        method: how it was computed.
        guarantee: the claim that it proves.
    """

    delta: float
    lower: float
    log_delta: float
    vertex_counts: tuple[int, ...]
    method: str
    guarantee: SmoothedDP


def smoothed_delta(
    mechanism: HistogramMechanism, model: DataModel, *, epsilon: Parameter
) -> SmoothedDelta:
    """Return the smoothed delta of a histogram mechanism over a model (Algorithm 1).

    max over compositions of E[delta_epsilon(x)], where each record follows a vertex of the
    model: every composition is evaluated, because the largest need not be at an end.

    Args:
        mechanism: a histogram mechanism over the atoms of the model.
        model: the set of distributions, fixed without the private data.
        epsilon: >= 0.

    Raises:
        InvalidParameter: arguments outside these domains.
        OutOfReach: more than 20,001 compositions or 50,000 histograms.

    Warns:
        PrivacyWarning: a vertex gives some value probability 0.

    >>> from smoothdp.mechanisms import SamplingHistogram
    >>> model = DataModel([("0.3", "0.7"), ("0.6", "0.4")])
    >>> result = smoothed_delta(SamplingHistogram(4, n_draws=2), model, epsilon="0.2")
    >>> round(result.delta, 9), result.vertex_counts
    (0.446136138, (0, 4))
    """
    exact = read_epsilon(epsilon)
    if not isinstance(model, DataModel):
        raise InvalidParameter(
            explain("model as a DataModel", repr(model), "Build one with DataModel(vertices)")
        )
    n, m = mechanism.n_records, model.n_atoms
    vertices = model.hull().vertices
    _refuse_beyond(n, m, len(vertices))
    if any(probability == 0 for vertex in vertices for probability in vertex):
        warnings.warn(
            "A distribution of the model gives a value probability 0: databases in which "
            "nobody has it, and a record that moves there stands out, are in the model, so "
            "smoothed delta is that of ordinary DP. Leave the value out of the universe if "
            "no record can have it.",
            PrivacyWarning,
            stacklevel=2,
        )
    low_table, high_table = delta_table(mechanism, m, exact)
    error = relative_error(n, m)
    high, where = max((value, counts) for counts, value in expectations(high_table, n, vertices))
    # Any composition bounds the largest from below.
    low = expectation(low_table, where, vertices)
    # Entries and products below the smallest float were rounded: at most 1e-300 in all.
    upper = min(mechanism.inclusion_bounds()[1], high * (1 + error) + 1e-300)
    return SmoothedDelta(
        delta=upper,
        lower=max(0.0, low * (1 - error) - 1e-300),
        log_delta=math.nextafter(math.log(upper), math.inf),
        vertex_counts=where,
        method="all compositions, exact table of delta(x)",
        guarantee=SmoothedDP(epsilon, delta=upper, model=model),
    )


def _refuse_beyond(n: int, n_categories: int, n_vertices: int) -> None:
    compositions = math.comb(n + n_vertices - 1, n_vertices - 1)
    histograms = (n + 1) ** (n_categories - 1)
    if compositions > MOST_COMPOSITIONS or histograms > MOST_HISTOGRAMS:
        raise OutOfReach(
            explain(
                f"at most {MOST_COMPOSITIONS} compositions and {MOST_HISTOGRAMS} histograms",
                f"{compositions} and {histograms}",
                "Use fewer records or a model with fewer vertices",
            )
        )
