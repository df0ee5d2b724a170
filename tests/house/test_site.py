"""The built site loads nothing from another host: what finds it, and, slowly, the site itself."""

from __future__ import annotations

import functools
import http.server
import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest
from docs_site.other_hosts import cut_addresses, in_page, in_script, in_style, requests_elsewhere

from tests.browsers import MISSING, chromium

ROOT = Path(__file__).parents[2]
AWAY = "https://cdn.example.org/x"


@pytest.mark.parametrize(
    "page",
    [
        f'<script src="{AWAY}.js"></script>',
        "<script src='//cdn.example.org/x.js'></script>",
        f"<script>fetch('{AWAY}')</script>",
        f'<link rel="stylesheet" href="{AWAY}.css">',
        f'<link rel="preconnect" href="{AWAY}">',
        f'<link href="{AWAY}.css">',
        f'<img src="a.png" srcset="a.png 1x, {AWAY}.png 2x">',
        f'<iframe src="{AWAY}"></iframe>',
        f'<object data="{AWAY}"></object>',
        f'<form action="{AWAY}"></form>',
        f'<p style="background: url({AWAY}.png)">x</p>',
        f"<style>@import '{AWAY}.css';</style>",
        f'<meta http-equiv="refresh" content="0; url={AWAY}">',
        f'<svg><image href="{AWAY}.png"/></svg>',
        f'<svg><use xlink:href="{AWAY}.svg#a"/></svg>',
        f"<body onload=\"fetch('{AWAY}')\">",
        f'<a href="b.html" ping="{AWAY}">x</a>',
    ],
)
def test_what_a_page_would_load_is_found(page: str, tmp_path: Path) -> None:
    assert in_page(page)
    (tmp_path / "below").mkdir()
    (tmp_path / "below" / "a.html").write_text(page)
    (found,) = requests_elsewhere(tmp_path)
    assert found.startswith(str(Path("below", "a.html")))


@pytest.mark.parametrize(
    "page",
    [
        f'<a href="{AWAY}">a link</a> {AWAY}',
        f'<link rel="canonical" href="{AWAY}"><link rel="next" href="b.html">',
        '<script src="assets/a.js"></script><img src="data:image/png;base64,aa//bb.cc">',
        '<svg xmlns="http://www.w3.org/2000/svg"><use xlink:href="#a"/></svg>',
        '<script>document.createElementNS("http://www.w3.org/2000/svg", "g")</script>',
        f'<pre><code>fetch("{AWAY}")</code></pre>',
        f'<meta name="description" content="{AWAY}">',
    ],
)
def test_what_a_page_does_not_load_is_left(page: str) -> None:
    assert in_page(page) == []


def test_styles_and_scripts() -> None:
    assert in_style(f'a {{ background: url("{AWAY}.png") }}') == [f"{AWAY}.png"]
    assert in_style("a { background: url(../a.png) } /* https://a.org */") == []
    script = f'// see https://a.org/b\nf("{AWAY}", `https://${{host}}/v4`, "/a//b")'
    assert in_script(script) == [AWAY, "https://${host}/v4"]
    assert in_script(cut_addresses(script)) == []


# ---- the site


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if find_spec("mkdocs") is None:
        pytest.skip("could not import 'mkdocs'")
    target = tmp_path_factory.mktemp("site")
    path = os.pathsep.join([str(ROOT), str(ROOT / "src"), os.environ.get("PYTHONPATH", "")])
    subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "-d", str(target)],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": path, "NO_MKDOCS_2_WARNING": "1"},
        check=True,
        timeout=600,
    )
    return target


@pytest.mark.slow
def test_the_site_loads_nothing_from_another_host(site: Path) -> None:
    assert requests_elsewhere(site) == []
    pages = {str(page.relative_to(site)) for page in site.rglob("*.html")}
    named = re.findall(r"\S+\.md$", (ROOT / "mkdocs.yml").read_text(), re.MULTILINE)
    assert {name.removesuffix(".md") + ".html" for name in named} <= pages


@pytest.fixture
def address(site: Path) -> Iterator[str]:
    """Serve the site on this machine."""
    handler = functools.partial(_Silent, directory=str(site))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


class _Silent(http.server.SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


def requested_by(origin: str, page: str, folder: Path) -> set[str]:
    """Return the addresses that a page of a site asked a real browser for."""
    log = folder / "net.json"
    options = ["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run"]
    options += ["--disable-background-networking", "--virtual-time-budget=4000", "--dump-dom"]
    options += ["--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"]
    options += [f"--user-data-dir={folder / 'profile'}", f"--log-net-log={log}"]
    subprocess.run(
        [chromium() or "", *options, f"{origin}/{page}"],
        capture_output=True,
        check=True,
        timeout=120,
    )
    events = json.loads(log.read_text(encoding="utf-8"))["events"]
    told = [event.get("params", {}) for event in events]
    # What the browser asks for of its own accord has no initiator.
    return {t["url"] for t in told if "url" in t and origin in str(t.get("initiator", ""))}


@pytest.mark.slow
@pytest.mark.parametrize("page", ["index.html", "proofs/two-smallest.html", "how-to/poll.html"])
def test_a_browser_asks_no_other_host(page: str, address: str, tmp_path: Path) -> None:
    if chromium() is None:
        pytest.skip(MISSING)
    asked = requested_by(address, page, tmp_path)
    assert any(url.endswith(".css") for url in asked), "the log shows no request at all"
    assert any(url.endswith(".js") for url in asked)
    assert {url for url in asked if not url.startswith((address, "data:", "blob:"))} == set()


@pytest.mark.slow
def test_a_browser_that_is_sent_elsewhere_is_seen(address: str, site: Path, tmp_path: Path) -> None:
    if chromium() is None:
        pytest.skip(MISSING)
    planted = site / "planted.html"
    planted.write_text(f'<link rel="stylesheet" href="a.css"><img src="{AWAY}.png">')
    try:
        assert f"{AWAY}.png" in requested_by(address, "planted.html", tmp_path)
    finally:
        planted.unlink()
