"""A page of HTML that stands alone: sections of paragraphs, tables, pictures and code."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import Any

from smoothdp.claims.release import library_version
from smoothdp.errors import InvalidParameter
from smoothdp.plots import inline_svg
from smoothdp.whole_file import whole_file

_REPEATED = "the same command writes the same file."
_NOT_REPEATED = "the values were drawn once, and no command draws them again."


@dataclass
class Section:
    """A heading and the blocks below, as HTML; every text is escaped."""

    heading: str
    blocks: list[str] = field(default_factory=list)

    def text(self, paragraph: str, *, kind: str = "") -> Section:
        """Add a paragraph; kind "promise" or "caution" sets the paragraph off."""
        attribute = f' class="{kind}"' if kind else ""
        lines = "<br>".join(escape(line) for line in paragraph.split("\n"))
        self.blocks.append(f"<p{attribute}>{lines}</p>")
        return self

    def code(self, listing: str) -> Section:
        """Add text that the reader may copy."""
        self.blocks.append(f"<pre><code>{escape(listing)}</code></pre>")
        return self

    def table(
        self, rows: Sequence[Sequence[str]], *, caption: str, header: Sequence[str] = ()
    ) -> Section:
        """Add a table whose first column names the rows."""
        lines = [f"<caption>{escape(caption)}</caption>"]
        if header:
            cells = "".join(f'<th scope="col">{escape(cell)}</th>' for cell in header)
            lines.append(f"<thead><tr>{cells}</tr></thead>")
        lines.append("<tbody>")
        for first, *others in rows:
            cells = "".join(f"<td>{escape(cell)}</td>" for cell in others)
            lines.append(f'<tr><th scope="row">{escape(first)}</th>{cells}</tr>')
        body = "\n".join([*lines, "</tbody>"])
        self.blocks.append(f'<div class="wide"><table>\n{body}\n</table></div>')
        return self

    def picture(self, axes: Any, *, alt: str, caption: str, name: str) -> Section:
        """Add a picture, matplotlib axes, with a description for readers who do not see it."""
        svg = inline_svg(axes, alt=alt, name=name)
        legend = f"<figcaption>{escape(caption)}</figcaption>"
        self.blocks.append(f"<figure>\n{svg}\n{legend}\n</figure>")
        return self


@dataclass(frozen=True)
class HtmlReport:
    """One page about a plan, a release, a protocol, a model or public counts.

    Attributes:
        title, lead: the heading, and a sentence below it.
        sections: in order.
        summary: the figures of the page for JSON.
        is_repeatable: whether its command writes the same page again: not where it draws noise.

    >>> page = HtmlReport("Poll", "A sentence.", (Section("Inputs").text("1,000 & more"),), {})
    >>> "1,000 &amp; more" in page.html()
    True
    """

    title: str
    lead: str
    sections: tuple[Section, ...]
    summary: dict[str, object]
    is_repeatable: bool = True

    def html(self) -> str:
        """Return the whole page: nothing is loaded from elsewhere, and there is no script."""
        template = files("smoothdp.report.html").joinpath("page.html").read_text(encoding="utf-8")
        contents = "\n".join(
            f'<li><a href="#part-{number}">{escape(section.heading)}</a></li>'
            for number, section in enumerate(self.sections, 1)
        )
        bodies = "\n".join(
            f'<section id="part-{number}" aria-labelledby="head-{number}">\n'
            f'<h2 id="head-{number}">{escape(section.heading)}</h2>\n'
            + "\n".join(section.blocks)
            + "\n</section>"
            for number, section in enumerate(self.sections, 1)
        )
        return Template(template).substitute(
            title=escape(self.title),
            lead=escape(self.lead[:1].upper() + self.lead[1:]),
            contents=contents,
            sections=bodies,
            repeated=_REPEATED if self.is_repeatable else _NOT_REPEATED,
            version=escape(library_version()),
        )

    def write(self, path: str | Path) -> Path:
        """Write the page, whole or not at all, and return its path.

        Raises:
            InvalidParameter: a path that does not end in .html.
        """
        target = Path(path)
        if target.suffix.lower() not in (".html", ".htm"):
            raise InvalidParameter(
                expected="a file such as report.html",
                got=str(path),
                remedy="Let the name end in .html",
            )
        with whole_file(target) as partial:
            partial.write_text(self.html(), encoding="utf-8")
        return target
