"""keys/: which private keys are shown, and what that costs."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

_KEYS = ("tests/oracles/test_private_keys.py",)

MUTANTS = (
    Mutant(
        "keys/optimal.py",
        "below = delta if steps == 1 else delta * (steps * one).expm1() / one.expm1()",
        "below = delta if steps == 1 else delta * steps",
        "a key of n units shown as if epsilon were 0",
        _KEYS,
    ),
    Mutant(
        "keys/optimal.py",
        "decay = (-(n - switch) * one).exp()",
        "decay = (-(n - switch + 1) * one).exp()",
        "beyond the switch one step too many",
        _KEYS,
    ),
    Mutant(
        "keys/optimal.py",
        "(delta * (-one).exp() / (-one).expm1() - 1)",
        "(-delta * (-one).exp() / (-one).expm1() - 1)",
        "delta subtracted on the way to 1",
        _KEYS,
    ),
    Mutant(
        "keys/optimal.py",
        "return ~passed & (sizes[places] > 0)",
        "return ~passed",
        "a key that nobody has is shown",
        _KEYS,
    ),
    Mutant(
        "keys/optimal.py",
        "return 1 + max(0, int(first))",
        "return 2 + max(0, int(first))",
        "the first recursion used for a step too long",
        _KEYS,
    ),
    Mutant(
        "keys/truncated_geometric.py",
        "(sizes > 0) & (noisy > self.reach)",
        "noisy > self.reach",
        "a key that nobody has is shown with its noise",
        _KEYS,
        "A key that nobody has gets at most the largest noise, which is the reach, and is never "
        "above it. That its size is above 0 is asked all the same, for a law of another shape.",
    ),
    Mutant(
        "keys/truncated_geometric.py",
        "(sizes > 0) & (noisy > self.reach)",
        "(sizes > 0) & (noisy >= self.reach)",
        "a threshold one too low",
        _KEYS,
    ),
    Mutant(
        "keys/truncated_geometric.py",
        "return _ladder(self).draw(count, source) - self.reach",
        "return _ladder(self).draw(count, source) - self.reach + 1",
        "noise that is not centred",
        _KEYS,
    ),
    Mutant(
        "keys/truncated_geometric.py",
        "return -(-rate).expm1() - 2 * (-rate).exp() * (-self.reach * rate).expm1()",
        "return 1 + (-rate).exp()",
        "the normaliser of noise that is not cut",
        _KEYS,
    ),
    Mutant(
        "keys/truncated_geometric.py",
        "return ((rest + 2 * share * p) / ((1 + p) * share)).log() / ball(epsilon)",
        "return (rest / ((1 + p) * share)).log() / ball(epsilon)",
        "a reach that is too short where delta is large",
        _KEYS,
    ),
    Mutant(
        "keys/truncated_geometric.py",
        "return (1 - p) * end <= delta * (1 + p - 2 * p * end)",
        "return True",
        "a reach whose delta is just above",
        _KEYS,
    ),
    Mutant(
        "keys/truncated_geometric.py",
        "if size > 2 * self.reach:",
        "if size > self.reach:",
        "a key shown for certain from half the size on",
        _KEYS,
    ),
    Mutant(
        "keys/threshold.py",
        "return 1 + up",
        "return up",
        "a threshold one too low",
        _KEYS,
    ),
    Mutant(
        "keys/threshold.py",
        'start = exact_int(threshold, name="threshold", minimum=least) - 1',
        'start = exact_int(threshold, name="threshold", minimum=least)',
        "delta of a key that has nobody instead of one unit",
        _KEYS,
    ),
    Mutant(
        "keys/total.py",
        "while 2 * exceeding < n_keys and not",
        "while 2 * exceeding < n_keys - 1 and not",
        "the least of the losses above the total left out",
        _KEYS,
    ),
    Mutant(
        "keys/total.py",
        "weight = weight * odds * (n_keys - fewer) / (fewer + 1)",
        "weight = weight * odds",
        "losses without how many ways lead to them",
        _KEYS,
    ),
    Mutant(
        "keys/total.py",
        "return -log_kept.expm1() + log_kept.exp() * excess",
        "return -log_kept.expm1()",
        "delta of several keys without what losses exceed",
        _KEYS,
    ),
    Mutant(
        "keys/total.py",
        "log_kept = n_keys * (-delta).log1p()",
        "log_kept = (-delta).log1p()",
        "delta of one key for all",
        _KEYS,
    ),
    Mutant(
        "keys/certified.py",
        "return int(first) if holds(int(first)) else int(last)",
        "return int(first)",
        "a whole number below the one that is asked for",
        _KEYS,
    ),
)
