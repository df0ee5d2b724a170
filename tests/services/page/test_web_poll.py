"""The poll page as it is served: files, policy, question, published results."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import time
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest
from click.testing import CliRunner

from smoothdp import services
from smoothdp.cli.serving.serve import serve
from smoothdp.cli.serving.submit import results
from smoothdp.cli.serving.task import task as tasks
from smoothdp.errors import InvalidParameter
from smoothdp.services.demo.poll_demo import poll_on_loopback
from smoothdp.services.formats.design.task_shape import TaskIssuer
from smoothdp.services.formats.party_files import read_task
from smoothdp.services.formats.result import SignedResult
from smoothdp.services.formats.signing import SigningKey
from smoothdp.services.formats.task import Task
from smoothdp.services.shuffler.poll_routes import (
    page_policy,
    poll_routes,
)
from smoothdp.services.shuffler.published_results import PublishedResults, publish
from smoothdp.services.wire.running import on_loopback
from tests.services.worlds.small_tasks import (
    ANALYZER_SIGN,
    ISSUER_SIGN,
    SHUFFLER_SIGN,
    small_task,
)

ROOT = Path(__file__).parents[3]
FEW: dict[str, Any] = {"made_up": (1, 0) * 10, "epsilon": "4", "delta": "0.01"}
BUNDLE = ROOT / "src" / "smoothdp" / "services" / "shuffler" / "poll_page" / "poll.js"


def test_the_page_its_policy_and_what_it_asks() -> None:
    with poll_on_loopback(question="Tea?", **FEW) as poll:
        address = poll.link.partition("#")[0]
        page = httpx.get(address)
        assert page.status_code == 200
        policy = page.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert "require-trusted-types-for 'script'; trusted-types 'none'" in policy
        assert page.headers["cross-origin-opener-policy"] == "same-origin"
        assert poll.task.issuer is not None
        # The page may ask its own host and the issuer, which answers that page alone.
        issuer = poll.task.issuer.url
        assert f"connect-src 'self' {issuer};" in policy
        host = address.partition("/poll/")[0]
        window = poll.task.window_at(time.time())
        card = f"{issuer}/v2/tasks/{poll.task.task_id.hex()}/cards/{window}"
        for origin, allowed in ((host, host), ("https://elsewhere.example", None)):
            answer = httpx.get(card, headers={"origin": origin})
            assert answer.headers.get("access-control-allow-origin") == allowed
        assert page.headers["referrer-policy"] == "no-referrer"
        for file in re.findall(r'(?:src|href)="(/[^"]+)"', page.text):
            assert httpx.get(host + file).status_code == 200, file
        assert httpx.get(host + "/poll-files/secrets.json").status_code == 404
        assert httpx.get(address + "/about").json() == {"question": "Tea?", "one_host": True}
        assert httpx.get(address + "/results").json() == []
        assert poll.answered() == len(FEW["made_up"])
        document = poll.close()
        (shown,) = httpx.get(address + "/results").json()
        signed = SignedResult.decode(json.dumps(shown).encode())
        assert signed.document == document
        assert signed.verify(poll.task.analyzer_key)
    # The error bar fails with 0.05; four times as wide, practically never.
    assert abs(document["sum"] - sum(FEW["made_up"])) < 4 * document["error_of_sum"]


@pytest.mark.parametrize(
    ("url", "origin"),
    [
        ("https://i.example", "https://i.example"),
        ("https://i.example:8443/below", "https://i.example:8443"),
        ("http://127.0.0.1:8603", "http://127.0.0.1:8603"),
        ("https://i.example;script-src*", None),
        ("https://'unsafe-inline'", None),
        ("https://*", None),
        ("https://i.example:port", None),
    ],
)
def test_nothing_of_a_task_but_an_origin_enters_the_policy(url: str, origin: str | None) -> None:
    task = small_task(issuer=TaskIssuer("i.example", url, ISSUER_SIGN.public.hex))
    if origin is None:
        with pytest.raises(InvalidParameter, match="has a host by name"):
            page_policy(task)
    else:
        assert f"; connect-src 'self' {origin}; " in page_policy(task)
    alone = small_task(issuer=None, proof="none")
    assert "; connect-src 'self'; " in page_policy(alone)


def test_the_client_asks_nothing_of_other_hosts() -> None:
    text = BUNDLE.read_text(encoding="utf-8")
    assert set(re.findall(r"https?://[^\s\"'`]+", text)) <= {"http://www.w3.org/2000/svg"}
    assert "Math.random" not in text
    lock = json.loads((ROOT / "browser" / "package-lock.json").read_text())
    assert not [name for name, item in lock["packages"].items() if "resolved" in item]


def test_published_results_that_are_not_the_tasks_are_passed_by(tmp_path: Path) -> None:
    task, other = small_task(), small_task(min_batch=13)

    def signed(key: SigningKey = ANALYZER_SIGN, **document: Any) -> SignedResult:
        return SignedResult.sign({"task_id": task.task_id.hex()} | document, key)

    publish(tmp_path, signed(window=10))
    publish(tmp_path, signed(window=9))
    publish(tmp_path, signed(window=11, task_id=other.task_id.hex()))
    publish(tmp_path, signed(SHUFFLER_SIGN, window=12))
    (tmp_path / "x.json").write_text("{")
    (tmp_path / "y.json").write_bytes(signed(window=13).body)
    (tmp_path / "z.json").write_bytes(signed(window=14).encode().replace(b"14", b"15"))
    windows: list[Any] = [None, "9", 9.5, True, []]
    for place, window in enumerate(windows):
        document = signed() if window is None else signed(window=window)
        (tmp_path / f"{100 + place}.json").write_bytes(document.encode())
    shown = PublishedResults(tmp_path, task)

    def windows_shown() -> list[int]:
        return [json.loads(one["result"])["window"] for one in json.loads(shown.document())]

    assert windows_shown() == windows_shown() == [9, 10]
    # What is put there, in the place of another file, or taken away, is seen at the next look.
    publish(tmp_path, signed(window=8))
    (tmp_path / "9.json").write_bytes(signed(window=7).encode())
    assert windows_shown() == [7, 8, 10]
    publish(tmp_path, signed(window=8, state="REFUSED"))
    (tmp_path / "10.json").unlink()
    assert windows_shown() == [7]
    assert PublishedResults(tmp_path / "none", task).document() == b"[]"


def test_the_commands_of_the_guide(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = (ROOT / "docs" / "how-to" / "poll.md").read_text(encoding="utf-8")
    blocks = "".join(re.findall("```\n(.*?)```", text, re.DOTALL))
    commands = [shlex.split(line) for line in blocks.splitlines()]
    assert [command[1] for command in commands if command[0] == "smoothdp"] == [
        *["task"] * 7,
        *["serve"] * 3,
        "results",
    ]
    apps = []
    monkeypatch.setattr(services, "run", lambda app, **_: apps.append(app))
    monkeypatch.chdir(tmp_path)

    def released(_: object, task: Task, window: int, *, token: str) -> tuple[Any, str]:
        assert token
        secrets = json.loads(Path("tea-analyzer/secrets.json").read_text())
        key = SigningKey.from_bytes(bytes.fromhex(secrets["sign_key"]))
        document = {"task_id": task.task_id.hex(), "window": window}
        return SignedResult.sign(document, key), ""

    monkeypatch.setattr(services, "fetch_result", released)
    for command in commands:
        if command[0] == "smoothdp":
            arguments, file = command[2:], ""
            if ">" in arguments:
                *arguments, _, file = arguments
            group: Any = {"task": tasks, "serve": serve, "results": results}[command[1]]
            result = CliRunner().invoke(group, arguments)
            assert result.exit_code == 0, (command, result.output)
            if file:
                Path(file).write_text(result.stdout)
        else:
            assert subprocess.run(command).returncode == 0, command
    passes, invitations = (Path(name).read_text().split() for name in ("passes", "invitations"))
    assert len(set(passes) | set(invitations)) == 1600
    published = tmp_path / "tea-shuffler" / "published"
    assert published.stat().st_mode & 0o777 == 0o700
    name = read_task(tmp_path / "tea").task_id.hex()
    with on_loopback(apps[2]) as url:
        address = f"{url}/poll/{name}"
        about = httpx.get(address + "/about").json()
        assert about == {"question": "Tea?", "one_host": False}
        (shown,) = httpx.get(address + "/results").json()
        policy = httpx.get(address).headers["content-security-policy"]
    assert json.loads(shown["result"])["window"] == 20778
    assert "connect-src 'self' https://issuer.example;" in policy


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


def test_the_demo_command_prints_a_link_and_the_result(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(services, "POLL_MADE_UP", FEW["made_up"])
    few = partial(poll_on_loopback, made_up=FEW["made_up"])
    monkeypatch.setattr(services, "poll_on_loopback", few)
    arguments = ["demo", "--poll", "--epsilon", FEW["epsilon"], "--delta", FEW["delta"]]
    result = CliRunner().invoke(serve, arguments, input="\n\n")
    assert result.exit_code == 0, result.output
    link, invitation, rest = result.stdout.split("\n", 2)
    assert re.fullmatch(r"http://localhost:\d+/poll/[0-9a-f]{64}#[0-9a-f]{96}", link)
    assert re.fullmatch("[0-9a-f]{96}", invitation)
    assert invitation not in link
    assert json.loads(rest)["users"] == len(FEW["made_up"])
    assert "one host" in result.stderr
