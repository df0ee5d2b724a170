"""Any statistic of any data whose smooth sensitivity the caller provides (papers 2 and 4)."""

from __future__ import annotations

import inspect
import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from numbers import Rational
from typing import Any, ClassVar

import numpy as np

from smoothdp.claims.neighbours import Neighbours, read_neighbours
from smoothdp.claims.sealed import Sealed
from smoothdp.errors import InvalidData, InvalidParameter
from smoothdp.exact.parameters.numbers import Parameter, exact_fraction, exact_text, float_bounds
from smoothdp.queries.read_arguments import read_bounds
from smoothdp.queries.statistic import PrivateSummary, Statistic
from smoothdp.sources import Source

_MOST_ROUNDING = Fraction(1, 100)


@dataclass(frozen=True, init=False, eq=False, repr=False)
class Custom(Statistic):
    """A statistic f with a smooth upper bound S of its sensitivity, both given as functions.

    The caller, or whoever ``proof`` names, vouches for two facts about ``log_smooth_sensitivity``
    at every database x and every smoothing t, which no program can check:

        |f(x) - f(y)| <= S(x)  and  |ln S(x) - ln S(y)| <= t  for all neighbours y of x.

    Then f(x) + (S(x) / s) Z keeps the guarantee for which s is calibrated, and is released by
    the same exact sampler as every other statistic. A sum of smooth bounds is a smooth bound,
    and so is their maximum; max over k of e^(-kt) LS_k is the least one.

    Rounding is taken care of in S: if what ``log_smooth_sensitivity`` returns is within r =
    ``rounding`` of such a function, then asking it at t - 2r and adding r leaves both facts true
    at t. In f it is not: the differences of what ``value`` returns count, so return whole numbers
    or fractions, or let S have room for the rounding.

    What the functions return is sealed before anything is done with it; the errors that they
    raise are replaced by one that says nothing of the data, and their warnings are dropped.
    Whether they fail is not hidden: a ledger is charged before they are asked, for a refusal
    tells something too. Let them return a number for all data.

    Source: paper 2, Definition 14; paper 4, section 2.

    Args:
        value: called with the data, returns a whole number, a fraction or a float (which means
            its exact binary value). It is clamped to the bounds, which widens no difference.
        log_smooth_sensitivity: called with the data and the smoothing, a float below that of the
            release (by the name ``smoothing`` if the function takes one positional argument);
            returns ln S, finite.
        bounds: (a, b), a < b, fixed without looking at the data.
        neighbours: "replace_one" or "add_remove": which databases the two facts are about.
        unit: what is replaced, added or removed: "one record", "one edge".
        proof: who vouches for the two facts: an article, a page, a person. It is said in the
            release.
        name: what the statistic is called in words; None: the name of the function.
        rounding: r, from 0 to 1/100: how far ln S may be off.

    Raises:
        InvalidParameter: an argument outside these domains.

    >>> import math
    >>> count = Custom(
    ...     value=len, log_smooth_sensitivity=lambda rows, smoothing: 0.0, bounds=(0, 10**6),
    ...     neighbours="add_remove", proof="a count moves by one", name="number of rows",
    ... )
    >>> count.describe()  # doctest: +ELLIPSIS
    'number of rows, clamped to [0, 1e+06] (sensitivity of one record vouched for: a count ...)'
    """

    source: ClassVar[Source] = Source("bun-steinke-averages", "Definition 14")
    value: Callable[[Any], Any]
    log_smooth_sensitivity: Callable[..., Any]
    neighbours: Neighbours
    unit: str
    proof: str
    name: str
    rounding: Fraction

    def __init__(
        self,
        *,
        value: Callable[[Any], Any],
        log_smooth_sensitivity: Callable[..., Any],
        bounds: object,
        neighbours: Neighbours | str = Neighbours.REPLACE_ONE,
        unit: str = "one record",
        proof: str,
        name: str | None = None,
        rounding: Parameter = "1e-9",
    ) -> None:
        for label, function in (
            ("value", value),
            ("log_smooth_sensitivity", log_smooth_sensitivity),
        ):
            if not callable(function):
                raise InvalidParameter(
                    expected=f"{label} as a function",
                    got=f"{label}={function!r}",
                    remedy=f"Give a function as {label}",
                )
        slack = exact_fraction(rounding, name="rounding")
        if not 0 <= slack <= _MOST_ROUNDING:
            raise InvalidParameter(
                expected="rounding between 0 and 0.01",
                got=f"rounding={rounding}",
                remedy="Give a smaller rounding, such as 1e-9",
            )
        label_of_value = getattr(value, "__name__", "<lambda>") if name is None else name
        fields = {
            "value": value,
            "log_smooth_sensitivity": log_smooth_sensitivity,
            "bounds": read_bounds(bounds),
            "neighbours": read_neighbours(neighbours),
            "unit": _read_words("unit", unit, "one edge"),
            "proof": _read_words("proof", proof, "Nissim et al. 2007, Claim 3.13"),
            "name": _read_words(
                "name", "statistic" if label_of_value == "<lambda>" else label_of_value, "triangles"
            ),
            "rounding": slack,
        }
        for field, content in fields.items():
            object.__setattr__(self, field, content)

    def __repr__(self) -> str:
        # Functions may hold data, and show them.
        return f"Custom(name={self.name!r}, unit={self.unit!r}, proof={self.proof!r})"

    def describe(self) -> str:
        low, high = (f"{float(bound):.6g}" for bound in self.bounds)
        return (
            f"{self.name}, clamped to [{low}, {high}] (sensitivity of {self.unit} vouched for: "
            f"{self.proof})"
        )

    def relation(self) -> Neighbours:
        return self.neighbours

    def record(self) -> str:
        return self.unit

    def read(self, data: object) -> object:
        return data

    def size(self, data: object) -> None:
        """Return None: what the data are, and how many, is the functions' business."""
        del data

    def check_size(self, n_records: int | None) -> None:
        if n_records is not None:
            raise InvalidParameter(
                expected=f"no number of records for the {self.name}, which may not be public",
                got=f"n_records={n_records}",
                remedy="Give n_records=None",
            )

    def fixed_sensitivity(self, n_records: int | None) -> None:
        """Return None: S may depend on the data."""
        del n_records

    def log_least_sensitivity(self, smoothing: Fraction, n_records: int | None) -> None:
        """Return None: no lower bound of S is known."""
        del smoothing, n_records

    def private_summary(self, data: object, *, smoothing: Fraction) -> PrivateSummary:
        """Return what the functions say of private data: sealed, for a sampler.

        Raises:
            InvalidParameter: a smoothing that leaves no room for the rounding.
            InvalidData: a function fails or returns no finite number; nothing more is said.
        """
        below = smoothing - 2 * self.rounding
        if below <= 0:
            raise InvalidParameter(
                expected=f"smoothing above twice rounding={exact_text(self.rounding)}",
                got=f"smoothing={exact_text(smoothing)}",
                remedy="Raise smoothing, or lower rounding",
            )
        lower, upper = self.bounds
        value = _number(self.value, data)
        rate = float_bounds(below)[0]
        if _takes_two(self.log_smooth_sensitivity):
            log_s = _number(self.log_smooth_sensitivity, data, rate)
        else:
            log_s = _number(self.log_smooth_sensitivity, data, smoothing=rate)
        if value is None or log_s is None:
            raise InvalidData(
                expected=f"the functions of the {self.name} to return one finite number each",
                got="something else, or an error",
                remedy="Try them on public data: what they say of private data is not shown",
            )
        clamped = min(max(value, lower), upper)
        # S = 1 e^-u with u = -(ln S + r).
        return PrivateSummary(
            None, Sealed(clamped), Sealed((Fraction(1), -(log_s + self.rounding)))
        )


def _number(function: Callable[..., Any], *arguments: object, **named: object) -> Fraction | None:
    """Return what a function says, exactly; None if that is no finite number, or an error.

    An error is dropped here, with its text and its frames, so that nothing carries it on; so
    are warnings, which say of the data whatever they are about.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            result = function(*arguments, **named)
            if isinstance(result, np.generic):
                result = result.item()
            if isinstance(result, bool) or not isinstance(result, int | float | Rational):
                return None
            if isinstance(result, float) and not math.isfinite(result):
                return None
            return Fraction(result)
        except KeyboardInterrupt:
            interrupted = True
        except BaseException:
            # SystemExit too: its text would leave.
            interrupted = False
    if interrupted:
        raise KeyboardInterrupt
    return None


def _takes_two(function: Callable[..., Any]) -> bool:
    """Whether a function takes data and smoothing by position; else smoothing goes by its name."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return True
    try:
        signature.bind(None, 0.0)
    except TypeError:
        return False
    return True


def _read_words(label: str, text: object, example: str) -> str:
    if isinstance(text, str) and text.strip() and len(text) <= 500:
        return text.strip()
    raise InvalidParameter(
        expected=f"{label} in words",
        got=f"{label}={text!r}",
        remedy=f'Give something such as "{example}"',
    )
