"""The commands that make keys, tasks, passes and invitations."""

from __future__ import annotations

import errno
import json
import os
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from smoothdp.cli.serving.task import task as task_command
from smoothdp.errors import InvalidData
from smoothdp.services import agree_on_one_host, read_half, read_task
from smoothdp.services.formats.party_files import PARTIES, make_keys, read_callers
from smoothdp.services.formats.secrets import check_secret

PROMISE = ["--protocol", "boolean-sum", "--epsilon", "1", "--delta", "1e-6", "--min-batch", "300"]


def ran(*arguments: object) -> Result:
    return CliRunner().invoke(task_command, [str(argument) for argument in arguments])


def test_each_party_makes_its_keys_and_the_task_is_made_of_public_halves(tmp_path: Path) -> None:
    for party in PARTIES:
        assert ran("keys", party, tmp_path / party).exit_code == 0
        assert ran("keys", party, tmp_path / party).exit_code != 0
    halves = [item for party in PARTIES for item in (f"--{party}", tmp_path / party)]
    where = ["--issuer-url", "https://issuer.example", "--origin", "analyser.example"]
    made = ran("create", tmp_path / "t", *PROMISE, *halves, *where)
    assert made.exit_code == 0, made.output
    assert "Each person and window costs the issuer 1 signature" in made.stderr
    agreed = read_task(tmp_path / "t")
    assert agreed.analyzer_sign_key == read_half(tmp_path / "analyzer").sign_key
    assert agreed.shuffler_sign_key == read_half(tmp_path / "shuffler").sign_key
    assert agreed.issuer is not None
    assert agreed.issuer.sign_key == read_half(tmp_path / "issuer").sign_key
    callers = read_callers(tmp_path / "t", agreed)
    assert callers == {
        party: read_half(tmp_path / party).token_sha256
        for party in ("shuffler", "issuer", "collector")
    }
    # Nothing secret is in what the parties share, and secrets are their owner's alone.
    shared = b"".join(path.read_bytes() for path in (tmp_path / "t").iterdir())
    for party in PARTIES:
        file = tmp_path / party / "secrets.json"
        assert file.stat().st_mode & 0o077 == 0
        assert all(
            secret.encode() not in shared for secret in json.loads(file.read_text()).values()
        )
    # Another party's half in its place is refused.
    halves += ["--analyzer", tmp_path / "shuffler"]
    swapped = ran("create", tmp_path / "u", *PROMISE, *halves, *where)
    assert swapped.exit_code != 0
    assert not (tmp_path / "u").exists()


def test_tokens_are_what_the_directory_makes(tmp_path: Path) -> None:
    made = ran("create", tmp_path, *PROMISE, "--one-host")
    assert made.exit_code == 0, made.output
    assert "whoever controls it can invent people" in made.stderr
    agreed = read_task(tmp_path)
    for party, use, key_name in (
        ("shuffler", "pass", "pass_key"),
        ("issuer", "invitation", "invitation_key"),
    ):
        secrets = json.loads((tmp_path / party / "secrets.json").read_text())
        key = bytes.fromhex(secrets[key_name])
        texts = ran("tokens", tmp_path / party, "--count", 3).stdout.split()
        for text in texts:
            known = check_secret(text, key=key, use=use, task_id=agreed.task_id)  # type: ignore[arg-type]
            assert known is not None
        assert len(set(texts)) == 3
    refused = ran("tokens", tmp_path / "analyzer")
    assert refused.exit_code != 0
    assert "invitations by the issuer" in refused.output
    shown = ran("show", tmp_path)
    assert json.loads(shown.stdout)["format"] == 2


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--shuffler", "x"], "--analyzer"),
        (["--one-host", "--shuffler", "x"], "got --shuffler too"),
        (["--open", "--issuer", "x"], "--open without an issuer"),
        (["--one-host", "--honest-share", "a"], "share as a number"),
    ],
)
def test_halves_that_do_not_make_a_task(tmp_path: Path, options: list[str], words: str) -> None:
    refused = ran("create", tmp_path / "t", *PROMISE, *options)
    assert refused.exit_code != 0
    assert words in refused.output
    assert not (tmp_path / "t").exists()


def test_a_task_without_an_issuer_says_what_that_means(tmp_path: Path) -> None:
    made = ran("create", tmp_path, *PROMISE, "--one-host", "--open")
    assert made.exit_code == 0, made.output
    assert "the shuffler alone can fill a batch with people it invents" in made.stderr
    assert read_task(tmp_path).issuer is None
    assert not (tmp_path / "issuer").exists()


def test_a_disk_that_is_full_at_any_moment_leaves_nothing_of_a_task(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Keys without a task would be in the way of the next try; what others wrote stays."""
    directory, room, sync = tmp_path / "new" / "t", [0], os.fsync
    (tmp_path / "used" / "analyzer").mkdir(parents=True)
    (tmp_path / "used" / "analyzer" / "notes").write_text("mine")
    before = sorted(tmp_path.rglob("*"))

    def full(handle: int) -> None:
        room[0] -= 1
        if room[0] < 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        sync(handle)

    monkeypatch.setattr(os, "fsync", full)
    promise: dict[str, Any] = {"epsilon": "4", "delta": "0.01", "min_batch": 12}
    promise |= {"issuer_url": "https://issuer.example", "origin": "analyzer.example"}
    for n_files in range(15):
        room[0] = n_files
        where = directory if n_files % 2 else tmp_path / "used"
        with pytest.raises(OSError, match="No space left"):
            agree_on_one_host(where, "boolean_sum", **promise)
        assert sorted(tmp_path.rglob("*")) == before
    room[0] = 15
    agree_on_one_host(tmp_path / "used", "boolean_sum", **promise)
    # A second task in the same place is refused, and takes nothing of the first one.
    room[0] = 99
    made = sorted(tmp_path.rglob("*"))
    with pytest.raises(InvalidData, match="exists"):
        agree_on_one_host(tmp_path / "used", "boolean_sum", **promise)
    assert sorted(tmp_path.rglob("*")) == made
    for n_files in (0, 1):
        room[0] = n_files
        with pytest.raises(OSError, match="No space left"):
            make_keys("issuer", directory)
        assert not directory.parent.exists()
