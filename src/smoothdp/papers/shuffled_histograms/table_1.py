"""Table 1 of paper 3 (Balcer, Cheu): histograms in three models of trust, constants measured."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import ClassVar

import numpy as np

from smoothdp.claims.guarantees.standard import ApproxDP
from smoothdp.exact.parameters.numbers import exact_fraction
from smoothdp.exact.probabilities.windows import log_binomial_pmf
from smoothdp.papers.reproduction import Progress
from smoothdp.papers.runner import run_cells
from smoothdp.papers.table import PaperTable
from smoothdp.shuffle import BooleanSum
from smoothdp.shuffle.histogram.histogram import Histogram
from smoothdp.shuffle.histogram.low_communication import LowCommunicationHistogram
from smoothdp.types import FloatArray, IntArray

_EPSILON, _DELTA, _FAILURE = 1.0, "1e-6", 0.05
_SIZES = ((100_000, 100), (100_000, 10_000))
_FULL_SIZES = (*_SIZES, (1_000_000, 100), (1_000_000, 1_000_000))
_REACH = 12
"""Binomial windows in standard deviations: what is left out is far below the failure sought."""

Cell = tuple[str, int, int]
Counts = dict[int, int]
"""How many bins have a count."""


class HistogramTable(PaperTable):
    """Table 1 of paper 3: the simultaneous error of histogram protocols."""

    name: ClassVar[str] = "shuffled-histograms/1"
    title: ClassVar[str] = (
        "Table 1 of paper 3: simultaneous error of histograms, epsilon = 1, delta = 1e-6"
    )
    missing: ClassVar[str] = "not built, or in the central model: no messages"
    note: ClassVar[str] = (
        "Errors are counts of users that the largest error over all bins exceeds with "
        "probability at most 5%.\nOf the paper's protocol and the low-communication one for the "
        "worst data, of the others for counts in\nproportion to 1/rank, by exact binomial tails "
        "and the union bound. `error / formula` is the constant\nthat the paper's O() hides. "
        "Formulas of sources other than the paper are recalled: the text that we have\nlost "
        "them. Ghazi et al. [13] is not built. [8] is one Boolean sum a bin at half of epsilon "
        "and delta, calibrated\nexactly. The local protocols are (epsilon, 0)-private and send "
        "one message."
    )

    @classmethod
    def compute(
        cls, *, full: bool = False, store: Path | None = None, progress: Progress | None = None
    ) -> HistogramTable:
        """Compute every protocol at two sizes, or at four up to a million users and bins."""
        cells = [
            (protocol, n, d) for n, d in (_FULL_SIZES if full else _SIZES) for protocol in _ERRORS
        ]
        computed = run_cells(
            cls.name,
            cells,
            error_and_messages,
            store=store,
            progress=progress,
            workers=None if full else 1,
        )
        header = (
            "model", "protocol", "source", "error, paper", "users", "bins", "95% error",
            "error / formula", "messages per user",
        )  # fmt: skip
        rows = []
        for (protocol, n, d), (error, messages) in zip(cells, computed, strict=True):
            model, source, printed, formula = _PRINTED[protocol]
            constant = None if error is None else error / formula(n, d)
            rows.append((model, protocol, source, printed, n, d, error, constant, messages))
        return cls(header, tuple(rows))


def error_and_messages(cell: Cell) -> tuple[float | None, float | None]:
    """Return the 95% simultaneous error and the mean number of messages of (protocol, n, d)."""
    protocol, n, d = cell
    return _ERRORS[protocol](n, d)


def zipf_counts(n: int, d: int) -> Counts:
    """Return counts in proportion to 1 / rank, the rest in the first bin, by multiplicity.

    >>> zipf_counts(100, 50)[0]
    28
    """
    weights = 1 / np.arange(1, d + 1)
    counts: IntArray = np.floor(n * weights / weights.sum()).astype(np.int64)
    counts[0] += n - int(counts.sum())
    values, bins = np.unique(counts, return_counts=True)
    return dict(zip(values.tolist(), bins.tolist(), strict=True))


def flipped_error(n: int, d: int, present: float, absent: float) -> float:
    """Return the 95% error of one bit a user and bin, 1 with these probabilities; unbiased.

    The number of ones of a bin with count c is Bin(c, present) + Bin(n - c, absent); the error
    of the estimate is its distance from its mean over present - absent. Union bound.
    """
    tails = []
    for count, bins in zipf_counts(n, d).items():
        law, first = np.ones(1), 0
        for trials, chance in ((count, present), (n - count, absent)):
            factor, start = _binomial(trials, chance)
            law, first = np.convolve(law, factor), first + start
        mean = count * present + (n - count) * absent
        distance = np.abs(first + np.arange(law.size) - mean)
        order = np.argsort(distance)
        beyond = np.cumsum(law[order][::-1])[::-1] * bins
        tails.append((distance[order], np.append(beyond, 0.0)))

    def failure(error: float) -> float:
        return sum(
            float(beyond[np.searchsorted(distance, error, side="right")])
            for distance, beyond in tails
        )

    return _least(failure, 1.0 * n) / (present - absent)


def _binomial(trials: int, chance: float) -> tuple[FloatArray, int]:
    """Return the probabilities of Bin(trials, chance) around its mean, and the first value."""
    spread = _REACH * math.sqrt(trials * chance * (1 - chance)) + 2 * _REACH**2
    low = max(0, math.floor(trials * chance - spread))
    high = min(trials, math.ceil(trials * chance + spread))
    if trials == 0:
        return np.ones(1), 0
    points = np.arange(low, high + 1)
    return np.exp(
        log_binomial_pmf(points, trials, exact_fraction(chance, name="p")).log_values
    ), low


def _least(failure: Callable[[float], float], high: float) -> float:
    """Return the least error with at most the failure probability, to a relative 1e-9."""
    low = 0.0
    while high - low > 1e-9 * high:
        middle = (low + high) / 2
        low, high = (low, middle) if failure(middle) <= _FAILURE else (middle, high)
    return high


def _randomised_response(n: int, d: int) -> tuple[float, float]:
    growth = math.exp(_EPSILON)
    return flipped_error(n, d, growth / (growth + d - 1), 1 / (growth + d - 1)), 1.0


def _unary(n: int, d: int) -> tuple[float, float]:
    return flipped_error(n, d, 0.5, 1 / (math.exp(_EPSILON) + 1)), 1.0


def _hadamard(n: int, d: int) -> tuple[float, float]:
    growth = math.exp(_EPSILON)
    # Of users in other bins the product of two rows of signs is a fair coin.
    return flipped_error(n, d, growth / (growth + 1), 0.5), 1.0


def _boolean_sums(n: int, d: int) -> tuple[float, float]:
    half = ApproxDP("0.5", delta="5e-7")
    flip = float(BooleanSum.calibrate(n, guarantee=half, honest_share=1).expected_random_users) / (
        2 * n
    )
    return flipped_error(n, d, 1 - flip, flip), float(d)


def _zero_preserving(method: str) -> Callable[[int, int], tuple[float, float]]:
    def error_and_mean(n: int, d: int) -> tuple[float, float]:
        goal = ApproxDP(_EPSILON, delta=_DELTA)
        protocol = Histogram.calibrate(
            n,
            n_bins=d,
            guarantee=goal,
            honest_share=1,
            method="paper" if method == "paper" else "exact",
        )
        return protocol.error(_FAILURE, simultaneous=True), float(protocol.mean_messages)

    return error_and_mean


def _low_communication(n: int, d: int) -> tuple[float, float]:
    goal = ApproxDP(_EPSILON, delta=_DELTA)
    protocol = LowCommunicationHistogram.calibrate(n, n_bins=d, guarantee=goal, honest_share=1)
    return protocol.error(_FAILURE, simultaneous=True), float(protocol.mean_messages)


def _laplace(n: int, d: int) -> tuple[float, None]:  # noqa: ARG001
    return 2 / _EPSILON * math.log(d / _FAILURE), None


def _stability(n: int, d: int) -> tuple[float, None]:
    """Return the error of Bun, Nissim, Stemmer (2016): noise on bins that are not empty.

    What does not exceed 1 + 2 ln(2 / delta) / epsilon is shown as 0.
    """
    scale = 2 / _EPSILON
    threshold = 1 + scale * math.log(2 / float(_DELTA))

    def above(x: float) -> float:
        return 0.5 * math.exp(-x / scale) if x > 0 else 1 - 0.5 * math.exp(x / scale)

    def fails(count: int, error: float) -> float:
        shown = threshold - count
        high = above(max(error, shown))
        low = max(0.0, above(shown) - above(-error))
        hidden = 1 - above(shown) if count > error else 0.0
        return high + low + hidden

    counts = {count: bins for count, bins in zipf_counts(n, d).items() if count}

    def failure(error: float) -> float:
        return sum(bins * fails(count, error) for count, bins in counts.items())

    return _least(failure, 1.0 * n), None


def _not_built(n: int, d: int) -> tuple[None, None]:  # noqa: ARG001
    return None, None


def _local_formula(n: int, d: int) -> float:
    return math.sqrt(n * math.log(d)) / _EPSILON


def _sums_formula(n: int, d: int) -> float:  # noqa: ARG001
    return math.sqrt(math.log(d) * math.log(1 / float(_DELTA))) / _EPSILON


def _shuffled_formula(n: int, d: int) -> float:  # noqa: ARG001
    return math.log(1 / float(_DELTA)) / _EPSILON**2


def _central_formula(n: int, d: int) -> float:  # noqa: ARG001
    return min(math.log(d), math.log(1 / float(_DELTA))) / _EPSILON


_LOCAL = ("local", "[3]", "sqrt(n ln d) / eps", _local_formula)
_SHUFFLED = ("shuffled", "Theorem 3.2", "ln(1/delta) / eps^2", _shuffled_formula)
_CENTRAL = ("central", "[9, 7, 4, 14]", "min(ln d, ln 1/delta) / eps", _central_formula)
_PRINTED: dict[str, tuple[str, str, str, Callable[[int, int], float]]] = {
    "randomised response": _LOCAL,
    "unary encoding": _LOCAL,
    "Hadamard response": _LOCAL,
    "a Boolean sum a bin": ("shuffled", "[8]", "sqrt(ln d ln 1/delta) / eps", _sums_formula),
    "Ghazi et al., counts": (
        "shuffled", "[13]", "ln d + sqrt(ln d ln(1/(eps delta))) / eps", _sums_formula,
    ),
    "Ghazi et al., ranges": (
        "shuffled", "[13]", "ln^1.5 d sqrt(ln(ln d / delta)) / eps", _sums_formula,
    ),
    "zero-preserving, paper": _SHUFFLED,
    "zero-preserving, exact": _SHUFFLED,
    "low communication": ("shuffled", "not in the paper", "ln(1/delta) / eps^2", _shuffled_formula),
    "Laplace": _CENTRAL,
    "stability": _CENTRAL,
}  # fmt: skip
_ERRORS: dict[str, Callable[[int, int], tuple[float | None, float | None]]] = {
    "randomised response": _randomised_response,
    "unary encoding": _unary,
    "Hadamard response": _hadamard,
    "a Boolean sum a bin": _boolean_sums,
    "Ghazi et al., counts": _not_built,
    "Ghazi et al., ranges": _not_built,
    "zero-preserving, paper": _zero_preserving("paper"),
    "zero-preserving, exact": _zero_preserving("exact"),
    "low communication": _low_communication,
    "Laplace": _laplace,
    "stability": _stability,
}
