"""Bounding persons' rows: which rows of each person are kept, by coins that look at no one else.

Each person's kept rows are a random function of that person's rows alone, with coins of its own:
uniform keys, uniform rows in each, a uniform subset of these. Coins are drawn only where a choice
is to be made; they are independent of all rows, so it is as if everybody had drawn them.
"""

from __future__ import annotations

import numpy as np

from smoothdp.exact.random.entropy import Entropy
from smoothdp.exact.random.random_words import WORD_BITS, random_words
from smoothdp.tables.person import Person
from smoothdp.types import BoolArray, IntArray


def bound_rows(persons: IntArray, keys: IntArray, person: Person, rng: Entropy) -> IntArray:
    """Return the rows that are kept, in their order; those without a person or a key are not.

    Source: proofs/tables#6.

    Args:
        persons, keys: for each row a whole number >= 0; less where there is none.
        person: the caps.
        rng: the coins.

    >>> from smoothdp.exact.random.entropy import SystemRandom
    >>> persons, keys = np.array([0, 0, 0, 1, -1]), np.array([0, 0, 1, 1, 1])
    >>> caps = Person("id", rows=1)
    >>> kept = bound_rows(persons, keys, caps, SystemRandom())
    >>> len(kept), int(kept[-1])
    (2, 3)
    """
    rows = np.flatnonzero((persons >= 0) & (keys >= 0)).astype(np.int64)
    if not len(rows):
        return rows
    # Sorted by person and key once: what is chosen afterwards keeps this order.
    n_keys = int(keys[rows].max()) + 1
    cells = persons[rows] * n_keys + keys[rows]
    order = np.argsort(cells)
    rows, cells = rows[order], cells[order]
    if person.groups is not None:
        first = np.flatnonzero(_changes(cells))
        chosen = _uniform_subsets(cells[first] // n_keys, person.groups, rng)
        widths = np.diff(np.append(first, len(cells)))
        kept = np.repeat(chosen, widths)
        rows, cells = rows[kept], cells[kept]
    if person.rows_per_group is not None:
        kept = _uniform_subsets(cells, person.rows_per_group, rng)
        rows, cells = rows[kept], cells[kept]
    kept = _uniform_subsets(cells // n_keys, person.rows, rng)
    return np.sort(rows[kept])


def _changes(labels: IntArray) -> BoolArray:
    """Return where sorted labels begin anew."""
    begins = np.ones(len(labels), dtype=np.bool_)
    begins[1:] = labels[1:] != labels[:-1]
    return begins


def _uniform_subsets(labels: IntArray, most: int, rng: Entropy) -> BoolArray:
    """Return a uniform subset of ``most`` places of each label, all where there are no more.

    Args:
        labels: sorted.
        most: >= 1.
    """
    begins = np.flatnonzero(_changes(labels))
    widths = np.diff(np.append(begins, len(labels)))
    kept = np.ones(len(labels), dtype=np.bool_)
    large = widths > most
    if not large.any():
        return kept
    places = np.flatnonzero(np.repeat(large, widths))
    starts = np.cumsum(widths[large]) - widths[large]
    which = np.repeat(np.arange(len(starts)), widths[large])
    # A place is kept if fewer than `most` of its label have a smaller word.
    order = _uniform_orders(which, rng)
    ranks = np.arange(len(places)) - starts[which]
    kept[places[order]] = ranks < most
    return kept


def _uniform_orders(which: IntArray, rng: Entropy) -> IntArray:
    """Return an order that is uniform within each of the sorted runs, by random words.

    A word holds the number of its run and random bits below it, at least 32. Words that are equal
    say nothing of an order: all are drawn again (below 3e-6 of the cases for 1e7 rows).
    """
    run_bits = int(which[-1]).bit_length()
    runs = which.astype(np.uint64) << np.uint64(WORD_BITS - run_bits) if run_bits else 0
    while True:
        words = random_words(len(which), rng) >> np.uint64(run_bits) | runs
        order = np.argsort(words)
        ranked = words[order]
        if not (ranked[1:] == ranked[:-1]).any():
            return order.astype(np.int64)
