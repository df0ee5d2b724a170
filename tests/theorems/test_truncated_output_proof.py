"""The page of proofs on truncated output, attacked: A_k from its two suprema, exactly."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from fractions import Fraction

import pytest

from smoothdp.queries import TrimmedMean, WindowMean

BOUNDS = (Fraction(-1), Fraction(3))
FULL = BOUNDS[1] - BOUNDS[0]


def window_mean(x: Sequence[Fraction], drops: tuple[int, int], moved: int) -> Fraction | None:
    """Return the mean of the window moved by some ranks, clamped; None off the data."""
    low, high = drops[0] + moved, len(x) - drops[1] + moved
    if low < 0 or high > len(x):
        return None
    mean = sum(sorted(x)[low:high], Fraction(0)) / (high - low)
    return min(max(mean, BOUNDS[0]), BOUNDS[1])


def room(x: Sequence[Fraction], drops: tuple[int, int], k: int) -> Fraction:
    """Return G_k."""
    low, high = window_mean(x, drops, -k), window_mean(x, drops, k)
    lower = FULL if low is None else BOUNDS[1] - low
    return max(lower, FULL if high is None else high - BOUNDS[0])


def unclamped(x: Sequence[Fraction], drops: tuple[int, int], k: int) -> Fraction | None:
    """Return U_k, None if infinite."""
    if k >= min(drops):
        return None
    n, ordered = len(x), sorted(x)
    width = n - sum(drops)
    # x_(r) is ordered[r - 1].
    return max(
        (ordered[n - drops[1] + q - 1] - ordered[drops[0] - (k + 1 - q)]) / width
        for q in range(k + 2)
    )


def sensitivity(x: Sequence[Fraction], drops: tuple[int, int], k: int) -> Fraction:
    """Return A_k."""
    change = unclamped(x, drops, k)
    return room(x, drops, k) if change is None else min(change, room(x, drops, k))


def random_data(rng: random.Random) -> tuple[list[Fraction], tuple[int, int]]:
    n = rng.randrange(2, 14)
    low = rng.randrange(n)
    drops = (low, rng.randrange(n - low))
    spread = rng.choice([1, 10, 1000])
    return [Fraction(rng.randrange(-spread, 3 * spread), 8) for _ in range(n)], drops


def query(drops: tuple[int, int]) -> WindowMean:
    return WindowMean(drops[0], drop_high=drops[1], bounds=(-1, 3), truncate="output")


@pytest.mark.parametrize("t", ["0.02", "0.3", "2"])
def test_which_distances_matter(t: str) -> None:
    """Every k up to n + 3; the library's maximiser is one, and (i) to (iv) hold."""
    rng, rate = random.Random(50), float(t)
    late = 0
    for _ in range(250):
        x, drops = random_data(rng)
        m = min(drops)
        every = [sensitivity(x, drops, k) for k in range(len(x) + 4)]
        logs = [-rate * k + math.log(a) if a else -math.inf for k, a in enumerate(every)]
        changes = [unclamped(x, drops, k) for k in range(m + 1)]
        turn = next(k for k, u in enumerate(changes) if u is None or 2 * u > FULL)
        assert every[:turn] == changes[:turn]
        assert every == sorted(every)
        assert all(FULL / 2 <= a <= FULL for a in every[turn:])
        best = max(range(len(every)), key=lambda k: logs[k])
        assert best <= min(m + 1, turn + math.log(2) / rate)
        late += best > turn
        ((k, found),) = query(drops).summary([float(v) for v in x], smoothing=t).candidates
        assert found == every[k]
        assert logs[k] == pytest.approx(max(logs), abs=1e-12)
    assert late > 3 or rate > 1


def test_without_the_clamp_the_room_is_not_half() -> None:
    """(ii) rests on G_k >= c/2; U_k alone may be 0 for ever so long, and then leap."""
    x = [Fraction(0)] * 9 + [Fraction(10**6)]
    drops = (4, 4)
    assert [unclamped(x, drops, k) for k in range(3)] == [0, 0, 0]
    assert unclamped(x, drops, 3) == Fraction(10**6, 2)
    assert room(x, drops, 0) >= FULL / 2


@pytest.mark.parametrize("t", ["0.1", "0.5", "3"])
def test_untrimmed_mean(t: str) -> None:
    """max(G_0, e^-t c); and the local sensitivity G_0, by replacing one value by far ones."""
    rng = random.Random(0)
    for _ in range(50):
        n = rng.randrange(1, 6)
        x = [Fraction(rng.randrange(-16, 32), 8) for _ in range(n)]
        value = window_mean(x, (0, 0), 0)
        assert value is not None
        first = max(BOUNDS[1] - value, value - BOUNDS[0])
        moved = [
            window_mean([far, *x[1:]], (0, 0), 0) for far in (Fraction(10**6), Fraction(-(10**6)))
        ]
        assert max(abs(value - other) for other in moved if other is not None) == first
        expected = max(float(first), math.exp(-float(t)) * float(FULL))
        trimmed = TrimmedMean(0, bounds=(-1, 3), truncate="output")
        assert trimmed.smooth_sensitivity([float(v) for v in x], smoothing=t) == pytest.approx(
            expected, rel=1e-14
        )
        if n > 2:
            one_sided = query((0, 2))
            other = room(x, (0, 2), 0)
            expected = max(float(other), math.exp(-float(t)) * float(FULL))
            assert one_sided.smooth_sensitivity(
                [float(v) for v in x], smoothing=t
            ) == pytest.approx(expected)


def test_lemma_50_on_asymmetric_windows() -> None:
    rng = random.Random(51)
    closest = 0.0
    for _ in range(300):
        x, drops = random_data(rng)
        for t in ("0.05", "1"):
            width = len(x) - sum(drops)
            bound = max(
                float((max(x) - min(x)) / width), math.exp(-float(t) * min(drops)) * float(FULL)
            )
            ratio = query(drops).smooth_sensitivity([float(v) for v in x], smoothing=t) / bound
            assert ratio <= 1 + 1e-12
            closest = max(closest, ratio)
    assert closest > 0.99
    # With the larger number of values left out in the exponent it is false.
    x = [Fraction(0)] * 6
    value = query((0, 4)).smooth_sensitivity([float(v) for v in x], smoothing="1")
    assert value > math.exp(-4) * float(FULL)
