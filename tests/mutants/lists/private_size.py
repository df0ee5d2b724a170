"""Windows where n is private: cells, positions, the search; and how much a count takes."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

_WINDOW = ("tests/oracles/test_padded_window.py",)
_RULES = ("tests/conformance/test_bought_size.py",)
_ROWS = ("tests/oracles/test_padded_window.py", "tests/conformance/test_fixed_statistics.py")
_FAR = ("tests/engines/test_tables_by_key.py",)

MUTANTS = (
    Mutant(
        "queries/private_size/positions.py",
        "self.bottom_end - self.length * distance + 2 * self.length * added",
        "self.bottom_end - self.length * distance + self.length * added",
        "rows added move the lower end half as far",
        _WINDOW,
    ),
    Mutant(
        "queries/private_size/positions.py",
        "up = self.unit - self.length\n        return self.top_end + up * distance",
        "up = 0\n        return self.top_end + up * distance",
        "rows removed that leave the upper end where it is",
        _WINDOW,
    ),
    Mutant(
        "queries/private_size/positions.py",
        "steps.append((above * self.unit - self.top_end - self.length) // self.length + 1)",
        "steps.append((above * self.unit - self.top_end - self.length) // self.length + 2)",
        "a distance too far at which the window first moves",
        _WINDOW,
    ),
    Mutant(
        "queries/private_size/positions.py",
        "return min(total, max(-(-upwards // up), -(-downwards // length)))",
        "return min(total, -(-upwards // up))",
        "a search that ends before both ends have left the data",
        _WINDOW,
    ),
    Mutant(
        "queries/private_size/search.py",
        "(distances, zeros, zeros, zeros + 1), (distances, zeros, last, zeros), strict=True",
        "(distances, zeros, zeros, zeros), (distances, zeros, last, zeros), strict=True",
        "the second form of a bound left out",
        _WINDOW,
    ),
    Mutant(
        "queries/private_size/search.py",
        "last = zeros if self.positions.is_middle else distances",
        "last = zeros",
        "rows added left out away from the median",
        _WINDOW,
    ),
    Mutant(
        "queries/private_size/search.py",
        "near = ranges.take(np.flatnonzero(scores >= best - margin - _MARGIN * abs(best)))",
        "near = ranges.take(np.flatnonzero(scores >= best))",
        "floats decide which distance is the worst",
        _WINDOW,
    ),
    Mutant(
        "queries/private_size/search.py",
        "if needed <= reach:",
        "if True:",
        "a search that ends at its first reach",
        _WINDOW,
    ),
    Mutant(
        "queries/private_size/cells.py",
        "rests = Fraction(self.clamp.first) - lower, upper - Fraction(self.clamp.last)",
        "rests = Fraction(0), Fraction(0)",
        "bounds between floats as the next floats",
        _WINDOW,
    ),
    Mutant(
        "queries/private_size/padded_window.py",
        "level, offset, bounds = 1 - level, -offset, (-bounds[1], -bounds[0])",
        "level, offset, bounds = 1 - level, offset, (-bounds[1], -bounds[0])",
        "an offset that is not mirrored",
        _WINDOW,
    ),
    Mutant(
        "queries/private_size/read_rows.py",
        "return np.clip(kept, -LARGEST_FLOAT, LARGEST_FLOAT)",
        "return kept[np.isfinite(kept)]",
        "infinite values dropped instead of clamped",
        _ROWS,
    ),
    Mutant(
        "queries/private_size/known_column.py",
        "above = self.n_records - self.below - int(self.counts.sum())",
        "above = self.below",
        "a column mirrored with its ends exchanged",
        _FAR,
    ),
    Mutant(
        "queries/private_size/known_column.py",
        "counts = np.minimum(ends, last) - np.maximum(begins, first)",
        "counts = np.minimum(ends, last) - begins",
        "a sum over ranks before its first",
        _FAR,
    ),
    Mutant(
        "mechanisms/private_size/bought_size.py",
        "rest = part_of(self.guarantee, 1 - self.share)",
        "rest = self.guarantee",
        "a statistic that gets all of the guarantee, and the count a part",
        _RULES,
    ),
    Mutant(
        "mechanisms/private_size/bought_size.py",
        "(count,) = noisy_sums(Sealed((len(values),)), self.law, source)",
        "count = len(values)",
        "a window chosen by the private number itself",
        _RULES,
    ),
    Mutant(
        "mechanisms/private_size/bought_size.py",
        "min(count, MOST_RECORDS) - LOW_END * deviation",
        "min(count, MOST_RECORDS)",
        "a guess by the count, not by its low end",
        _RULES,
    ),
)
