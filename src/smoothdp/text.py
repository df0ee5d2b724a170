"""Plain tables of two or more columns, and numbers that never round to the unsafe side."""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import (
    MAX_EMAX,
    MIN_EMIN,
    ROUND_CEILING,
    ROUND_FLOOR,
    Context,
    Decimal,
    localcontext,
)
from fractions import Fraction
from html import escape
from itertools import count

_SMALLEST, _LARGEST = -7, 15
"""Decimal exponents outside which zeros say nothing to a reader."""

SAMPLE_UNSEEN = (
    "Which records are in the sample must be random and stay unseen. A delta below 1/n is no pass "
    "mark by itself: choose it for what is at stake."
)
"""What holds of every sample that is published without noise."""


def table(rows: Sequence[Sequence[str]], *, header: Sequence[str] | None = None) -> str:
    """Return rows aligned in columns, two spaces apart."""
    every = [header, *rows] if header else list(rows)
    widths = [max(len(row[i]) for row in every) for i in range(len(every[0]))]
    lines = [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in every
    ]
    if header:
        lines.insert(1, "  ".join("-" * width for width in widths))
    return "\n".join(lines)


def upper_text(log_value: float, digits: int = 4) -> str:
    """Return e^log_value as text with a few digits, rounded up, at any depth.

    >>> upper_text(math.log(0.12341))
    '0.1235'
    >>> upper_text(-20000.0)
    '1.290e-8686'
    """
    if log_value == -math.inf:
        return "0"
    if log_value >= 0.0:
        return "1"
    context = Context(prec=digits, rounding=ROUND_CEILING, Emin=MIN_EMIN, Emax=MAX_EMAX)
    wide = Context(prec=40, Emin=MIN_EMIN, Emax=MAX_EMAX)
    # 40 digits of the exponential of a float: its own error cannot reach the last digit
    # that is printed, except upwards by the ceiling.
    value = context.plus(wide.exp(Decimal(log_value)))
    if value >= Decimal("0.0001"):
        return f"{value.normalize():f}"
    return f"{value:.{digits - 1}e}"


def ratio_up(value: Fraction, digits: int = 4) -> str:
    """Return a number in [0, 1] as text with a few digits, rounded up, at any depth.

    >>> ratio_up(Fraction(1, 10**6)), ratio_up(Fraction(1, 3)), ratio_up(Fraction(1, 3 * 10**400))
    ('1e-6', '0.3334', '3.334e-401')
    """
    context = Context(prec=digits, rounding=ROUND_CEILING, Emin=MIN_EMIN, Emax=MAX_EMAX)
    number = context.divide(Decimal(value.numerator), Decimal(value.denominator))
    if number == 0 or number >= Decimal("0.0001"):
        return f"{number.normalize(context):f}"
    return f"{number.normalize(context):e}"


def number_up(value: float | Fraction, digits: int = 4) -> str:
    """Return a number as text with a few digits, rounded up.

    >>> number_up(0.30001), number_up(Fraction(3, 10))
    ('0.3001', '0.3')
    >>> number_up(3.54321e-69), number_up(1e300)
    ('3.544e-69', '1e+300')
    """
    return _rounded(value, digits, ROUND_CEILING)


def estimate_text(value: float, error: float, digits: int = 6) -> tuple[str, Fraction]:
    """Return an estimate as text with digits enough for its error, and how far it was rounded.

    The last digit is worth a hundredth of the error at most, unless the float has no more. The
    error that is printed beside it must be larger by the second figure.

    >>> estimate_text(1000004.5123456, 0.04)[0]
    '1000004.5123'
    >>> estimate_text(2.0, 0.5), estimate_text(1e16, 2)
    (('2', Fraction(0, 1)), ('10000000000000000', Fraction(0, 1)))
    """
    if not math.isfinite(value):
        return str(value), Fraction(0)
    if value and 0.0 < error < math.inf:
        # Of both, how many digits before the last that is wanted.
        above = math.floor(math.log10(abs(value))) - math.floor(math.log10(error))
        digits = min(max(digits, above + 3), 17)
    number = Context(prec=digits).create_decimal(Decimal(repr(value)))
    short = number.normalize()
    text = f"{short:f}" if _SMALLEST <= short.adjusted() <= _LARGEST + 1 else f"{short:e}"
    return text, abs(Fraction(text) - Fraction(value))


def number_down(value: float | Fraction, digits: int = 4) -> str:
    """Return a number as text with a few digits, rounded down.

    >>> number_down(0.30009), number_down(-0.30001), number_down(Fraction(1, 10**6))
    ('0.3', '-0.3001', '0.000001')
    """
    return _rounded(value, digits, ROUND_FLOOR)


def _rounded(value: float | Fraction, digits: int, rounding: str) -> str:
    context = Context(prec=digits, rounding=rounding)
    if isinstance(value, Fraction):
        number = context.divide(Decimal(value.numerator), Decimal(value.denominator))
    elif math.isfinite(value):
        # The shortest decimal is what a float parameter means.
        number = context.create_decimal(repr(value))
    else:
        return str(value)
    short = number.normalize()
    return f"{short:f}" if _SMALLEST <= short.adjusted() <= _LARGEST else f"{short:e}"


def lesser(*bounds: str) -> str:
    """Return the least of several upper bounds, each text that begins with a number.

    >>> lesser("0.90000001", "0.9")
    '0.9'
    """
    return min(bounds, key=lambda text: Decimal(text.split()[0]))


def whole_text(value: int) -> str:
    """Return a whole number >= 0, all its digits or, beyond fifteen, about which power of ten.

    >>> whole_text(1771), whole_text(256**100)
    ('1771', 'about 1e240')
    """
    if value < 10**_LARGEST:
        return str(value)
    # Python refuses to print integers of more than 4,300 digits.
    return f"about 1e{math.floor(math.log10(value))}"


def rate_text(n_draws: int, n_records: int) -> str:
    """Return the shortest decimal that, given as a rate, draws so many and no more.

    >>> rate_text(336616, 336776)
    '0.999524'
    """
    for digits in count(1):
        places = n_draws * 10**digits // n_records
        if -(-places * n_records // 10**digits) == n_draws:
            return f"{Decimal(places).scaleb(-digits):f}"
    raise AssertionError


def rate_float(rate: Fraction) -> float:
    """Return a rate T/n as a float that, given as a rate, draws no more than T.

    Rounded down to 15 digits, which every float keeps: the nearest float may be above T/n, and
    T = ceil(rate n) is one more then.

    >>> float(Fraction(2, 300)), rate_float(Fraction(2, 300))
    (0.006666666666666667, 0.00666666666666666)
    """
    return float(number_down(rate, 15))


def log10_up(log_value: float) -> str:
    """Return log10 of e^log_value with three decimals, rounded up.

    >>> log10_up(-1.0), log10_up(-20000.0), log10_up(-math.inf)
    ('-0.434', '-8685.889', '-inf')
    """
    if not math.isfinite(log_value):
        return str(log_value)
    with localcontext(prec=40):
        exact = Decimal(log_value) / Decimal(10).ln()
        return f"{exact.quantize(Decimal('0.001'), rounding=ROUND_CEILING)}"


def percent_text(share: float | Fraction) -> str:
    """Return a probability in percent, all its digits: 0.9999999 is not 100%.

    >>> percent_text(0.95), percent_text(0.999999999)
    ('95%', '99.9999999%')
    """
    digits = 15 if share in (0, 1) or f"{100 * float(share):.15g}" != "100" else 17
    return f"{100 * float(share):.{digits}g}%"


def share_text(share: Fraction) -> str:
    """Return a share in percent, rounded up to a tenth of it.

    >>> share_text(Fraction(1, 3)), share_text(Fraction(1, 10**9)), share_text(Fraction(1))
    ('33.4%', '0.1%', '100%')
    """
    return percent_text(Fraction(-(-share * 1000 // 1), 1000))


def html_card(title: str, rows: Sequence[tuple[str, str]], *, note: str = "") -> str:
    """Return a small table of names and values as HTML, for notebooks; every text is escaped.

    >>> html_card("a < b", [("value", "3")])
    '<table><caption>a &lt; b</caption><tbody><tr><th>value</th><td>3</td></tr></tbody></table>'
    """
    cells = "".join(
        f"<tr><th>{escape(name)}</th><td>{escape(text)}</td></tr>" for name, text in rows
    )
    below = f"<p>{escape(note)}</p>" if note else ""
    return f"<table><caption>{escape(title)}</caption><tbody>{cells}</tbody></table>{below}"
