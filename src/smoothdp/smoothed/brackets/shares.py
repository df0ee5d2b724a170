"""The distinct probabilities of a law, and a few that stand for very many.

A smaller probability is on the safe side above, because a record may be left uncounted
(proofs/smoothed-brackets#5).
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from smoothdp.smoothed.brackets.weights import Share

_MOST = 14
_RAREST = 6


def shares_of(chances: Sequence[Fraction]) -> list[Share]:
    """Return the distinct probabilities, rising, with how often they occur.

    Beyond 14 distinct ones, all but the six smallest stand for groups, each with the smallest of
    its group: the groups grow by a constant factor.

    >>> [share.number for share in shares_of([Fraction(1, 2), Fraction(1, 4), Fraction(1, 4)])]
    [2, 1]
    >>> many = shares_of([Fraction(k, 5050) for k in range(1, 101)])
    >>> len(many), sum(share.number for share in many), many[-1].exact
    (14, 100, False)
    """
    counts: dict[Fraction, int] = {}
    for chance in chances:
        counts[chance] = counts.get(chance, 0) + 1
    distinct = sorted(counts)
    if len(distinct) <= _MOST:
        return [Share(chance, counts[chance]) for chance in distinct]
    rarest, rest = distinct[:_RAREST], distinct[_RAREST:]
    result = [Share(chance, counts[chance]) for chance in rarest]
    n_groups = _MOST - _RAREST
    growth = (float(rest[-1]) / float(rest[0])) ** (1 / n_groups)
    start = 0
    for group in range(n_groups):
        bound = float(rest[0]) * growth ** (group + 1)
        end = start
        while end < len(rest) and (group == n_groups - 1 or float(rest[end]) < bound):
            end += 1
        if end > start:
            total = sum(counts[chance] for chance in rest[start:end])
            result.append(Share(rest[start], total, exact=end == start + 1))
        start = end
    return result
