"""What goes wrong at the commands is said in one line, without a traceback."""

from __future__ import annotations

import contextlib
import json
import socket
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest
from click.testing import CliRunner

from smoothdp.cli.main import main
from smoothdp.cli.serving.serve import serve
from smoothdp.services.client.submit import submit
from smoothdp.services.formats.party_files import read_task
from smoothdp.services.formats.result import SignedResult
from smoothdp.services.formats.signing import SigningKey
from smoothdp.services.issuer.issuer_party import issue_invitations
from smoothdp.services.shuffler.shuffler_party import issue_passes
from smoothdp.services.wire.key_files import SECRETS_FILE
from tests.services.worlds.directories import party_directories

MADE = ["--one-host"]
PROMISE = ["--epsilon", "4", "--delta", "1e-3", "--min-batch", "20", *MADE]
BOOLEAN = ["task", "create", "made", "--protocol", "boolean-sum"]
HISTOGRAM = ["task", "create", "made", "--protocol", "histogram", *PROMISE]
SUM = ["task", "create", "made", "--protocol", "real-sum", *PROMISE]
NOBODY = "http://127.0.0.1:1"
ANALYZER = ["serve", "analyzer", "t/analyzer"]
SUBMIT = ["submit", "1", "--task", "t/collector", "--shuffler", "http://127.0.0.1:2"]
SUBMIT += ["--issuer", NOBODY, "--pass", "pass", "--invitation", "invitation"]
RESULTS = ["results", "5", "--collector", "t/collector", "--analyzer", NOBODY]


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory with a task, secrets, and files that are wrong in several ways."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(
        submit, "__kwdefaults__", {**(submit.__kwdefaults__ or {}), "pause": lambda _: None}
    )
    made = party_directories(Path("t"))
    Path("pass").write_text(issue_passes(made.shuffler, 1)[0])
    Path("invitation").write_text(issue_invitations(made.issuer, 1)[0])
    Path("empty").touch()
    Path("text").write_text("x = [")
    Path("colour.toml").write_text('colour = "red"')
    Path("port.toml").write_text('port = "abc"\ndirectory = "t/analyzer"')
    Path("nan.toml").write_text('work-seconds = nan\ndirectory = "t/analyzer"')
    Path("twice").write_text("a\nb\na\n")
    Path("names").write_text("a\nb\n")
    Path("secret").write_text('{"key":"5ec2e7"}')
    Path("binary").write_bytes(b"\xff\xfe")
    Path("table.csv").write_text("x,y\n1,1\n,2\n3,3\n")
    return tmp_path


def failing(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    """Run a command that must fail; return its one line on stderr."""
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    assert caught.value.code == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("Error: ")
    assert err.count("\n") == 1
    return err


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ([*BOOLEAN, "--epsilon", "x", "--delta", "1e-3", "--min-batch", "10"], "epsilon"),
        ([*BOOLEAN, *PROMISE, "--delta", "2"], "delta"),
        ([*BOOLEAN, *PROMISE, "--honest-share", "x"], "--honest-share"),
        ([*BOOLEAN, *PROMISE, "--honest-share", "0"], "--honest-share"),
        ([*BOOLEAN, *PROMISE, "--windows", "0"], "windows"),
        ([*BOOLEAN, *PROMISE, "--windows", "100000"], "windows"),
        ([*BOOLEAN, *PROMISE, "--window-seconds", "0"], "--window-seconds"),
        ([*BOOLEAN, *PROMISE, "--bounds", "0", "1"], "--bounds"),
        ([*BOOLEAN[:2], "t", *BOOLEAN[3:], *PROMISE], "exists"),
        (HISTOGRAM, "--domain"),
        ([*HISTOGRAM, "--domain", "nofile"], "nofile"),
        ([*HISTOGRAM, "--domain", "empty"], "--domain"),
        ([*HISTOGRAM, "--domain", "binary"], "binary"),
        (SUM, "--bounds"),
        ([*SUM, "--bounds", "a", "b"], "bounds"),
        ([*SUM, "--bounds", "1", "0"], "bounds"),
        ([*HISTOGRAM, "--domain", "empty"], "got an empty file"),
        ([*HISTOGRAM, "--domain", "twice", "--min-batch", "200"], "'a' more than once"),
        ([*SUM, "--bounds", "5", "1"], "the lower one first, and none otherwise; got --bounds 5 1"),
        ([*BOOLEAN, *PROMISE, "--window-seconds", "0"], "Expected --window-seconds >= 1"),
        ([*BOOLEAN, *PROMISE, "--grace-seconds", "-1"], "Expected 0 <= --grace-seconds <= 86400"),
        ([*BOOLEAN, *PROMISE, "--epsilon", "1e300"], "Expected 0 < epsilon <= 1000000000"),
        ([*SUM, "--bounds", "0", "1", "--epsilon", "1e300"], "got --epsilon 1e300."),
        ([*BOOLEAN, *PROMISE, "--delta", "1"], "Expected 0 < delta < 1; got --delta 1."),
        ([*BOOLEAN, *PROMISE, "--delta", "0"], "Expected 0 < delta < 1; got --delta 0."),
        ([*BOOLEAN, *PROMISE, "--min-batch", "9" * 14], f"got --min-batch {'9' * 14}."),
        ([*HISTOGRAM, "--domain", "names", "--min-batch", "5"], "--min-batch 5 "),
        ([*BOOLEAN, *PROMISE, "--n-bits", "8"], "--n-bits with a real-sum alone"),
        (["task", "show", "t/shuffler/secrets.json"], "JSON written in another way"),
        (["task", "show", "secret"], "another document"),
        (["task", "show", "empty"], "an empty file"),
        (["task", "show", "nowhere"], "nowhere"),
        (["task", "show", "text"], "canonical"),
        (["task", "tokens", "t/analyzer"], "that of the analyzer"),
        (["task", "tokens", "t/collector"], "that of the collector"),
        (["serve", "shuffler", "t/analyzer", "--analyzer", NOBODY], "another party"),
        (["serve", "shuffler", "t/shuffler", "--analyzer", "127.0.0.1"], "address"),
        (["serve", "shuffler", "t/shuffler", "--analyzer", "http://x.example"], "https"),
        (["serve", "analyzer", "t/shuffler"], "directory of the analyser of this task"),
        (["serve", "analyzer", "t"], "secrets"),
        (["serve", "analyzer"], "DIRECTORY"),
        ([*ANALYZER, "--certificate", "nofile"], "--certificate-key"),
        ([*ANALYZER, "--certificate", "nofile", "--certificate-key", "nokey"], "nofile"),
        ([*ANALYZER, "--certificate", "text", "--certificate-key", "text"], "PEM"),
        ([*ANALYZER, "--certificate-key", "nokey"], "--certificate-key nokey alone"),
        ([*ANALYZER, "--work-seconds", "nan"], "got nan"),
        ([*ANALYZER, "--host", "0.0.0.0"], "certificate"),
        ([*ANALYZER, "--host", "no such host", "--behind-tls"], "no such host"),
        ([*ANALYZER, "--port", "99999"], "--port"),
        ([*ANALYZER, "--config", "nofile"], "nofile"),
        ([*ANALYZER, "--config", "text"], "TOML"),
        ([*ANALYZER, "--config", "binary"], "TOML"),
        ([*ANALYZER, "--config", "colour.toml"], "colour"),
        (["serve", "analyzer", "--config", "port.toml"], "--port"),
        (["serve", "analyzer", "--config", "port.toml"], "in port.toml"),
        (["serve", "analyzer", "--config", "nan.toml"], "in nan.toml"),
        ([*SUBMIT, "--task", "text"], "canonical"),
        ([*SUBMIT, "--task", "nowhere"], "nowhere"),
        ([*SUBMIT, "--shuffler", "x"], "address"),
        (SUBMIT, NOBODY),
        ([*SUBMIT, "--pass", "nofile"], "nofile"),
        ([*SUBMIT, "--pass", "empty"], "an empty file"),
        ([*SUBMIT, "--invitation", "text"], "one pass or invitation"),
        (["serve", "shuffler", "t/shuffler"], "--analyzer"),
        (["serve", "issuer", "t/issuer"], "--analyzer"),
        (["serve", "issuer", "t/shuffler", "--analyzer", NOBODY], "another party"),
        (RESULTS, NOBODY),
        ([*RESULTS, "--wait", "nan"], "got nan"),
        ([*RESULTS, "--wait", "0.2"], "after 0.2 seconds"),
        ([*RESULTS, "--collector", "t/shuffler"], "another party"),
        ([*RESULTS, "--collector", "nowhere"], "nowhere"),
        (["results", "x", *RESULTS[2:]], "WINDOW"),
        (["serve", "demo", "table.csv"], "--column"),
        (["serve", "demo", "--above", "1"], "FILE"),
        (["serve", "demo", "--above", "nan"], "got nan"),
        (["serve", "demo", "--delta", "1"], "0 < delta < 1"),
        (["serve", "demo", "--question", "why?"], "--poll"),
        (["serve", "demo", "--poll", "--above", "3"], "got --above"),
        (["serve", "demo", "--poll", "--question", ""], "empty text"),
        (
            ["serve", "demo", "table.csv", "--column", "y", "--bounds", "400", "0"],
            "got --bounds 400 0",
        ),
        (["serve", "demo", "nofile.csv", "--column", "x", "--above", "1"], "nofile"),
        (["serve", "demo", "table.csv", "--column", "z", "--above", "1"], "z"),
        (["serve", "demo", "table.csv", "--column", "x", "--above", "1"], "missing"),
        (["serve", "demo", "table.csv", "--column", "y", "--domain", "nofile"], "nofile"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else None,
)
@pytest.mark.usefixtures("place")
def test_one_line_says_what_is_wrong(
    arguments: list[str], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert says in failing(arguments, capsys)


@pytest.mark.parametrize("file", ["t/shuffler/secrets.json", "t/analyzer/secrets.json", "secret"])
@pytest.mark.usefixtures("place")
def test_a_secret_given_as_a_task_is_not_repeated(
    file: str, capsys: pytest.CaptureFixture[str]
) -> None:
    document = json.loads(Path(file).read_text())
    said = failing(["task", "show", file], capsys)
    for name, value in document.items():
        assert name not in said
        assert str(value)[:6] not in said


@pytest.mark.parametrize("group", ["serve", "task", "account"])
def test_a_group_alone_prints_its_help(group: str, capsys: pytest.CaptureFixture[str]) -> None:
    with contextlib.suppress(SystemExit):
        main([group])
    out, err = capsys.readouterr()
    assert err == ""
    assert out.startswith("Usage: smoothdp " + group)
    assert "\n\nCommands:\n" in out


@pytest.mark.usefixtures("place")
def test_results_do_not_ask_again_after_a_refusal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = []

    def answer(request: httpx.Request) -> httpx.Response:
        asked.append(request)
        return httpx.Response(401)

    served(answer, monkeypatch)
    assert "401" in failing([*RESULTS, "--wait", "20"], capsys)
    assert len(asked) == 1


def test_a_result_that_was_fetched_is_not_replaced_by_what_an_older_copy_says(
    place: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    task = read_task(place / "t/collector")
    key = SigningKey.from_bytes(
        bytes.fromhex(json.loads((place / "t/analyzer" / SECRETS_FILE).read_text())["sign_key"])
    )
    document = {"task_id": task.task_id.hex(), "window": 5, "reason": "an older copy"}
    kept = place / "5.json"
    kept.write_text("the result")
    for state, words in (("RELEASED", "released before"), ("REFUSED", "refused for good")):
        body = SignedResult.sign(document | {"state": state}, key).encode()
        served(partial(_refused, body), monkeypatch)
        assert words in failing([*RESULTS, "--signed", str(kept)], capsys)
        assert (kept.read_text() == "the result") == (state == "RELEASED")


def _refused(body: bytes, _: httpx.Request) -> httpx.Response:
    return httpx.Response(403, content=body)


def served(
    answer: Callable[[httpx.Request], httpx.Response], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Let every address be answered by a function, and pauses be short."""
    monkeypatch.setattr("smoothdp.cli.serving.submit._PAUSE", 0.01)
    monkeypatch.setattr(
        "smoothdp.services.connect",
        lambda url, **_: httpx.Client(base_url=url, transport=httpx.MockTransport(answer)),
    )


def test_a_port_that_is_taken(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        line = failing([*ANALYZER, "--port", str(port)], capsys)
    assert f"127.0.0.1:{port}" in line
    assert place.exists()


def test_secrets_that_others_can_read(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (place / "t/analyzer" / SECRETS_FILE).chmod(0o640)
    assert "chmod 600" in failing(ANALYZER, capsys)


def test_the_configuration_file_is_what_runs(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: dict[str, Any] = {}
    monkeypatch.setattr("smoothdp.services.run", lambda _, **where: seen.update(where))
    (place / "deep").mkdir()
    (place / "deep" / "s.toml").write_text(
        'directory = "../t/shuffler"\nport = 7\nanalyzer = "https://x.example"\n'
        'certificate = "a.pem"\nbehind-tls = true\nhost = "::1"\n'
    )
    result = CliRunner().invoke(serve, ["shuffler", "--config", "deep/s.toml"])
    assert result.exit_code == 0, result.output
    assert seen["port"] == 7
    assert seen["host"] == "::1"
    assert seen["behind_tls"] is True
    assert seen["certificate"] == Path("deep/a.pem")
    # The command line comes before the file.
    CliRunner().invoke(serve, ["shuffler", "--config", "deep/s.toml", "--port", "8"])
    assert seen["port"] == 8
