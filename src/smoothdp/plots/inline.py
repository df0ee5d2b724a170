"""Pictures as text: SVG to be put into a page, with nothing to load and no script."""

from __future__ import annotations

import io
import re
from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def inline_svg(axes: Axes, *, alt: str, name: str) -> str:
    """Return the figure of axes as an svg element; the same picture is the same text.

    Args:
        axes: of the figure.
        alt: the picture in words, for those who do not see it.
        name: unique in the page, of letters: identifiers inside begin with it.
    """
    import matplotlib

    figure = axes.get_figure()
    assert figure is not None
    written = io.StringIO()
    with matplotlib.rc_context({"svg.hashsalt": name, "svg.fonttype": "path"}):
        figure.savefig(written, format="svg", metadata={"Date": None})  # type: ignore[union-attr]
    text = written.getvalue()
    text = text[text.index("<svg") :].strip()
    text = re.sub(r"<metadata>.*?</metadata>\s*", "", text, flags=re.DOTALL)
    text = re.sub(r'\sxmlns(:\w+)?="[^"]*"', "", text)
    text = re.sub(r"<!--.*?-->\s*", "", text, flags=re.DOTALL).replace("xlink:href", "href")
    # Identifiers such as axes_1 repeat from figure to figure; references follow them.
    text = re.sub(r'\bid="', f'id="{name}-', text)
    text = re.sub(r'href="#', f'href="#{name}-', text)
    text = re.sub(r"url\(#", f"url(#{name}-", text)
    width, height = re.findall(r'(?:width|height)="([\d.]+)pt"', text)[:2]
    head = (
        f'<svg role="img" aria-label="{escape(alt)}" viewBox="0 0 {width} {height}" '
        f'width="{width}" height="{height}">'
    )
    # A number of five digits more than fill a screen; nothing is seen of the rest.
    body = re.sub(r"(\d+\.\d{3})\d+", r"\1", text[text.index(">") + 1 :])
    return head + f"<title>{escape(alt)}</title>" + body
