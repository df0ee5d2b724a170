"""The poll page as it is served: files, policy, question, published results."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
from pathlib import Path
from typing import Any

import httpx
import pytest
from click.testing import CliRunner

from smoothdp import services
from smoothdp.cli.serving.serve import serve
from smoothdp.cli.serving.submit import results
from smoothdp.cli.serving.task import task
from smoothdp.errors import InvalidParameter
from smoothdp.services.demo.poll_demo import POLL_MADE_UP, poll_on_loopback
from smoothdp.services.shuffler.poll_routes import poll_routes, publish, published_results
from smoothdp.services.wire.running import on_loopback
from tests.services.world import small_task

ROOT = Path(__file__).parents[2]
BUNDLE = ROOT / "src" / "smoothdp" / "services" / "shuffler" / "poll_page" / "poll.js"


def test_the_page_its_policy_and_what_it_asks() -> None:
    with poll_on_loopback(question="Tea?") as poll:
        address = poll.link.partition("#")[0]
        page = httpx.get(address)
        assert page.status_code == 200
        policy = page.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert page.headers["referrer-policy"] == "no-referrer"
        host = address.partition("/poll/")[0]
        for file in re.findall(r'(?:src|href)="(/[^"]+)"', page.text):
            assert httpx.get(host + file).status_code == 200, file
        assert httpx.get(host + "/poll-files/secrets.json").status_code == 404
        assert httpx.get(address + "/about").json() == {"question": "Tea?", "one_host": True}
        assert httpx.get(address + "/results").json() == []
        assert poll.answered() == len(POLL_MADE_UP)
        document = poll.close()
        assert httpx.get(address + "/results").json() == [document]
    # The error bar fails with 0.05; four times as wide, practically never.
    assert abs(document["sum"] - sum(POLL_MADE_UP)) < 4 * document["error_of_sum"]


def test_the_client_asks_nothing_of_other_hosts() -> None:
    text = BUNDLE.read_text(encoding="utf-8")
    assert set(re.findall(r"https?://[^\s\"'`]+", text)) <= {"http://www.w3.org/2000/svg"}
    assert "Math.random" not in text
    lock = json.loads((ROOT / "browser" / "package-lock.json").read_text())
    assert not [name for name, item in lock["packages"].items() if "resolved" in item]


def test_published_results_of_other_tasks_and_damaged_files_are_passed_by(tmp_path: Path) -> None:
    publish(tmp_path, {"task_id": "aa", "window": 10})
    publish(tmp_path, {"task_id": "aa", "window": 9})
    publish(tmp_path, {"task_id": "bb", "window": 11})
    (tmp_path / "x.json").write_text("{")
    windows: list[Any] = [None, "9", 9.5, True, []]
    for place, window in enumerate(windows):
        document = {"task_id": "aa"} if window is None else {"task_id": "aa", "window": window}
        (tmp_path / f"{100 + place}.json").write_text(json.dumps(document))
    assert [r["window"] for r in published_results(tmp_path, "aa")] == [9, 10]
    assert published_results(tmp_path / "none", "aa") == []


def test_the_commands_of_the_guide(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = (ROOT / "docs" / "how-to" / "poll.md").read_text(encoding="utf-8")
    blocks = "".join(re.findall("```\n(.*?)```", text, re.DOTALL))
    commands = [shlex.split(line) for line in blocks.splitlines()]
    assert [command[1] for command in commands] == [
        "task",
        "task",
        "serve",
        "results",
        "20778.json",
    ]
    apps = []
    monkeypatch.setattr(services, "run", lambda app, **_: apps.append(app))
    monkeypatch.chdir(tmp_path)
    made: dict[str, str] = {}

    def released(_: object, *, task_id: bytes, window: int, token: str) -> tuple[Any, str]:
        assert token
        made["id"] = task_id.hex()
        return {"task_id": task_id.hex(), "window": window}, ""

    monkeypatch.setattr(services, "look_up_result", released)
    for command in commands:
        if command[0] == "smoothdp":
            arguments, file = command[2:], ""
            if ">" in arguments:
                *arguments, _, file = arguments
            group = {"task": task, "serve": serve, "results": results}[command[1]]
            result = CliRunner().invoke(group, arguments)
            assert result.exit_code == 0, (command, result.output)
            if file:
                Path(file).write_text(result.stdout)
        else:
            assert subprocess.run(command).returncode == 0, command
    published = tmp_path / "tea" / "shuffler" / "published"
    assert published.stat().st_mode & 0o777 == 0o700
    with on_loopback(apps[0]) as url:
        address = f"{url}/poll/{made['id']}"
        about = httpx.get(address + "/about").json()
        assert about == {"question": "Tea?", "one_host": False}
        shown = httpx.get(address + "/results").json()
    assert [one["window"] for one in shown] == [20778]


def test_bad_input(tmp_path: Path) -> None:
    with pytest.raises(InvalidParameter, match="question"):
        poll_routes(small_task(), " ", tmp_path)
    file = tmp_path / "file"
    file.write_text("")
    with pytest.raises(InvalidParameter, match="a folder for results"):
        poll_routes(small_task(), "Tea?", file)
    result = CliRunner().invoke(serve, ["demo", __file__, "--poll"])
    assert result.exit_code == 2
    assert "either FILE or --poll" in result.output


def test_the_demo_command_prints_a_link_and_the_result() -> None:
    result = CliRunner().invoke(serve, ["demo", "--poll"], input="\n\n")
    assert result.exit_code == 0, result.output
    link, _, rest = result.stdout.partition("\n")
    assert re.fullmatch(r"http://localhost:\d+/poll/[0-9a-f]{64}#[0-9a-f]{96}", link)
    assert json.loads(rest)["users"] == len(POLL_MADE_UP)
    assert "one host" in result.stderr
