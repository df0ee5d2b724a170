"""MkDocs hooks: pictures drawn, formulas typeset, commands with their help, tests that the papers
lead to, no other host."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path
from typing import Any

import click

from docs_site.formulas import Formula, put_back, taken_out
from docs_site.other_hosts import cut_addresses, requests_elsewhere
from docs_site.pictures import PICTURES, svg
from docs_site.tested import linked, pages, proof_linked
from smoothdp.cli.main import commands

File: Any = import_module("mkdocs.structure.files").File
PluginError: Any = import_module("mkdocs.exceptions").PluginError
_drawn: dict[str, str] = {}
_formulas: dict[str, list[Formula]] = {}


def on_files(files: Any, config: Any) -> Any:
    """Add the pictures, kept from an earlier build of this process, and the tests of papers."""
    for name, draw in PICTURES.items():
        if name not in _drawn:
            _drawn[name] = svg(draw())
        files.append(File.generated(config, f"pictures/{name}.svg", content=_drawn[name]))
    for address, content in pages().items():
        files.append(File.generated(config, address, content=content))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Take formulas out; link tests; put the full help below the heading of each command."""
    if page.file.src_uri == "papers.md":
        markdown = linked(markdown)
    if page.file.src_uri.startswith("proofs/"):
        markdown = proof_linked(markdown)
    markdown, _formulas[page.file.src_uri] = taken_out(markdown)
    if page.file.src_uri != "reference/cli.md":
        return markdown
    return re.sub(
        r"^(#{2,3}) `(smoothdp[a-z -]*)`\n(.*?)(?=^#{2,3} |\Z)",
        lambda found: f"{found[0].rstrip()}\n\n{_help(found[2])}\n\n",
        markdown,
        flags=re.DOTALL | re.MULTILINE,
    )


def on_page_content(html: str, page: Any, **_: Any) -> str:
    """Put the formulas back, as MathML."""
    return put_back(html, _formulas.pop(page.file.src_uri, []))


def on_post_build(config: Any) -> None:
    """Cut addresses of other hosts out of the theme's scripts; stop if anything is still loaded."""
    site = Path(config["site_dir"])
    for script in site.rglob("*.js"):
        text = script.read_text(encoding="utf-8")
        if (cut := cut_addresses(text)) != text:
            script.write_text(cut, encoding="utf-8")
    if found := requests_elsewhere(site):
        raise PluginError("the site would load from another host:\n" + "\n".join(found))


def _help(path: str) -> str:
    """Return the help of a command as a folded block."""
    command: click.Command = commands
    context = click.Context(command, info_name="smoothdp", max_content_width=90)
    for name in path.split()[1:]:
        assert isinstance(command, click.Group)
        command = command.commands[name]
        context = click.Context(command, info_name=name, parent=context, max_content_width=90)
    lines = "\n".join("    " + line for line in command.get_help(context).splitlines())
    indented = lines.replace("\n", "\n    ")
    return f'??? note "{path} --help"\n\n    ```\n    {indented[4:].lstrip()}\n    ```'
