"""A task that one side alone hands out, with keys that are all its own."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import httpx
import pytest

from smoothdp.cli.main import main
from smoothdp.services import take_part
from smoothdp.services.client import taking_part
from smoothdp.services.formats.design.task_request import create_task
from smoothdp.services.formats.design.task_shape import TaskIssuer
from smoothdp.services.formats.report import Report, open_report
from smoothdp.services.formats.secrets import Secret
from smoothdp.services.formats.signing import SigningKey
from smoothdp.services.formats.task import Task
from smoothdp.services.issuer.issuer import Account
from smoothdp.services.wire.calls import ServiceError
from tests.services.storages import ONLY_SQLITE
from tests.services.worlds.page_of_threats import on_the_page
from tests.services.worlds.party_world import WINDOW
from tests.services.worlds.quick_clients import hasten
from tests.services.worlds.whole_world import WholeWorld

BINS = ("north", "south", "east", "west")
ISSUER_URL, TRUE_SHUFFLER, FALSE_SHUFFLER = (
    f"https://{name}.example" for name in ("issuer", "shuffler", "other")
)


def _task(first: int) -> Task:
    """Return one task, but for the three keys that its parties sign with."""
    keys = [SigningKey.from_bytes(bytes([first + at]) * 32).public for at in range(3)]
    return create_task(
        "histogram",
        epsilon="1",
        delta="1e-6",
        min_batch=1000,
        size=4,
        domain=BINS,
        honest_share="0.9",
        window_seconds=3600,
        grace_seconds=600,
        windows=20,
        analyzer_sign_key=keys[0],
        shuffler_sign_key=keys[1],
        issuer=TaskIssuer("issuer.example", ISSUER_URL, keys[2].hex),
        origin="analyzer.example",
    )


class _OneParty(WholeWorld):
    """All keys of a task in one hand: what it says to somebody who was given this task."""

    def __init__(self, folder: Path, task: Task) -> None:
        super().__init__(folder, task, fast=True)
        self.seen = list[tuple[str, str, str]]()
        self.reports = list[Report]()

    def opened(self, sealed: bytes) -> Report:
        held = self.shuffler.cards.opened(WINDOW)
        assert held is not None
        return open_report(sealed, held[0].card, held[1])

    def answer(self, request: httpx.Request) -> httpx.Response:
        kind = request.url.path.split("/")[2]
        self.seen.append((request.url.host, kind, request.headers.get("authorization", "")[7:]))
        if kind == "tasks":
            return httpx.Response(200, content=self.issuer.card(WINDOW))
        if kind == "tokens":
            admitted = self.issuer.admit(
                self.invitation_of("anybody"), WINDOW, len(request.content)
            )
            assert isinstance(admitted, Account)
            signed = self.issuer.answer(admitted, request.content)
            assert isinstance(signed, bytes)
            return httpx.Response(200, content=signed)
        self.reports.append(self.opened(request.content))
        return httpx.Response(202)


@ONLY_SQLITE
@pytest.mark.parametrize("address", [FALSE_SHUFFLER, TRUE_SHUFFLER])
@pytest.mark.parametrize("choice", BINS)
def test_one_side_that_gives_somebody_the_task_reads_the_report_alone(
    choice: str,
    address: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    storage_kind: str,  # noqa: ARG001
) -> None:
    """One side gives a person a task that is the true one but for three keys, all its own, and the
    address of the shuffler: both secrets are shown to it, and the report lies open with its sender.
    At the true shuffler's address nothing comes of it.
    """
    assert on_the_page(
        "Whoever alone gives somebody a task, or the page, can be all of its parties"
    )
    # Those of a world of tests are 1, 2 and 3: here they are all one party's.
    true, false = _task(21), _task(1)
    party = _OneParty(tmp_path, false)
    party.open_window()
    hasten(monkeypatch, lambda: party.now)

    def connect(url: str) -> httpx.Client:
        def handle(request: httpx.Request) -> httpx.Response:
            # A true shuffler serves another task.
            is_true = request.url.host == httpx.URL(TRUE_SHUFFLER).host
            return httpx.Response(404) if is_true else party.answer(request)

        return httpx.Client(base_url=url, transport=httpx.MockTransport(handle))

    monkeypatch.setattr(taking_part, "connect", connect)
    own = {
        "pass_secret": Secret.issue(b"t" * 32, use="pass", task_id=true.task_id).text,
        "invitation": Secret.issue(b"u" * 32, use="invitation", task_id=true.task_id).text,
    }
    if address == TRUE_SHUFFLER:
        with pytest.raises(ServiceError, match="serves another task"):
            take_part(false, choice, shuffler=address, **own)
        assert not party.reports
    else:
        assert take_part(false, choice, shuffler=address, **own).window == WINDOW
        (report,) = party.reports
        values: Counter[int] = party.values_of(report, WINDOW)
        values.pop(0xFFFFFFFF, None)
        # The own choice, and each choice but with probability .049: one that is there twice is it.
        assert set(values.values()) <= {1, 2}
        assert {BINS[value] for value, n in values.items() if n == 2} <= {choice}
        assert choice in {BINS[value] for value in values}
        assert ("other.example", "reports", own["pass_secret"]) in party.seen
        assert ("issuer.example", "tokens", own["invitation"]) in party.seen
    party.close()


@ONLY_SQLITE
def test_a_task_that_one_side_alone_names_is_refused_by_its_hash(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    storage_kind: str,  # noqa: ARG001
) -> None:
    """The shuffler gives a visitor of its poll a task of its own: with the hash that the other
    organisation names nothing leaves; without it the program says that all is well.
    """
    party = _OneParty(tmp_path, _task(1))
    party.open_window()
    hasten(monkeypatch, lambda: party.now)
    monkeypatch.setattr(
        taking_part,
        "connect",
        lambda url: httpx.Client(base_url=url, transport=httpx.MockTransport(party.answer)),
    )
    invitation = Secret.issue(b"u" * 32, use="invitation", task_id=_task(21).task_id).text
    for name, text in (("pass", party.pass_of("visitor")), ("invitation", invitation)):
        (tmp_path / name).write_text(text)
    (tmp_path / "task.json").write_bytes(party.task.encoded)
    words = ["submit", "north", "--task", f"{tmp_path}/task.json", "--pass", f"{tmp_path}/pass"]
    words += ["--invitation", f"{tmp_path}/invitation", "--shuffler", TRUE_SHUFFLER]
    true = _task(21).task_id.hex()
    for named in ([true], [party.task.task_id.hex(), true], ["0x"], [true.upper()]):
        with pytest.raises(SystemExit) as ended:
            main([*words, *(word for one in named for word in ("--task-id", one))])
        assert ended.value.code == 2
        assert "Nothing was sent" in capsys.readouterr().err
    assert (party.seen, party.reports) == ([], [])
    main([*words, "--task-id", party.task.task_id.hex().upper()])
    said = capsys.readouterr()
    assert (said.out, said.err) == (f"Accepted for window {WINDOW}.\n", "")
    assert ("issuer.example", "tokens", invitation) in party.seen
    (report,) = party.reports
    assert 0 in party.values_of(report, WINDOW)
    party.close()
