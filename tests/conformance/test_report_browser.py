"""Reports in a real browser without a network: they open, are laid out, and show pictures."""

from __future__ import annotations

import json
import re
import struct
import subprocess
import zlib
from pathlib import Path

import pytest

import smoothdp as sd
from smoothdp.report import html
from tests.browsers import MISSING, chromium

pytest.importorskip("matplotlib")
pytestmark = pytest.mark.slow

BROWSER = chromium() or ""
# Every request for a name or an address fails: a page that loaded something would show errors.
OFFLINE = [
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
    "--host-resolver-rules=MAP * ~NOTFOUND",
]
WIDTH, HEIGHT = 900, 3600


def pages() -> dict[str, html.HtmlReport]:
    """Return a report of each kind, made up."""
    guarantee = sd.ApproxDP(1, delta="1e-6")
    plan = sd.plan(sd.queries.Median((0, 100)), guarantee=sd.PureDP(1), n_records=1000)
    found = sd.release([float(i % 100) for i in range(1000)], plan.query, guarantee=plan.guarantee)
    fields = {
        "value": found.value,
        "guarantee": found.guarantee.sentence(),
        "mechanism": found.mechanism,
        "n_records": 1000,
        "claim": json.loads(found.guarantee.to_json()),
    }
    poll = sd.SamplingHistogram(1000, sampling_rate="0.9")
    model = sd.DataModel.from_counts([(600, 400), (400, 600)])
    return {
        "plan": html.report_plan(plan),
        "release": html.report_release(json.dumps(fields)),
        "counts": html.report_counts(poll, {"a": 400, "b": 600}, epsilon=1),
        "model": html.report_model(poll, model, epsilon=1),
        "protocol": html.report_protocol("boolean-sum", 1000, guarantee=guarantee),
    }


@pytest.fixture(scope="module")
def written() -> dict[str, html.HtmlReport]:
    if not BROWSER:
        pytest.skip(MISSING)
    return pages()


def browse(page: Path, *options: str) -> subprocess.CompletedProcess[bytes]:
    """Open a page in a browser of its own, and close it."""
    return subprocess.run(
        [BROWSER, *OFFLINE, f"--user-data-dir={page.parent / 'profile'}", *options, page.as_uri()],
        capture_output=True,
        check=True,
        timeout=120,
    )


def pixels(path: Path) -> tuple[int, int, list[bytes]]:
    """Return width, height and rows of RGB of a PNG of 8-bit RGB or RGBA without interlacing."""
    data, place, parts = path.read_bytes(), 8, b""
    width, height, depth, kind = struct.unpack(">IIBB", data[16:26])
    assert depth == 8
    size = {2: 3, 6: 4}[kind]
    while place < len(data):
        length, name = struct.unpack(">I4s", data[place : place + 8])
        if name == b"IDAT":
            parts += data[place + 8 : place + 8 + length]
        place += length + 12
    raw, rows, above = zlib.decompress(parts), [], bytearray(width * size)
    for line in range(height):
        start = line * (width * size + 1)
        filter_kind, row = raw[start], bytearray(raw[start + 1 : start + 1 + width * size])
        for i in range(len(row)):
            a = row[i - size] if i >= size else 0
            b, c = above[i], above[i - size] if i >= size else 0
            paeth = min((abs(b - c), 0, a), (abs(a - c), 1, b), (abs(a + b - 2 * c), 2, c))[2]
            row[i] = (row[i] + (0, a, b, (a + b) // 2, paeth)[filter_kind]) & 255
        rows.append(bytes(row))
        above = row
    return width, height, rows


@pytest.mark.parametrize("name", ["plan", "release", "counts", "model", "protocol"])
def test_report_opens_in_a_browser(
    written: dict[str, html.HtmlReport], name: str, tmp_path: Path
) -> None:
    page = written[name].write(tmp_path / f"{name}.html")
    picture = tmp_path / "page.png"
    run = browse(page, f"--window-size={WIDTH},{HEIGHT}", f"--screenshot={picture}")
    assert not re.search(rb"ERR_|Failed to load|CONSOLE", run.stderr)
    width, height, rows = pixels(picture)
    assert (width, height) == (WIDTH, HEIGHT)
    # Words at the top, and further down the blue of the first curve of each picture.
    assert len({bytes(row) for row in rows[:200]}) > 20
    size = len(rows[0]) // width
    blue = sum(
        row[i] < 60 and 90 < row[i + 1] < 150 and row[i + 2] > 150
        for row in rows
        for i in range(0, len(row), 2 * size)
    )
    assert blue > 100


@pytest.mark.parametrize("name", ["plan", "counts"])
def test_browser_and_parser_see_the_same_elements(
    written: dict[str, html.HtmlReport], name: str, tmp_path: Path
) -> None:
    """A page that had to be mended by the browser would come out with other elements."""
    page = written[name].write(tmp_path / f"{name}.html")
    seen = browse(page, "--dump-dom").stdout.decode()
    for tag in ("section", "h2", "table", "tr", "td", "svg", "path", "figure", "p", "pre"):
        assert len(re.findall(rf"<{tag}[\s>]", seen)) == len(
            re.findall(rf"<{tag}[\s>]", written[name].html())
        ), tag


def test_report_prints(written: dict[str, html.HtmlReport], tmp_path: Path) -> None:
    page = written["plan"].write(tmp_path / "plan.html")
    printed = tmp_path / "plan.pdf"
    browse(page, f"--print-to-pdf={printed}")
    assert printed.read_bytes().startswith(b"%PDF")
    assert printed.stat().st_size > 20_000
