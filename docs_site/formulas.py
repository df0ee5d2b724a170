r"""Formulas of the pages, $...$ and $$...$$, as MathML: browsers typeset it without any script.

Markdown must not see a formula (it would read _ and * as emphasis), and what stands in code is
no formula. So each is replaced by a word before Markdown runs, and the word by MathML after it.
"""

from __future__ import annotations

import re
from importlib import import_module
from typing import NamedTuple

_PARTS = re.compile(
    r"(?P<fence>^(?P<indent> *)(?P<ticks>```+|~~~+).*?^(?P=indent)(?P=ticks)[ \t]*$)"
    r"|(?P<code>(?P<quote>`+)(?!`).+?(?<!`)(?P=quote)(?!`))"
    r"|\$\$(?P<display>.+?)\$\$"
    r"|(?<!\\)\$(?P<inline>[^$\s](?:[^$]*?[^$\s\\])?)\$(?!\d)",
    re.DOTALL | re.MULTILINE,
)
_WORD = "formula{}stands"


class Formula(NamedTuple):
    """A formula in LaTeX; ``is_display``: it has a line of its own."""

    latex: str
    is_display: bool

    def mathml(self) -> str:
        """Return the formula as a MathML element."""
        convert = import_module("latex2mathml.converter").convert
        # Spaces that end with a line break are one space.
        latex = " ".join(self.latex.split())
        return str(convert(latex, display="block" if self.is_display else "inline"))


def taken_out(markdown: str) -> tuple[str, list[Formula]]:
    r"""Return the text with a word in the place of each formula, and the formulas in order.

    >>> taken_out("Let $a_1 < b$, not `$HOME`.")
    ('Let formula0stands, not `$HOME`.', [Formula(latex='a_1 < b', is_display=False)])
    """
    formulas: list[Formula] = []

    def word(part: re.Match[str]) -> str:
        latex = part["display"] or part["inline"]
        if latex is None:
            return part[0]
        formulas.append(Formula(latex, part["display"] is not None))
        return _WORD.format(len(formulas) - 1)

    return _PARTS.sub(word, markdown), formulas


def put_back(html: str, formulas: list[Formula]) -> str:
    """Return the page with each formula in its place."""
    for number, formula in enumerate(formulas):
        html = html.replace(_WORD.format(number), formula.mathml())
    return html
