"""The exception tree, and the one sentence that every error uses.

SmoothdpError
├── InvalidParameter   a parameter outside its domain          (also a ValueError)
├── InvalidData        data that a function cannot take        (also a ValueError)
├── IncompatibleClaims two claims that may not be combined     (also a ValueError)
├── OutOfReach         correct but too large to compute        (also a RuntimeError)
├── BudgetExceeded     a charge that would pass a budget       (also a RuntimeError)
├── DoesNotConform     a class that is not what it claims      (also an AssertionError)
├── LedgerError        a ledger that cannot be read or written (also a RuntimeError)
└── MissingExtra       an optional dependency is not installed (also an ImportError)

PrivacyWarning         the call succeeds, but says less than its user may think
"""

from __future__ import annotations


class SmoothdpError(Exception):
    """Base of every error that smoothdp raises on purpose."""


class InvalidParameter(SmoothdpError, ValueError):
    """A parameter is outside its domain."""


class InvalidData(SmoothdpError, ValueError):
    """The data cannot be taken as they are."""


class IncompatibleClaims(SmoothdpError, ValueError):
    """Two privacy claims cannot be combined or compared."""


class OutOfReach(SmoothdpError, RuntimeError):
    """The answer exists but is too large to compute here."""


class BudgetExceeded(SmoothdpError, RuntimeError):
    """A charge would pass the budget: nothing was charged, and nothing may be released."""


class LedgerError(SmoothdpError, RuntimeError):
    """A ledger cannot be read or written as it should: nothing may be released."""


class DoesNotConform(SmoothdpError, AssertionError):
    """A check of `smoothdp.testing` found that a class is not what it claims to be."""


class MissingExtra(SmoothdpError, ImportError):
    """An optional dependency is needed and is not installed."""

    def __init__(self, task: str, extra: str) -> None:
        super().__init__(
            f"Expected the optional dependencies for {task}; got none installed. "
            f'Run: pip install "smoothdp[{extra}]"'
        )


class PrivacyWarning(UserWarning):
    """The result is right, but weaker than it may look."""


def explain(expected: str, got: object, remedy: str) -> str:
    """Return the house sentence: ``Expected <expected>; got <got>. <remedy>.``"""
    return f"Expected {expected}; got {got}. {remedy.rstrip('.')}."
