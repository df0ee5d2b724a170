"""What a built site would load from another host: nothing, and the build says if that changes.

Links that a reader may click are no requests; scripts, styles, pictures, forms and the like are.
"""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path

_HOST = r"(?:https?:|wss?:)?//(?:[\w-]+\.)*(?:[\w-]+\.[a-z]{2,}|\$\{)"
_ELSEWHERE = re.compile(rf"\s*{_HOST}", re.IGNORECASE)
_IN_STYLE = re.compile(rf"(?:url\(|@import)\s*[\"']?({_HOST}[^\"')\s]*)", re.IGNORECASE)
# An address at the beginning of a text of a script; names of XML are no addresses.
_IN_SCRIPT = re.compile(rf"(?<=[\"'`])(?!https?://www\.w3\.org/){_HOST}[^\"'`\s]*", re.IGNORECASE)
_LOADS = {"src", "srcset", "data", "poster", "background", "action", "formaction", "ping"}
# What a <link> does not load, and hrefs that are followed by a click alone.
_POINTS = {"alternate", "author", "canonical", "help", "license", "next", "prev", "search"}
_CLICKED = {"a", "area"}


def cut_addresses(script: str) -> str:
    """Return a script with an empty page in place of every address of another host.

    The theme's script has some, for what these pages do not have (diagrams, a count of stars), and
    for browsers from before 2020.

    >>> cut_addresses('load("https://unpkg.com/mermaid"), f(`https://${host}/api`), "/search"')
    'load("about:blank"), f(`about:blank`), "/search"'
    """
    return _IN_SCRIPT.sub("about:blank", script)


def requests_elsewhere(site: Path) -> list[str]:
    """Return "file: address" for what the files of a site would load from another host."""
    found = []
    for path in sorted(site.rglob("*")):
        if path.suffix in _READERS:
            addresses = _READERS[path.suffix](path.read_text(encoding="utf-8"))
            found += [f"{path.relative_to(site)}: {address}" for address in addresses]
    return found


def in_page(text: str) -> list[str]:
    """Return the addresses of other hosts that a page of HTML or SVG would load.

    >>> in_page('<a href="https://a.org">x</a><img src="b.png"><img src="//c.org/d.png">')
    ['//c.org/d.png']
    """
    page = _Page()
    page.feed(text)
    page.close()
    return page.found


def in_style(text: str) -> list[str]:
    """Return the addresses of other hosts that a style sheet would load."""
    return _IN_STYLE.findall(text)


def in_script(text: str) -> list[str]:
    """Return the addresses of other hosts in the texts of a script."""
    return [match[0] for match in _IN_SCRIPT.finditer(text)]


_READERS = {".html": in_page, ".svg": in_page, ".css": in_style, ".js": in_script}


class _Page(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []
        self._inside = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in ("script", "style"):
            self._inside = tag
        named = {name: value or "" for name, value in attrs}
        for name, value in named.items():
            if name == "style":
                self.found += in_style(value)
            elif self._loads(tag, name, named):
                # A srcset is a list, and <meta http-equiv=refresh> has the seconds first.
                parts = re.split(r"[,;]\s*(?:url=)?", value)
                self.found += [part for part in parts if _ELSEWHERE.match(part)]
            elif name.startswith("on"):
                self.found += in_script(value)

    def _loads(self, tag: str, name: str, named: dict[str, str]) -> bool:
        if name in _LOADS:
            return True
        if tag == "meta":
            return name == "content" and "http-equiv" in named
        if name not in ("href", "xlink:href") or tag in _CLICKED:
            return False
        says = set(named.get("rel", "").lower().split())
        return tag != "link" or not says or not says <= _POINTS

    def handle_endtag(self, tag: str) -> None:
        if tag == self._inside:
            self._inside = ""

    def handle_data(self, data: str) -> None:
        if self._inside:
            self.found += {"script": in_script, "style": in_style}[self._inside](data)
