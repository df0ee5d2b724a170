"""Counts and histograms by cancelling pairs: laws, deltas, caps."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

_PAIRS = (
    "tests/rounding/test_paired.py",
    "tests/theorems/test_paired_counts_proof.py",
    "tests/references/test_paired_counts.py",
)
_SIGNS = ("tests/oracles/test_honest_signs.py",)
_COUNTS = ("tests/oracles/test_paired_counts.py", "tests/oracles/test_paired_histograms.py")

MUTANTS = (
    Mutant(
        "shuffle/paired/clump_law.py",
        "return last, math.exp(bound)",
        "return last, 0.0",
        "pairs beyond the last that are forgotten",
        _PAIRS,
    ),
    Mutant(
        "shuffle/paired/clump_law.py",
        "return masses, 1.01 * UNIT_ROUNDOFF * ((largest + 6.0) * last + 8.0)",
        "return masses, 0.0",
        "a recursion said to be exact",
        _PAIRS,
    ),
    Mutant(
        "shuffle/paired/clump_law.py",
        "return result, 1.01 * error",
        "return result, 0.0",
        "a power said to be exact",
        _PAIRS,
    ),
    Mutant(
        "shuffle/paired/exact_delta.py",
        "upper = (float(np.maximum(most, 0.0).sum()) + law.outside) * (1 + roundings)",
        "upper = float(np.maximum(most, 0.0).sum()) * (1 + roundings)",
        "delta of a count without what is left out",
        _PAIRS,
    ),
    Mutant(
        "shuffle/paired/exact_delta.py",
        "return sums, error + 1.01 * values.size * step",
        "return sums, 0.0",
        "decayed sums said to be exact",
        _PAIRS,
    ),
    Mutant(
        "shuffle/paired/exact_delta.py",
        "slip = error + 4 * UNIT_ROUNDOFF",
        "slip = 0.0",
        "delta of a count without the error of its law",
        _PAIRS,
    ),
    Mutant(
        "shuffle/paired/moved_user.py",
        "most = (upper + rounding) * slip + 2 * atoms.outside",
        "most = (upper + rounding) * slip",
        "delta of a histogram without what is left out",
        _PAIRS,
    ),
    Mutant(
        "shuffle/paired/moved_user.py",
        "least -= growth.upper * 2 * atoms.outside",
        "least -= 0.0",
        "the lower side of a histogram with all that is left out",
        _PAIRS,
    ),
    Mutant(
        "shuffle/paired/moved_user.py",
        "slip = ((1 + atoms.error) / (1 - atoms.error)) ** 2",
        "slip = 1.0",
        "atoms of a histogram said to be exact",
        _PAIRS,
    ),
    Mutant(
        "shuffle/paired/view_rows.py",
        "upper = min(1.0, (sums[0] + rows.outside) * roundings)",
        "upper = min(1.0, sums[0] * roundings)",
        "rows without what is left out",
        _PAIRS,
    ),
    Mutant(
        "shuffle/paired/view_rows.py",
        "lower = sums[1] / roundings - growth.upper * rows.outside",
        "lower = sums[1] / roundings",
        "the lower side of rows with all that is left out",
        _PAIRS,
    ),
    Mutant(
        "shuffle/paired/view_rows.py",
        "total += float(last.sum()) * up",
        "total += 0.0",
        "the last rows forgotten",
        _PAIRS,
    ),
    Mutant(
        "shuffle/paired/geometric_shares.py",
        "outside = float(masses[-1]) * beyond * (1.0 + 1e-6 + 2 * error)",
        "outside = 0.0",
        "a share without its tail",
        _PAIRS,
    ),
    Mutant(
        "shuffle/paired/geometric_shares.py",
        "ratio = max(1.0, (last + r) / (last + 1)) * math.exp(-decay)",
        "ratio = math.exp(-decay)",
        "the tail of a share of large shape",
        _PAIRS,
    ),
    Mutant(
        "shuffle/paired/geometric_shares.py",
        "return (tails * slack + outside) * (1.0 + 4 * UNIT_ROUNDOFF)",
        "return tails",
        "a survival function without roundings",
        _PAIRS,
    ),
    Mutant(
        "shuffle/paired/noise_cap.py",
        "place = min(slots, tails.size - 1)",
        "place = min(slots + 1, tails.size - 1)",
        "an envelope of one slot too few",
        _PAIRS,
    ),
    Mutant(
        "shuffle/paired/accuracy.py",
        "free = float_bounds(failure * (1 - self.overflow))[0]",
        "free = float_bounds(failure)[0]",
        "an error that forgets what is drawn again",
        _PAIRS,
    ),
    Mutant(
        "shuffle/envelopes.py",
        "lost = real_bounds(epsilon).upper + log_bounds(self.overflow).upper\n",
        "lost = -800.0\n",
        "a cap that costs no delta",
        _COUNTS,
    ),
    Mutant(
        "shuffle/paired/honest_signs.py",
        "powers = np.exp(np.outer(slopes, counts))",
        "powers = np.exp(np.outer(slopes, counts - 0.2))",
        "honest users who send a fifth of a sign less",
        _SIGNS,
    ),
    Mutant(
        "shuffle/paired/honest_signs.py",
        "masses = law.masses[:slots]",
        "masses = law.masses[: slots // 2]",
        "envelopes of half the slots",
        _SIGNS,
    ),
    Mutant(
        "shuffle/paired/honest_signs.py",
        "_LOG_ALARM = math.log(1e12)",
        "_LOG_ALARM = math.log(1e9)",
        "an alarm a thousand times as often",
        _SIGNS,
    ),
)
