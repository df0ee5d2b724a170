"""The number at which a claim just holds, between certain ones on both sides."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from smoothdp.errors import InvalidParameter, OutOfReach


class Tried(Protocol):
    """A number that was tried."""

    @property
    def number(self) -> int | float:
        """The number."""

    @property
    def is_safe(self) -> bool:
        """Whether the claim certainly holds there."""

    @property
    def is_refuted(self) -> bool:
        """Whether it certainly fails there."""

    @property
    def excess(self) -> float:
        """How far from holding, as an estimate: negative where it holds, maybe infinite."""

    @property
    def doubt(self) -> tuple[float, float]:
        """Bounds of the excess: about 0 above where it is just safe, below where just refuted."""


T = TypeVar("T", bound=Tried)
_RATIO = 4.0
_MOST_RATIOS = 40
_CLOSE = 1e-12
# An excess is the logarithm of a ratio of deltas: far from the root it says little.
_CLIP = 30.0
# Bounds of the excess that lie further apart than this leave a range of numbers undecided.
_OPEN = 1e-6
# Of the doubt at the root: an end so close to where its side begins is close enough.
_ENOUGH = 1 / 32
_MOST_NEARER = 12


@dataclass(frozen=True)
class Bracket(Generic[T]):
    """What was found: the nearest numbers on both sides that are certain, and the last of all."""

    safe: T | None
    refuted: T | None
    nearest: T


def bracket_real(
    judge: Callable[[float], T], within: tuple[float, float] | None = None
) -> Bracket[T]:
    """Return the closest certain numbers around the root; ``judge`` tries a number.

    Args:
        judge: tries a number.
        within: the range; None: from 1 outwards, by factors of 4, as far as it is in the domain.
    """
    tried = _Record[T]()
    ends = _ends(judge, tried) if within is None else tuple(tried.add(judge(x)) for x in within)
    if len(ends) < 2 or (ends[0].excess > 0) == (ends[1].excess > 0):
        return _one_sided(tried)
    at_root = _root(judge, tried, ends[0], ends[1], _clipped, _decides_nothing)
    root = at_root if isinstance(at_root, float) else float(at_root.number)
    if isinstance(at_root, float) or at_root.doubt[1] - at_root.doubt[0] <= _OPEN:
        _settle(judge, tried, root, within)
    else:
        for safe in (True, False):
            _approach(judge, tried, at_root, within, safe=safe)
    return Bracket(tried.closest(root, safe=True), tried.closest(root, safe=False), tried.last)


def bracket_whole(judge: Callable[[int], T], low: int, high: int) -> Bracket[T]:
    """Return neighbouring whole numbers, one that is safe and one that is not."""
    tried = _Record[T]()
    first, last = tried.add(judge(low)), tried.add(judge(high))
    if first.is_safe == last.is_safe:
        return _one_sided(tried)
    safe, other = (first, last) if first.is_safe else (last, first)
    while abs(int(safe.number) - int(other.number)) > 1:
        middle = judge(_whole_between(safe, other))
        tried.add(middle)
        safe, other = (middle, other) if middle.is_safe else (safe, middle)
    # The neighbour may be undecided: the next that is certain is further out.
    step = 1 if other.number > safe.number else -1
    while not other.is_refuted and low <= int(other.number) + step <= high:
        other = tried.add(judge(int(other.number) + step))
        step *= 2
    return Bracket(safe, other if other.is_refuted else None, tried.last)


class _Record(Generic[T]):
    """All numbers tried."""

    def __init__(self) -> None:
        self._all: list[T] = []

    def add(self, tried: T) -> T:
        self._all.append(tried)
        return tried

    @property
    def last(self) -> T:
        return self._all[-1]

    @property
    def nearest(self) -> T:
        """The one that comes closest to holding."""
        return min(self._all, key=lambda tried: tried.excess)

    @property
    def safest_barely(self) -> T | None:
        """The safe one that is closest to failing."""
        safe = [tried for tried in self._all if tried.is_safe]
        return max(safe, key=lambda tried: tried.excess) if safe else None

    def closest(self, root: float, *, safe: bool) -> T | None:
        """Return the number closest to the root that is certain, on one side."""
        wanted = [tried for tried in self._all if (tried.is_safe if safe else tried.is_refuted)]
        return min(wanted, key=lambda tried: abs(tried.number - root)) if wanted else None


def _one_sided(tried: _Record[T]) -> Bracket[T]:
    safe = tried.safest_barely
    return Bracket(safe, None, tried.nearest)


def _ends(judge: Callable[[float], T], tried: _Record[T]) -> tuple[T, ...]:
    """Return two numbers between which the claim turns, or fewer: look up and down from 1."""
    start = tried.add(judge(1.0))
    ends = {1: start, -1: start}
    open_ways = {1, -1}
    for _ in range(_MOST_RATIOS):
        for way in sorted(open_ways, reverse=True):
            try:
                found = judge(float(ends[way].number) * _RATIO**way)
            except (InvalidParameter, OutOfReach):
                # Outside the domain of what is made, such as a rate above 1, or beyond what can be
                # certified: neither safe nor refuted.
                open_ways.discard(way)
                continue
            before, ends[way] = ends[way], tried.add(found)
            if (found.excess > 0) != (start.excess > 0):
                return before, found
            if abs(found.excess) > abs(before.excess) + 1.0 and len(open_ways) == 2:
                open_ways.discard(way)
        if not open_ways:
            break
    return (start,)


def _root(
    judge: Callable[[float], T],
    tried: _Record[T],
    first: T,
    second: T,
    value_of: Callable[[T], float],
    is_enough: Callable[[T], bool],
    limit: int | None = None,
) -> T | float:
    """Return the number tried that is enough, or about where the value turns: by the ITP method in
    the logarithm.

    Oliveira and Takahashi 2020: a secant step, moved towards the middle and never further from
    it than bisection would be by then: few steps where the excess is smooth, and never many.
    """
    positive = first.number > 0 and second.number > 0
    ends = sorted(((_place(end, positive), end) for end in (first, second)), key=lambda e: e[0])
    (low, at_low), (high, at_high) = ((place, value_of(end)) for place, end in ends)
    slope, width = 0.2 / (high - low), max(abs(low), abs(high), 1.0) * _CLOSE
    most = math.ceil(math.log2((high - low) / width)) + 1
    for step in range(most if limit is None else min(most, limit)):
        middle = 0.5 * (low + high)
        secant = (at_high * low - at_low * high) / (at_high - at_low)
        towards = math.copysign(1.0, middle - secant)
        shift = slope * (high - low) ** 2
        moved = secant + towards * shift if shift <= abs(middle - secant) else middle
        reach = max(0.0, 0.5 * width * 2.0 ** (most - step) - 0.5 * (high - low))
        place = moved if abs(moved - middle) <= reach else middle - towards * reach
        found = tried.add(judge(math.exp(place) if positive else place))
        value = value_of(found)
        if is_enough(found):
            return found
        if (value > 0) == (at_high > 0):
            high, at_high = place, value
        else:
            low, at_low = place, value
        if high - low <= width:
            break
    middle = 0.5 * (low + high)
    return math.exp(middle) if positive else middle


def _clipped(tried: Tried) -> float:
    return max(-_CLIP, min(_CLIP, tried.excess))


def _decides_nothing(tried: Tried) -> bool:
    """Return whether a number is so close to the root that no closer one helps."""
    return tried.excess == 0.0 or not (tried.is_safe or tried.is_refuted)


def _place(end: Tried, positive: bool) -> float:
    return math.log(end.number) if positive else float(end.number)


def _settle(
    judge: Callable[[float], T],
    tried: _Record[T],
    root: float,
    within: tuple[float, float] | None,
) -> None:
    """Try numbers ever further from the root until certain ones stand close on both sides."""
    above_is_safe = _safe_above(tried, root)
    for safe in (True, False):
        outward = 1.0 if safe == above_is_safe else -1.0
        pad = _CLOSE / 4
        while pad < 1.0:
            number = root + outward * pad * (abs(root) or 1.0)
            if within is not None and not within[0] <= number <= within[1]:
                break
            known = tried.closest(root, safe=safe)
            if known is not None and abs(known.number - root) <= abs(number - root):
                break
            found = tried.add(judge(number))
            if found.is_safe if safe else found.is_refuted:
                break
            pad *= 8


def _approach(
    judge: Callable[[float], T],
    tried: _Record[T],
    at_root: T,
    within: tuple[float, float] | None,
    *,
    safe: bool,
) -> None:
    """Try numbers towards the end of what is undecided, on one side, until one is close to it.

    Between the ends nothing is decided, however many numbers are tried: so each is looked for by
    itself, where the bound of the excess that decides it passes 0.
    """
    root = float(at_root.number)
    sign = 1.0 if safe else -1.0
    aim = min(sign * at_root.doubt[safe], _CLIP) * _ENOUGH
    far = tried.closest(root, safe=safe) or _further(judge, tried, root, within, safe=safe)

    def value(found: T) -> float:
        """How far the end is missed, beyond half of what is close enough: positive at the root."""
        return max(-_CLIP, min(_CLIP, sign * found.doubt[safe] + aim / 2))

    def is_close(found: T) -> bool:
        decided = found.is_safe if safe else found.is_refuted
        return decided and sign * found.doubt[safe] >= -aim

    if far is not None and not is_close(far) and value(far) < 0 < value(at_root):
        _root(judge, tried, at_root, far, value, is_close, _MOST_NEARER)


def _further(
    judge: Callable[[float], T],
    tried: _Record[T],
    root: float,
    within: tuple[float, float] | None,
    *,
    safe: bool,
) -> T | None:
    """Return a number that is certain on one side, ever further from the root; None without one."""
    outward = 1.0 if safe == _safe_above(tried, root) else -1.0
    for power in range(-6, 3):
        pad = 2.0**power * (abs(root) or 1.0)
        number = root + outward * pad if root <= 0 or outward > 0 else root / (1 + 2.0**power)
        if within is not None and not within[0] <= number <= within[1]:
            break
        try:
            found = tried.add(judge(number))
        except (InvalidParameter, OutOfReach):
            break
        if found.is_safe if safe else found.is_refuted:
            return found
    return None


def _safe_above(tried: _Record[T], root: float) -> bool:
    safe = tried.safest_barely
    return safe is None or safe.number >= root


def _whole_between(safe: Tried, other: Tried) -> int:
    """Return a whole number strictly between: by the secant of the excesses, or the middle."""
    a, b = int(safe.number), int(other.number)
    middle = (a + b) // 2
    if not (math.isfinite(safe.excess) and math.isfinite(other.excess)):
        return middle
    low, high = min(safe.excess, -1e-300), max(other.excess, 1e-300)
    share = low / (low - high)
    # Never closer to an end than an eighth: a secant alone may crawl.
    guess = round(a + min(0.875, max(0.125, share)) * (b - a))
    return min(max(guess, min(a, b) + 1), max(a, b) - 1)
