"""The report about a release: the published value, and what it promises."""

from __future__ import annotations

import json
from collections.abc import Mapping
from fractions import Fraction
from itertools import pairwise
from typing import Any

from smoothdp.claims import Guarantee, guarantee_from_json
from smoothdp.claims.label import Label
from smoothdp.claims.terms import EpsilonTerms
from smoothdp.errors import InvalidData, SmoothdpError
from smoothdp.plots import plot_quantiles
from smoothdp.report.html.page import HtmlReport, Section
from smoothdp.report.html.plan import reach_of
from smoothdp.report.html.shared_sections import (
    citation_section,
    curves_section,
    promise_section,
    reproduce_section,
)
from smoothdp.sources import Source
from smoothdp.text import number_up, percent_text, upper_text

_NEEDED = ("value", "guarantee", "mechanism", "n_records")
_KNOWN = {
    *(*_NEEDED, "statistic", "claim", "interval", "confidence", "covers", "missing", "version"),
    "label",
    "levels",
}


def report_release(text: str, *, command: str = "smoothdp report") -> HtmlReport:
    """Return the page about what `smoothdp release --json` printed.

    The data are not read, and a file that holds more than the command prints, such as a
    sensitivity at the data, is refused.

    Args:
        text: the JSON.
        command: what the reader types to get the same page.

    Raises:
        InvalidData: other JSON.
        MissingExtra: matplotlib is not installed.

    >>> page = report_release(
    ...     '{"value": 3, "guarantee": "a sentence", "mechanism": "a median", "n_records": 9}'
    ... )
    >>> "a sentence" in page.html()
    True
    """
    fields = _read_fields(text)
    claim = _claim(fields)
    levels = fields.get("levels")
    rows = _values(fields) if levels else [("value", _number(fields["value"]))]
    if "statistic" in fields:
        rows.append(("which is, with noise", str(fields["statistic"])))
    if levels and "interval" in fields:
        sure = percent_text(float(fields["confidence"]))
        words = f"contain, with probability at least {sure}, {fields['covers']}"
        rows.append(("intervals", f"{words}; each is made before the values are sorted"))
    elif "interval" in fields:
        low, high = (_number(end) for end in fields["interval"])
        rows.append(("error bars", f"{low} to {high}: {_covers(fields)}"))
    rows += [
        ("records", "private" if fields["n_records"] is None else f"{fields['n_records']}, public"),
        ("mechanism", str(fields["mechanism"])),
        ("made by", f"smoothdp {fields.get('version', 'unknown')}"),
    ]
    label = Label.read(fields.get("label"))
    if label is not None:
        rows.append(("label", label.words()))
    if fields.get("missing"):
        rows.append(("missing values", str(fields["missing"])))
    sections = [Section("Inputs").table(rows, caption="What was published, and how.")]
    if levels:
        sections.append(_picture(fields))
    if claim is None:
        promise = Section("The guarantee in plain words")
        sections.append(promise.text(str(fields["guarantee"]), kind="promise"))
    else:
        sections += [
            promise_section(claim, n_records=_records(fields)),
            _curves(claim),
            _comparison(claim),
        ]
    sections += [
        reproduce_section(
            command,
            "import json\nfrom pathlib import Path\nimport smoothdp as sd\n"
            'fields = json.loads(Path("release.json").read_text())\n'
            'claim = sd.guarantee_from_json(json.dumps(fields["claim"]))\nclaim.profile()',
        ),
        citation_section(
            [Source("bun-steinke-averages", "sections 1.1 and 3")]
            + ([] if claim is None else [claim.source])
        ),
    ]
    sections[-2].text(
        "The value itself cannot be reproduced: its noise came from the operating system and was "
        "kept nowhere."
    )
    values = ", ".join(row[1] for row in rows[: len(levels or [0])])
    return HtmlReport(
        title="What this release tells, and what it does not",
        lead=f"{values}: {fields.get('statistic', fields['mechanism'])}.",
        sections=tuple(sections),
        summary={"value": fields["value"], "guarantee": str(fields["guarantee"])},
    )


def _values(fields: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return a row for each of several quantiles: value and interval."""
    intervals = fields.get("interval") or [None] * len(fields["levels"])
    rows = []
    for level, value, interval in zip(fields["levels"], fields["value"], intervals, strict=True):
        bars = "" if interval is None else f" ({_number(interval[0])} to {_number(interval[1])})"
        rows.append((f"quantile {level}", _number(value) + bars))
    return rows


def _picture(fields: Mapping[str, Any]) -> Section:
    """Return the distribution function through several quantiles, with their intervals."""
    pairs = fields.get("interval")
    axes = plot_quantiles(
        [float(Fraction(level)) for level in fields["levels"]],
        [float(value) for value in fields["value"]],
        title="What was released of the distribution",
        x_label="value",
        intervals=None if pairs is None else [(float(a), float(b)) for a, b in pairs],
    )
    values = ", ".join(
        f"{level}: {_number(value)}"
        for level, value in zip(fields["levels"], fields["value"], strict=True)
    )
    return Section("The quantiles").picture(
        axes,
        alt=f"Released quantiles by level, {values}",
        caption="Levels against released values, with their intervals; below, the quartiles. The "
        "line between two levels was not released.",
        name="quantiles",
    )


def _covers(fields: Mapping[str, Any]) -> str:
    """Return what the interval contains, and how surely; older files have it in two parts."""
    words = str(fields["covers"])
    if words.startswith("contains"):
        return words
    sure = percent_text(float(fields["confidence"]))
    sure = f"about {sure}" if "(nominal)" in words else f"at least {sure}"
    return f"contains, with probability {sure}, {words}"


def _curves(claim: Guarantee) -> Section:
    return curves_section(
        {"the guarantee": claim},
        claim.profile(),
        largest_epsilon=reach_of(claim),
        note="It is what follows from the guarantee; the noise itself may be a little better.",
    )


def _comparison(claim: Guarantee) -> Section:
    """Return the (epsilon, delta) pairs of ordinary DP that follow from the claim."""
    profile = claim.profile()
    rows = [
        (f"epsilon at delta = {delta}", number_up(profile.epsilon(delta)))
        for delta in ("1e-3", "1e-6", "1e-9")
    ]
    rows += [
        (f"delta at epsilon = {epsilon}", upper_text(profile.log_delta(epsilon)))
        for epsilon in ("1/2", "1", "2")
    ]
    section = Section("Beside ordinary DP and the bounds of the papers")
    section.table(
        rows,
        header=("as ordinary (epsilon, delta)-DP", "at most"),
        caption="What the guarantee says as ordinary differential privacy, rounded up.",
    )
    if isinstance(claim.terms(), EpsilonTerms):
        section.text("The guarantee is ordinary differential privacy: it holds for every data set.")
    return section.text(
        "Scales by the papers' theorems, and by exact calibration, are compared by "
        "smoothdp noise and in the report of a plan."
    )


def _read_fields(text: str) -> dict[str, Any]:
    try:
        fields = json.loads(text)
    except (TypeError, ValueError, RecursionError) as error:
        raise _refused(f"text that is not JSON ({error})") from None
    if not isinstance(fields, dict) or not all(name in fields for name in _NEEDED):
        raise _refused("JSON without " + ", ".join(_NEEDED))
    if more := sorted(set(fields) - _KNOWN):
        raise _refused(f"unknown fields {', '.join(more)}")
    if "levels" in fields:
        _check_several(fields)
        return fields
    if isinstance(fields["value"], bool) or not isinstance(fields["value"], int | float):
        raise _refused("a value that is no number")
    if "interval" in fields and (
        not isinstance(fields["interval"], list)
        or len(fields["interval"]) != 2
        or not {"confidence", "covers"} <= set(fields)
    ):
        raise _refused("an interval without two ends, confidence and what it covers")
    return fields


def _check_several(fields: Mapping[str, Any]) -> None:
    """Refuse several quantiles whose levels, values and intervals are not as many as each other."""
    levels, values = fields["levels"], fields["value"]
    intervals = fields.get("interval")
    parts = [levels, values, *([] if intervals is None else [intervals])]
    if not levels or not all(isinstance(p, list) and len(p) == len(levels) for p in parts):
        raise _refused("levels, values and intervals that are not lists of one length")
    if not _rise(levels):
        raise _refused("levels that do not rise between 0 and 1")
    if any(isinstance(v, bool) or not isinstance(v, int | float) for v in values):
        raise _refused("a value that is no number")
    if intervals is not None and (
        not all(isinstance(pair, list) and len(pair) == 2 for pair in intervals)
        or not {"confidence", "covers"} <= set(fields)
    ):
        raise _refused("an interval without two ends, confidence and what it covers")


def _rise(levels: list[object]) -> bool:
    """Whether levels are numbers as text, increasing, above 0 and below 1."""
    try:
        read = [Fraction(level) for level in levels if isinstance(level, str)]
    except (ValueError, ZeroDivisionError):
        return False
    rising = all(a < b for a, b in pairwise([Fraction(0), *read, Fraction(1)]))
    return rising and len(read) == len(levels)


def _claim(fields: Mapping[str, Any]) -> Guarantee | None:
    """Return the claim as a value; None if the file has the sentence alone."""
    if "claim" not in fields:
        return None
    try:
        claim = guarantee_from_json(json.dumps(fields["claim"]))
    except SmoothdpError as error:
        raise _refused(f"a claim that is none ({str(error).rstrip('.')})") from None
    said = (claim.sentence(), claim.sentence(n_records=_records(fields)))
    if not str(fields["guarantee"]).startswith(said):
        raise _refused("a sentence that is not that of its claim")
    return claim


def _records(fields: Mapping[str, Any]) -> int | None:
    """Return n where the file has n as a whole number, else None."""
    n_records = fields["n_records"]
    return n_records if isinstance(n_records, int) and not isinstance(n_records, bool) else None


def _number(value: object) -> str:
    try:
        return f"{float(value):.10g}"  # type: ignore[arg-type]
    except (TypeError, ValueError):
        raise _refused(f"{value!r} for a number") from None


def _refused(got: str) -> InvalidData:
    return InvalidData(
        expected="what smoothdp release --json prints",
        got=got,
        remedy="Give the file that smoothdp release --json wrote",
    )
