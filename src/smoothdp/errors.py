"""The exception tree, and the one sentence that every error uses.

SmoothdpError
├── InvalidParameter   a parameter outside its domain          (also a ValueError)
├── InvalidData        data that a function cannot take        (also a ValueError)
├── IncompatibleClaims two claims that may not be combined     (also a ValueError)
├── OutOfReach         correct but too large to compute        (also a RuntimeError)
├── Contradiction      two ways to a figure disagree: our fault (also an ArithmeticError)
├── BudgetExceeded     a charge that would pass a budget       (also a RuntimeError)
├── DoesNotConform     a class that is not what it claims      (also an AssertionError)
├── LedgerError        a ledger that cannot be read or written (also a RuntimeError)
└── MissingExtra       an optional dependency is not installed (also an ImportError)

PrivacyWarning         the call succeeds, but says less than its user may think
"""

from __future__ import annotations

from typing import Any, NamedTuple, TypeVar

__all__ = [
    "BudgetExceeded",
    "Contradiction",
    "DoesNotConform",
    "Explanation",
    "IncompatibleClaims",
    "InvalidData",
    "InvalidParameter",
    "LedgerError",
    "MissingExtra",
    "OutOfReach",
    "PrivacyWarning",
    "SmoothdpError",
]

Kind = TypeVar("Kind", bound="SmoothdpError")


class Explanation(NamedTuple):
    """The three parts of the sentence that every error and warning says.

    Example:
        >>> print(Explanation("epsilon > 0", -1, "Raise epsilon"))
        Expected epsilon > 0; got -1. Raise epsilon.
    """

    expected: str
    got: object
    remedy: str

    def __str__(self) -> str:
        end = "" if self.remedy.endswith("?") else "."
        return f"Expected {self.expected}; got {self.got}. {self.remedy.rstrip('.')}{end}"


class SmoothdpError(Exception):
    """Base of every error that smoothdp raises on purpose.

    Parameters:
        expected: what would have been right.
        got: what there was instead; never a value of private data.
        remedy: what to do, a sentence.

    The three are attributes, and the text is one sentence made of them.

    Example:
        >>> raise InvalidParameter(expected="epsilon > 0", got="epsilon=-1", remedy="Raise it")
        Traceback (most recent call last):
        smoothdp.errors.InvalidParameter: Expected epsilon > 0; got epsilon=-1. Raise it.
    """

    def __init__(self, *, expected: str, got: object, remedy: str) -> None:
        self.expected, self.got, self.remedy = expected, str(got), remedy
        super().__init__(str(Explanation(expected, got, remedy)))

    def about(self: Kind, what: str) -> Kind:
        """Return the same error, saying what it is about unless it says so already.

        Example:
            >>> error = InvalidParameter(expected="bounds", got="none", remedy="Add them")
            >>> str(error.about("[statistics.pay]"))
            'Expected bounds (in [statistics.pay]); got none. Add them.'
        """
        expected = self.expected if what in str(self) else f"{self.expected} (in {what})"
        return type(self)(expected=expected, got=self.got, remedy=self.remedy)

    @property
    def explanation(self) -> Explanation:
        """The three parts."""
        return Explanation(self.expected, self.got, self.remedy)

    def said_as(self, kind: type[Kind]) -> Kind:
        """Return the same sentence as an error of another kind."""
        return kind(**self.explanation._asdict())

    def __reduce__(self) -> tuple[Any, ...]:
        # The arguments of an exception are its text, which is no argument of __init__.
        return _made_again, (type(self), self.args), self.__dict__


def _made_again(kind: type[Kind], args: tuple[Any, ...]) -> Kind:
    return kind.__new__(kind, *args)


class InvalidParameter(SmoothdpError, ValueError):
    """A parameter is outside its domain."""


class InvalidData(SmoothdpError, ValueError):
    """The data cannot be taken as they are."""


class IncompatibleClaims(SmoothdpError, ValueError):
    """Two privacy claims cannot be combined or compared."""


class OutOfReach(SmoothdpError, RuntimeError):
    """The answer exists but is too large to compute here."""


class Contradiction(SmoothdpError, ArithmeticError):
    """Two ways to one figure contradict each other: a fault of the library, not of the caller."""


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
            expected=f"the optional dependencies for {task}",
            got="none installed",
            remedy=f'Run: pip install "smoothdp[{extra}]"',
        )


class PrivacyWarning(UserWarning):
    """The result is right, but weaker than it may look."""
