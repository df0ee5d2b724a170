"""ledger/: amounts, filters and what was spent."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

_LEDGER = ("tests/rounding/test_ledger.py",)
_DECLARED = ("tests/oracles/test_ledger_declared.py",)
_FILTERS = (*_LEDGER, "tests/theorems/test_ledger_filters.py")

MUTANTS = (
    Mutant(
        "ledger/amount.py",
        "return self._rounded(up=True) if plain is None else plain",
        "return self._rounded(up=False) if plain is None else plain",
        "what was spent, rounded down",
        _LEDGER,
    ),
    Mutant(
        "ledger/amount.py",
        "return self._rounded(up=False) if plain is None else plain",
        "return self._rounded(up=True) if plain is None else plain",
        "what is left, rounded up",
        _LEDGER,
    ),
    Mutant(
        "ledger/amount.py",
        "round_up(total) if up else max(0.0, round_down(total))",
        "round_down(total) if up else max(0.0, round_up(total))",
        "sums with a logarithm rounded inwards",
        _LEDGER,
    ),
    Mutant(
        "exact/parameters/numbers.py",
        "if up and root * root != product << 2 * shift:",
        "if up and root * root > product << 2 * shift:",
        "a root that is never rounded up",
        _LEDGER,
    ),
    Mutant(
        "ledger/amount.py",
        "rational += Fraction(round_up(ball(LogRatio(ratio))))",
        "rational += Fraction(-round_up(-ball(LogRatio(ratio))))",
        "a logarithm that grew too long, rounded down",
        _LEDGER,
    ),
    Mutant(
        "ledger/amount.py",
        "Fraction(-((-total.numerator << shift) // total.denominator), 1 << shift)",
        "Fraction((total.numerator << shift) // total.denominator, 1 << shift)",
        "a sum that grew too long, rounded down",
        _LEDGER,
    ),
    Mutant(
        "ledger/amount.py",
        "return gap >= 0 if ratio == 1",
        "return gap > 0 if ratio == 1",
        "the whole budget does not fit into the budget",
        _LEDGER,
    ),
    Mutant(
        "ledger/filters.py",
        "if not total[name].at_most(limit)",
        "if limit.at_most(total[name]) and not total[name].at_most(limit + limit)",
        "the budget twice",
        _FILTERS,
    ),
    Mutant(
        "ledger/filters.py",
        "return [name for name, limit in self.limits.items() if",
        "return [name for name, limit in [*self.limits.items()][:1] if",
        "delta is not counted",
        _FILTERS,
    ),
    Mutant(
        "ledger/sum_filters.py",
        'return self._claim(amounts["epsilon"].upper(), delta)',
        'return self._claim(amounts["epsilon"].lower(), delta)',
        "the epsilon that was spent, rounded down",
        _LEDGER,
    ),
    Mutant(
        "ledger/sum_filters.py",
        'return self._claim(rest["epsilon"].lower(), _rational(rest["delta"].lower()))',
        'return self._claim(rest["epsilon"].upper(), _rational(rest["delta"].lower()))',
        "the epsilon that is left, rounded up",
        _LEDGER,
    ),
    Mutant(
        "ledger/sum_filters.py",
        "self.budget.changed(mu=square_root(square, up=True))",
        "self.budget.changed(mu=square_root(square, up=False))",
        "the mu that was spent, rounded down",
        _LEDGER,
    ),
    Mutant(
        "ledger/sum_filters.py",
        "self.budget.changed(mu=square_root(square, up=False))",
        "self.budget.changed(mu=square_root(square, up=True))",
        "the mu that is left, rounded up",
        _LEDGER,
    ),
    Mutant(
        "ledger/sum_filters.py",
        'delta = self.conversion + _rational(amounts["delta"].upper())',
        'delta = max(self.conversion, _rational(amounts["delta"].upper()))',
        "the larger of two deltas for their sum",
        _FILTERS,
    ),
    Mutant(
        "ledger/sum_filters.py",
        "below = math.nextafter(first, 0.0)",
        "below = first",
        "the first rho that is too much, as the limit",
        _FILTERS,
    ),
    Mutant(
        "claims/guarantees/guarantee.py",
        "terms.omega is None or terms.omega >= omega",
        "terms.omega is None or terms.omega <= omega",
        "a claim up to too low an order",
        _FILTERS,
    ),
    Mutant(
        "claims/excess.py",
        "normal_cdf_at_least(Fraction(mu) / 2, epsilon)",
        "normal_cdf_at_least(Fraction(mu), epsilon)",
        "half the mu of a pure claim",
        _FILTERS,
    ),
    Mutant(
        "ledger/budgets.py",
        '"delta": Amount(delta - conversion),',
        '"delta": Amount(delta),',
        "the delta of the conversion spent twice",
        _FILTERS,
    ),
    Mutant(
        "ledger/budgets.py",
        "own = (delta - conversion) / (1 - conversion)",
        "own = delta",
        "the delta of a budget of mu spent twice",
        _FILTERS,
    ),
    Mutant(
        "ledger/sum_filters.py",
        'None if mu is None else {"mu squared": Amount(mu**2), "delta": Amount(terms.delta)}',
        'None if mu is None else {"mu squared": Amount(mu**2), "delta": ZERO}',
        "a claim's own delta not charged beside its mu",
        _FILTERS,
    ),
    Mutant(
        "ledger/declared.py",
        "if one.compare]",
        'if one.compare and "sensitivity" not in one.name]',
        "declared items of other sensitivities taken for the same",
        _DECLARED,
    ),
    Mutant(
        "claims/curves/profile.py",
        "upper = self.log_delta_bounds(epsilon).upper",
        "upper = self.log_delta_bounds(epsilon).lower",
        "a claim that only the lower bound of a profile keeps",
        _LEDGER,
    ),
    Mutant(
        "claims/curves/profile.py",
        "else upper <= log_bounds(delta).lower",
        "else upper <= log_bounds(2 * delta).lower",
        "a claim with half the delta",
        _LEDGER,
    ),
)
