"""The page of the protocol against the code: routes, statuses, words, fields, lengths, vectors."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable
from contextlib import ExitStack
from dataclasses import fields
from pathlib import Path
from typing import Any

from starlette.routing import Route

from smoothdp.services.analyzer import analyzer_web
from smoothdp.services.formats.task import Task
from smoothdp.services.issuer import issuer, issuer_web
from smoothdp.services.shuffler import shuffler_web
from smoothdp.services.wire.problems import Problem
from tests.services.worlds.three_parties import Parties

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs/reference/protocol-2.md").read_text(encoding="utf-8")
PARTS = dict(
    re.findall(r"^#{2,3} ([\d.]+?)\.? [^\n]*\n(.*?)(?=^#{2,3} |\Z)", PAGE, re.MULTILINE | re.DOTALL)
)


def rows(part: str) -> list[list[str]]:
    """Return the cells of every row of the tables of a part."""
    return [line.strip("| ").split(" | ") for line in PARTS[part].splitlines() if line[:2] == "| "]


def problems(module: Any) -> Iterable[Problem]:
    """Return all refusals that a module has."""
    for value in vars(module).values():
        for item in value.values() if isinstance(value, dict) else [value]:
            if isinstance(item, Problem):
                yield item


def test_words_of_refusals() -> None:
    said = {int(row[0]): row[1:] for row in rows("9") if row[0].isdigit()}
    # 425 of the issuer is made with its time.
    found = {
        "issuer": [*problems(issuer), *problems(issuer_web), Problem(425, "too-early", "")],
        "shuffler": [*problems(shuffler_web)],
        "analyzer": [*problems(analyzer_web)],
    }
    for column, party in enumerate(("issuer", "shuffler", "analyzer")):
        words = {status: row[column] for status, row in said.items() if row[column] != "-"}
        assert words == {one.status: one.word for one in found[party]}, party


def test_routes(tmp_path: Path) -> None:
    written = set()
    for row in rows("9"):
        for who, method, path in re.findall(r"(?:^|\()?([ISA]) `([A-Z]+) ([^`]+)`", row[0]):
            written.add((who, method, re.sub(r"\{[^}]*\}", "{}", path)))
    with ExitStack() as stack:
        parties = Parties(tmp_path, stack)
        apps = {
            "I": parties.issuer.app(parties.url),
            "S": parties.shuffler.app(parties.url),
            "A": parties.analyzer.app(),
        }
    served = set()
    for who, app in apps.items():
        for route in app.routes:
            assert isinstance(route, Route)
            for method in (route.methods or set()) - {"HEAD"}:
                served.add((who, method, re.sub(r"\{[^}]*\}", "{}", route.path)))
    assert written == served
    assert len(served) > 13


def test_fields_of_a_task() -> None:
    named = {name for row in rows("3.1") for name in re.findall(r"`(\w+)`", row[0])}
    assert named == {"format", "suite"} | {field.name for field in fields(Task)}


def test_vectors() -> None:
    cases = json.loads((ROOT / "tests/services/vectors/serve.json").read_text())["cases"]
    said: dict[str, int] = {}
    for row in rows("11")[1:]:
        names = re.findall(r"`(\w+)`", row[0])
        said |= dict(zip(names, map(int, row[1].split(", ")), strict=True))
    assert said == Counter(case["function"] for case in cases)
    assert f"{len(cases)} cases" in PARTS["11"]
