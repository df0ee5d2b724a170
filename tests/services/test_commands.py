"""What goes wrong at the commands is said in one line, without a traceback."""

from __future__ import annotations

import contextlib
import json
import shutil
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest
from click.testing import CliRunner

from smoothdp.cli.main import main
from smoothdp.cli.serving.serve import serve
from smoothdp.services.analyzer.analyzer_party import AnalyzerParty
from smoothdp.services.client.submit import submit
from smoothdp.services.shuffler.sealing import seal_window
from smoothdp.services.shuffler.shuffler_party import ShufflerParty, issue_tokens
from smoothdp.services.wire.key_files import SECRETS_FILE, write_parties
from smoothdp.services.wire.running import on_loopback
from tests.services.world import KEY, small_task

PROMISE = ["--epsilon", "4", "--delta", "1e-3", "--min-batch", "10"]
BOOLEAN = ["task", "create", "made", "--protocol", "boolean-sum"]
HISTOGRAM = ["task", "create", "made", "--protocol", "histogram", *PROMISE]
SUM = ["task", "create", "made", "--protocol", "real-sum", *PROMISE]
NOBODY = "http://127.0.0.1:1"
SHUFFLER = ["serve", "shuffler", "t/shuffler", "--analyzer", NOBODY]
ANALYZER = ["serve", "analyzer", "t/analyzer"]
SUBMIT = ["submit", "1", "--task", "t", "--shuffler", NOBODY, "--token-file", "token"]
RESULTS = ["results", "5", "--collector", "t/collector", "--analyzer", NOBODY]


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory with a task, a token, and files that are wrong in several ways."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(
        submit, "__kwdefaults__", {**(submit.__kwdefaults__ or {}), "pause": lambda _: None}
    )
    written = write_parties(Path("t"), small_task(min_batch=10), KEY)
    Path("token").write_text(issue_tokens(written.shuffler, 1)[0])
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
        ([*BOOLEAN, "--epsilon", "1", "--delta", "2", "--min-batch", "10"], "delta"),
        ([*BOOLEAN, *PROMISE, "--dishonest-share", "x"], "--dishonest-share"),
        ([*BOOLEAN, *PROMISE, "--dishonest-share", "1"], "--dishonest-share"),
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
        ([*HISTOGRAM, "--domain", "names"], "the 9 users of --min-batch 10 "),
        ([*BOOLEAN, *PROMISE, "--min-batch", "1"], "got --min-batch 1 with"),
        ([*BOOLEAN, *PROMISE, "--n-bits", "8"], "--n-bits with a real-sum alone"),
        (["task", "show", "t/shuffler/secrets.json"], "JSON written in another way"),
        (["task", "show", "secret"], "another document"),
        (["task", "show", "empty"], "an empty file"),
        (["task", "show", "nowhere"], "nowhere"),
        (["task", "show", "text"], "canonical"),
        (["task", "tokens", "t/analyzer"], "another party"),
        (["task", "rotate-keys", "t/collector"], "another party"),
        (["serve", "shuffler", "t/analyzer", "--analyzer", NOBODY], "another party"),
        (["serve", "shuffler", "t/shuffler", "--analyzer", "127.0.0.1"], "address"),
        (["serve", "shuffler", "t/shuffler", "--analyzer", "http://x.example"], "https"),
        (["serve", "shuffler", "t/shuffler"], "--analyzer"),
        (["serve", "analyzer", "t/shuffler"], "another party"),
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
        (SUBMIT, NOBODY),
        ([*SUBMIT[:1], "2", *SUBMIT[2:]], "0 to 1"),
        ([*SUBMIT[:1], "-1", *SUBMIT[2:]], "0 to 1"),
        ([*SUBMIT[:1], "yes", *SUBMIT[2:]], "0 to 1"),
        ([*SUBMIT[:-1], "nofile"], "nofile"),
        ([*SUBMIT[:-1], "empty"], "empty"),
        ([*SUBMIT[:-1], "text"], "token"),
        ([*SUBMIT, "--task", "text"], "canonical"),
        ([*SUBMIT, "--task", "nowhere"], "nowhere"),
        ([*SUBMIT, "--shuffler", "x"], "address"),
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
    if says == "0 to 1":
        party = ShufflerParty.from_directory(Path("t/shuffler"))
        with on_loopback(party.app(NOBODY, work_seconds=3600)) as url:
            line = failing([url if value == NOBODY else value for value in arguments], capsys)
        assert party.shuffler.totals()["accepted"] == 0
        party.shuffler.storage.close()
    else:
        line = failing(arguments, capsys)
    assert says in line


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


@pytest.mark.parametrize("trouble", [None, 500, 503])
@pytest.mark.usefixtures("place")
def test_results_ask_again_while_the_analyser_is_away(
    trouble: int | None, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = []

    def answer(request: httpx.Request) -> httpx.Response:
        asked.append(request)
        if len(asked) < 3:
            if trouble is None:
                raise httpx.ConnectError("away", request=request)
            return httpx.Response(trouble, text="no")
        return httpx.Response(200, json={"users": 10})

    served(answer, monkeypatch)
    main([*RESULTS, "--wait", "20"])
    assert json.loads(capsys.readouterr().out) == {"users": 10}
    assert len(asked) == 3


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


def served(
    answer: Callable[[httpx.Request], httpx.Response], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Let every address be answered by a function, and pauses be short."""
    monkeypatch.setattr("smoothdp.cli.serving.submit._PAUSE", 0.01)
    monkeypatch.setattr(
        "smoothdp.services.connect",
        lambda url: httpx.Client(base_url=url, transport=httpx.MockTransport(answer)),
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


def test_a_ledger_of_another_budget(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    AnalyzerParty.from_directory(Path("t/analyzer")).analyzer.storage.close()
    (ledger,) = (place / "t/analyzer").glob("ledger-*.db")
    write_parties(Path("u"), small_task(min_batch=12), KEY)
    other = AnalyzerParty.from_directory(Path("u/analyzer")).analyzer
    other.storage.close()
    (theirs,) = (place / "u/analyzer").glob("ledger-*.db")
    shutil.copy(ledger, theirs)
    # The same budget: no harm. A file that is no ledger: refused.
    AnalyzerParty.from_directory(Path("u/analyzer")).analyzer.storage.close()
    theirs.write_bytes(b"not a ledger" * 1000)
    line = failing(["serve", "analyzer", "u/analyzer"], capsys)
    assert "ledger" in line


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


def test_results_wait_and_say_that_there_are_none(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    analyzer = AnalyzerParty.from_directory(place / "t/analyzer")
    shuffler = ShufflerParty.from_directory(place / "t/shuffler")
    with (
        on_loopback(analyzer.app(work_seconds=0.1)) as analyzer_url,
        on_loopback(shuffler.app(analyzer_url, work_seconds=3600)) as url,
    ):
        window = shuffler.shuffler.window_now(shuffler.task)
        asking = ["results", str(window), "--collector", "t/collector", "--analyzer", analyzer_url]
        with pytest.raises(SystemExit) as caught:
            main(asking)
        assert caught.value.code == 3
        capsys.readouterr()
        for token in issue_tokens(place / "t/shuffler", 10):
            Path("token").write_text(token + "\n")
            main([*SUBMIT, "--shuffler", url])
        said = capsys.readouterr().out
        assert said.count("Accepted for window") == 10
        windows = {int(line.split()[-1].rstrip(".")) for line in said.splitlines()}
        for sent in windows:
            seal_window(shuffler.shuffler, shuffler.task, sent)
        shuffler.work(analyzer_url)
        if len(windows) == 1:
            main([*asking[:1], str(windows.pop()), *asking[2:], "--wait", "30"])
            assert json.loads(capsys.readouterr().out)["users"] == 10
    shuffler.shuffler.storage.close()
    analyzer.analyzer.storage.close()


def test_two_people_at_one_computer_send_two_answers(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What was randomised is kept for a token: another person's is not sent in its place."""
    shuffler = ShufflerParty.from_directory(place / "t/shuffler")
    with on_loopback(shuffler.app("http://127.0.0.1:1", work_seconds=3600)) as url:
        for token, datum in zip(
            issue_tokens(place / "t/shuffler", 2), ("1", "banana"), strict=True
        ):
            Path("token").write_text(token + "\n")
            arguments = ["submit", datum, *SUBMIT[2:], "--shuffler", url]
            if datum == "1":
                main(arguments)
                assert "Accepted" in capsys.readouterr().out
            else:
                assert "whole number" in failing(arguments, capsys)
    shuffler.shuffler.storage.close()
