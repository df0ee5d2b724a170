"""A released table as a picture, a page of HTML, and in a notebook: of what is published alone."""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Decimal, localcontext
from html import escape
from textwrap import fill
from typing import Any

from smoothdp.errors import InvalidParameter
from smoothdp.plots import plot_groups
from smoothdp.report.html.page import HtmlReport, Section
from smoothdp.report.html.plan import reach_of
from smoothdp.report.html.shared_sections import citation_section, curves_section, promise_section
from smoothdp.tables.facts import TableFacts, person_words, promise_words
from smoothdp.tables.grouping import Key
from smoothdp.text import percent_text, table as text_table

_ROWS_OF_PAGE = 1000
_ROWS_OF_NOTEBOOK = 50
_MOST_DRAWN = 40
_DIGITS, _DIGITS_OF_BARS = (5, 10), 2
"""Of values without an interval and with one; of half the interval."""
_DIGITS_OF_FLOATS = 1200
_LABEL_WIDTH = 80


def key_words(key: Key) -> str:
    """Return a key on one line.

    >>> key_words(("N", 2026))
    'N, 2026'
    """
    return ", ".join(" ".join(str(label).split()) for label in key)


def value_text(value: object) -> str:
    """Return a number as text: five digits of a float; nothing where nothing is.

    >>> value_text(1234.56789012345), value_text(7), value_text(None)
    ('1234.6', '7', '')
    """
    if value is None:
        return ""
    return f"{value:.{_DIGITS[0]}g}" if isinstance(value, float) else str(value)


def shown_rows(table: TableFacts) -> list[tuple[str, ...]]:
    """Return the table as texts: floats with few digits, the ends of intervals rounded outward."""
    texts = {name: [*map(value_text, values)] for name, values in table.columns().items()}
    for name in table.statistics:
        places = decimals(table, name)
        ends = {name: ROUND_HALF_EVEN, f"{name} low": ROUND_FLOOR, f"{name} high": ROUND_CEILING}
        for column, values in table.value_columns().items():
            if column in ends and places is not None:
                texts[column] = [number_text(one, places, ends[column]) for one in values]
    return list(zip(*texts.values(), strict=True))


def number_text(value: object, places: int, rounding: str = ROUND_HALF_EVEN) -> str:
    """Return a cell as text; of a float so many places after the point, below 0 before it.

    >>> number_text(435.1847, 1), number_text(18437.2, -2), number_text(7, 1)
    ('435.2', '18400', '7')
    >>> number_text(435.1847, 1, ROUND_FLOOR)
    '435.1'
    """
    if not isinstance(value, float) or not math.isfinite(value):
        return value_text(value)
    with localcontext(prec=_DIGITS_OF_FLOATS):
        return f"{Decimal(value).quantize(Decimal(1).scaleb(-places), rounding=rounding):f}"


def decimals(table: TableFacts, name: str) -> int | None:
    """Return how many places after the point a statistic is shown with.

    Two digits of half the shortest interval, and no more than ten of the largest value; without
    intervals five of that. It follows from what is released. None: nothing to go by.
    """
    cells = [row[name] for row in table.groups.values()]
    halves = [(cell.interval[1] - cell.interval[0]) / 2 for cell in cells if cell.interval]
    lengths = [half for half in halves if 0 < half < math.inf]
    sizes = [abs(cell.value) for cell in cells if cell.value]
    most = [digits - 1 - math.floor(math.log10(max(sizes))) for digits in _DIGITS if sizes]
    if lengths:
        most = [_DIGITS_OF_BARS - 1 - math.floor(math.log10(min(lengths))), *most[1:]]
    places = min(most, default=None)
    shown = [end for cell in cells for end in (cell.value, *(cell.interval or ()))]
    # Of values on a grid such as .1 no more than the grid has.
    while places and places > 0 and all(round(one, places - 1) == one for one in shown):
        places -= 1
    return places


def digits_words(table: TableFacts) -> list[str]:
    """Return what is left out of the digits, if there are floats; else nothing."""
    cells = [cell for row in table.groups.values() for cell in row.values()]
    if not any(isinstance(cell.value, float) for cell in cells):
        return []
    bars = f"{_DIGITS_OF_BARS} digits of half an interval, ends rounded outward"
    whole = f"{_DIGITS[0]} digits of the largest value"
    how = f"{bars}, or {whole} where there is none" if table.confidences else whole
    return [
        f"shown with {how}; all digits are in JSON, CSV and to_frame(), and round_to = 1 releases "
        "whole numbers"
    ]


def _said(table: TableFacts) -> list[str]:
    """Return what is to be known of the values, below them."""
    marks = [f"{list(table.columns())[-1]}: {table.marks}"] if table.marks else []
    return [*table.bars_words(), *marks, *digits_words(table)]


def draw_table(table: TableFacts, name: str | None, *, most: int = _MOST_DRAWN) -> Any:
    """Return a picture of one statistic, by group: matplotlib axes.

    Raises:
        InvalidParameter: no such statistic, or nothing was released.
        MissingExtra: matplotlib is not installed.
    """
    names = [one for one in table.statistics if one != "n"] or list(table.statistics)
    chosen = name if name is not None else "".join(names[:1])
    if chosen not in table.statistics or not table.groups:
        raise InvalidParameter(
            expected=f"one of {', '.join(map(repr, table.statistics)) or 'the statistics'}, of at "
            "least one group",
            got=f"{name!r}",
            remedy="Name what the table has",
        )
    cells = [row[chosen] for row in table.groups.values()]
    confidence = table.confidences.get(chosen)
    bars = "" if confidence is None else f", bars {percent_text(confidence)}"
    return plot_groups(
        [key_words(key) for key in table.groups],
        [float(cell.value) for cell in cells],
        intervals=[cell.interval for cell in cells],
        title=f"{chosen} by {' and '.join(table.by)}, with noise{bars}",
        x_label=fill(f"{chosen}: {table.statistics[chosen]}", _LABEL_WIDTH),
        most=most,
    )


def table_page(table: TableFacts, *, command: str = "") -> HtmlReport:
    """Return the page about a table: what is published, what it promises, what was spent on what.

    Raises:
        MissingExtra: matplotlib is not installed.
    """
    groups = table.selection or f"{len(table.groups)} public ones"
    name = "Released table" if table.label is None else table.label.name
    rows = [
        ("groups", f"{groups}, by {' and '.join(table.by)}"),
        *([("rows", table.rows)] if table.rows else []),
        *([("persons", person_words(table.person))] if table.person is not None else []),
        *[(what, words) for what, words in table.statistics.items()],
        *_label_rows(table),
        ("made by", f"smoothdp {table.library_version}"),
    ]
    sections = [Section("What was asked").table(rows, caption="Fixed before the data were read.")]
    person = table.person
    about = "" if person is None else promise_words(table.guarantee, person)
    promise = promise_section(table.guarantee, about_person=about)
    if not table.is_private:
        promise.text(table.sentence(), kind="caution")
    sections += [promise, _values(table)]
    if table.groups and table.statistics:
        sections.append(_pictures(table))
    sections += [_spent(table), _curves(table)]
    if command:
        sections.append(
            Section("How it was made")
            .text(
                "By the command below. The noise came from the operating system and was kept "
                "nowhere: run again, it writes another table, and costs as much again."
            )
            .code(command)
        )
    sections.append(citation_section([*table.sources, table.guarantee.source]))
    return HtmlReport(
        title=name,
        lead=f"By {' and '.join(table.by)}: {', '.join(table.statistics)}, with noise.",
        sections=tuple(sections),
        is_repeatable=False,
        summary={"groups": len(table.groups), "guarantee": table.sentence()},
    )


def table_text(table: TableFacts) -> str:
    """Return a table as lines."""
    columns, rows = table.columns(), shown_rows(table)
    said = [f"{name}: {words}; with noise" for name, words in table.statistics.items()]
    parts = [
        *([table.label.words()] if table.label is not None else []),
        text_table(rows, header=list(columns)) if rows else "no groups",
        "\n".join(
            [
                *said,
                *_said(table),
                *([f"of {table.rows}"] if table.rows else []),
                *([f"groups: {table.selection}"] if table.selection else []),
            ]
        ),
        table.sentence(),
    ]
    return "\n\n".join(parts)


def notebook_view(table: TableFacts) -> str:
    """Return the first rows and the promise as HTML; every text is escaped."""
    columns, rows = table.columns(), shown_rows(table)
    head = "".join(f"<th>{escape(str(name))}</th>" for name in columns)
    body = "".join(
        "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>"
        for row in rows[:_ROWS_OF_NOTEBOOK]
    )
    more = len(rows) - _ROWS_OF_NOTEBOOK
    left = f"<p>and {more} more rows</p>" if more > 0 else ""
    said = "".join(f"<p>{escape(words)}</p>" for words in _said(table))
    title = "table" if table.label is None else table.label.words()
    return (
        f"<table><caption>{escape(title)}</caption><thead><tr>{head}</tr></thead>"
        f"<tbody>{body}</tbody></table>{left}{said}<p>{escape(table.sentence())}</p>"
    )


def _label_rows(table: TableFacts) -> list[tuple[str, str]]:
    fields = {} if table.label is None else table.label.to_dict()
    return [(name, text) for name, text in fields.items() if name != "name"]


def _values(table: TableFacts) -> Section:
    columns, rows = table.columns(), shown_rows(table)
    caption = "The values, each with noise."
    if table.selection:
        caption += f" That {len(table.groups)} groups are shown is an output too, with noise."
    if table.confidences:
        caption += (
            " Low and high are the ends of an interval that covers what is said below, each by "
            "itself, with the probability that stands there."
        )
    if len(rows) > _ROWS_OF_PAGE:
        caption += f" The first {_ROWS_OF_PAGE} of {len(rows)} rows; the JSON has all."
    section = Section("What is published")
    section.table(rows[:_ROWS_OF_PAGE], caption=caption, header=list(columns))
    for words in _said(table):
        section.text(f"{words}.")
    return section


def _pictures(table: TableFacts) -> Section:
    section = Section("Pictures")
    for place, name in enumerate(table.statistics):
        cells = [row[name] for row in table.groups.values()]
        low, high = (end(float(cell.value) for cell in cells) for end in (min, max))
        words = f"{name}, from {value_text(low)} to {value_text(high)}, the largest on top"
        section.picture(
            draw_table(table, name),
            alt=f"Dots, one for each group: {words}.",
            caption=f"By group: {words}; the table above has every number.",
            name=f"groups{_letters(place)}",
        )
    return section


def _letters(number: int) -> str:
    return chr(ord("a") + number % 26) * (1 + number // 26)


def _spent(table: TableFacts) -> Section:
    rows = [(name, repr(part)) for name, part in table.spent.items()]
    section = Section("What was spent on what")
    header = ("for", f"what one {table.unit} gives")
    if table.person is not None:
        return section.table(
            rows, header=header, caption="Over all groups in which rows of the person are kept."
        )
    return section.table(rows, header=header, caption="Of one group.").text(
        "A row is in one group at most: what is spent on the other groups does not add to it."
    )


def _curves(table: TableFacts) -> Section:
    return curves_section(
        {"the guarantee": table.guarantee},
        table.guarantee.profile(),
        largest_epsilon=reach_of(table.guarantee),
        note="It is what follows from the guarantee; the noise itself may be a little better.",
    )
