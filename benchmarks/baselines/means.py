"""Private means: clamping to bounds, clipping at private quantiles, two of the literature.

Each takes a column, the bounds, a guarantee and a generator, and returns one draw.
"""

from __future__ import annotations

import math

import numpy as np

from benchmarks.baselines import exponential_mechanism
from benchmarks.baselines.noise import Guarantee, deviation, noise, share
from smoothdp.claims import PureDP
from smoothdp.types import FloatArray

Bounds = tuple[float, float]


def clamped(
    data: FloatArray, bounds: Bounds, guarantee: Guarantee, rng: np.random.Generator
) -> float:
    """Return the mean of values clamped to the bounds, with noise (OpenDP, diffprivlib)."""
    width = (bounds[1] - bounds[0]) / len(data)
    return float(np.clip(data, *bounds).mean()) + noise(width, guarantee, rng)


def clipped_at_quantiles(
    data: FloatArray,
    bounds: Bounds,
    guarantee: Guarantee,
    rng: np.random.Generator,
    *,
    level: float = 0.05,
) -> float:
    """Return the mean of values clipped at private quantiles: 10% + 10% + 80% of the budget."""
    tenth = share(guarantee, 0.1)
    z = exponential_mechanism.slope(tenth)
    low, high = sorted(
        exponential_mechanism.draw(data, q * len(data), bounds, z, rng) for q in (level, 1 - level)
    )
    return clamped(data, (low, high), share(guarantee, 0.8), rng)


def karwa_vadhan(
    data: FloatArray,
    bounds: Bounds,
    guarantee: Guarantee,
    rng: np.random.Generator,
    *,
    sigma: float,
    part: float = 0.1,
) -> float:
    """Return the mean clipped to a private range of bins of width sigma, with known sigma.

    A part of the budget finds the fullest bin by report-noisy-max over the bins within the bounds;
    values are clipped to its middle +- sigma (1 + sqrt(2 ln(2 n))), beyond which less than one
    of n normal values is expected; the rest pays for the mean.

    Source: V. Karwa, S. Vadhan, Finite sample differentially private confidence intervals (2018).
    """
    n = len(data)
    count = max(1, min(10**6, math.ceil((bounds[1] - bounds[0]) / sigma)))
    edges = np.linspace(*bounds, count + 1)
    heights, _ = np.histogram(np.clip(data, *bounds), edges)
    # A replaced record moves two counts by one: with Gumbel noise of scale 1 / z the choice is
    # the exponential mechanism of slope z.
    z = exponential_mechanism.slope(share(guarantee, part))
    fullest = int(np.argmax(heights + rng.gumbel(0, 1 / z, count)))
    centre = (edges[fullest] + edges[fullest + 1]) / 2
    reach = sigma * (1 + math.sqrt(2 * math.log(2 * n)))
    narrow = max(bounds[0], centre - reach), min(bounds[1], centre + reach)
    return clamped(data, narrow, share(guarantee, 1 - part), rng)


def coinpress(
    data: FloatArray,
    bounds: Bounds,
    guarantee: Guarantee,
    rng: np.random.Generator,
    *,
    sigma: float,
    steps: int = 4,
) -> float:
    """Return the mean by ranges that shrink in steps, with known sigma.

    All steps but the last get a tenth of the budget together (a quarter for zCDP), the last the
    rest. In each, values are clipped to the range widened by what a normal sample of n reaches,
    their noisy mean is the new middle, and the new reach is what sampling and noise may err.

    Source: S. Biswas, Y. Dong, G. Kamath, J. Ullman, CoinPress (2020).
    """
    n = len(data)
    middle, reach = (bounds[0] + bounds[1]) / 2, (bounds[1] - bounds[0]) / 2
    first = 0.1 if isinstance(guarantee, PureDP) else 0.25
    parts = [first / (steps - 1)] * (steps - 1) + [1 - first] if steps > 1 else [1.0]
    beta = 0.01 / steps
    for part in parts:
        wide = reach + sigma * math.sqrt(2 * math.log(2 * n / beta))
        low, high = max(bounds[0], middle - wide), min(bounds[1], middle + wide)
        paid = share(guarantee, part)
        middle = clamped(data, (low, high), paid, rng)
        spread = deviation((high - low) / n, paid)
        tail = (
            math.log(1 / beta) / math.sqrt(2)
            if isinstance(guarantee, PureDP)
            else (math.sqrt(2 * math.log(2 / beta)))
        )
        sampling = sigma / math.sqrt(n) * math.sqrt(2 * math.log(2 / beta))
        reach = min(reach, spread * tail + sampling)
        middle = min(max(middle, bounds[0]), bounds[1])
    return middle
