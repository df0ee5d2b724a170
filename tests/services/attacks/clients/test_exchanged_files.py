"""Pass and invitation in each other's place: who has seen which is told."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from smoothdp.errors import SmoothdpError
from smoothdp.services import take_part
from smoothdp.services.client.outcomes import FINAL
from smoothdp.services.wire.calls import ServiceError
from tests.services.page.page_person import page
from tests.services.page.page_program import needs_node
from tests.services.storages import ON_BOTH_STORAGES
from tests.services.worlds.issuing_world import HOUR, WINDOW, IssuingWorld, Recorder
from tests.services.worlds.late_person import Late
from tests.services.worlds.other_issuers import failing_issuer
from tests.services.worlds.place import Place
from tests.services.worlds.quick_clients import hasty_world, state_of_me


def test_a_pass_in_the_place_of_the_invitation_is_said_to_be_known(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The two files exchanged: the analyser's side has the pass then."""
    with ExitStack() as stack:
        place = Place(tmp_path, stack)
        with pytest.raises(SystemExit):
            place.submit(**{"pass": "invitation", "invitation": "pass"})
        assert "ask who runs the shuffler for another one" in capsys.readouterr().err
        # The other half did not leave: the shuffler has not seen the invitation.
        assert place.parties.shuffler.shuffler.totals()["pending"] == 0


def _exchanged(late: Late) -> None:
    own_pass, invitation = late.secrets["pass_secret"], late.secrets["invitation"]
    late.secrets = {"pass_secret": invitation, "invitation": own_pass}
    late.shuffler.answers = [401, 401]


def _shown(late: Late) -> bool:
    return f"Bearer {late.secrets['pass_secret']}" in late.shuffler.passes


@pytest.mark.parametrize("window", [WINDOW, WINDOW + 1])
def test_whoever_exchanges_the_files_at_a_retry_is_told_what_the_shuffler_has_seen(
    window: int, world: IssuingWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With tokens in hand the invitation goes to the shuffler first: the issuer cannot say it."""
    late = Late(world, monkeypatch)
    if window == WINDOW:
        world.go_to(world.now - HOUR + 300)
    world.open_window(window)
    _exchanged(late)
    with pytest.raises(ServiceError) as said:
        late.take_part()
    assert not _shown(late) or "the shuffler has seen it now" in str(said.value)


def test_files_exchanged_before_a_shuffler_that_fails(quick_world: IssuingWorld) -> None:
    """The issuer has seen the pass, and says so; nothing goes to the shuffler then."""
    shuffler = Recorder(quick_world, [503, 503])
    own: dict[str, Any] = {"pass_secret": "0a" * 48, "invitation": quick_world.invitation()}
    asked: Callable[..., Any] = partial(
        take_part, shuffler=shuffler.address, issuer=quick_world.address
    )
    with pytest.raises(ServiceError):
        asked(quick_world.task, 1, **own)
    assert state_of_me(quick_world) == FINAL
    quick_world.go_to(quick_world.now + HOUR - 300)
    quick_world.open_window(WINDOW + 1)
    exchanged = {"pass_secret": own["invitation"], "invitation": own["pass_secret"]}
    with pytest.raises(SmoothdpError) as said:
        asked(quick_world.task, 1, **exchanged)
    assert f"Bearer {own['invitation']}" not in shuffler.passes
    assert "the issuer has seen it now" in str(said.value)


@pytest.mark.parametrize("status", [b"502 Bad Gateway", b"503 Service Unavailable"])
def test_files_exchanged_before_an_issuer_that_fails(
    status: bytes, quick_world: IssuingWorld
) -> None:
    """With tokens in hand "nothing goes to the issuer": a late report waits, the issuer is away.

    Both sides have seen the other's secret then, and the words name one of them.
    """
    shuffler = Recorder(quick_world, [503, 401])
    own = {"pass_secret": "0a" * 48, "invitation": quick_world.invitation()}
    asked = partial(take_part, quick_world.task, 1, shuffler=shuffler.address)
    with pytest.raises(ServiceError):
        asked(issuer=quick_world.address, **own)
    quick_world.go_to((WINDOW + 1) * HOUR + 5.0)
    seen: list[str] = []
    failing = failing_issuer(quick_world, status, seen)
    exchanged = {"pass_secret": own["invitation"], "invitation": own["pass_secret"]}
    with pytest.raises(SmoothdpError) as said:
        asked(issuer=failing, **exchanged)
    to_issuer = own["pass_secret"] in "".join(seen)
    to_shuffler = f"Bearer {own['invitation']}" in shuffler.passes
    words = str(said.value)
    assert not to_issuer or "it has seen your pass" in words
    assert not to_shuffler or "the shuffler has seen it now" in words


@ON_BOTH_STORAGES
@pytest.mark.parametrize("why", ["a datum that is none", "no card", "nobody there", "spent"])
def test_who_exchanges_the_files_is_not_told_that_an_issuer_saw_what_it_was_never_shown(
    why: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """ "The issuer was asked before ...: it has seen your pass": no request had a secret.

    A late report waits, and what keeps the present one back comes before any token request: the
    pass was shown to nobody but the shuffler, and is as good as before.
    """
    world = hasty_world(tmp_path, monkeypatch, windows=1 if why == "spent" else 20)
    try:
        shuffler = Recorder(world, [503, 401])
        own = {"pass_secret": "0a" * 48, "invitation": world.invitation()}
        asked = partial(take_part, world.task, shuffler=shuffler.address)
        with pytest.raises(ServiceError):
            asked(1, issuer=world.address, **own)
        seen: list[str] = []
        admit = world.issuer.admit

        def noted(secret: str, *more: Any) -> Any:
            seen.append(secret)
            return admit(secret, *more)

        monkeypatch.setattr(world.issuer, "admit", noted)
        world.go_to((WINDOW + 1) * HOUR + 5.0)
        if why != "no card":
            world.open_window(WINDOW + 1)
        with pytest.raises(SmoothdpError) as said:
            asked(
                "x" if why.startswith("a datum") else 1,
                issuer="http://127.0.0.1:9" if why == "nobody there" else world.address,
                pass_secret=own["invitation"],
                invitation=own["pass_secret"],
            )
        assert f"Bearer {own['invitation']}" in shuffler.passes
        assert "the shuffler has seen it now" in str(said.value)
        assert not seen
        assert "it has seen your pass" not in str(said.value)
    finally:
        world.close()


@needs_node
def test_the_page_says_of_both_secrets_who_has_seen_them(quick_world: IssuingWorld) -> None:
    """The two exchanged, an answer of before that waits, an issuer that fails."""
    recorder = Recorder(quick_world, [503, 401])
    quick_world.open_window(WINDOW + 1)
    found = page(
        quick_world,
        recorder,
        """
        const own = given.invitations[0], passes = [], shown = [];
        const first = await press(1, own, { attempts: 1 });
        now += 3600;
        const failing = async (url, fields = {}) => {
          const secret = fields.headers?.authorization ?? "";
          if (url.startsWith(away) && fields.method === "POST") {
            shown.push(secret);
            return new Response(null, { status: 503 });
          }
          if (!url.startsWith(away) && fields.method === "POST") {
            passes.push(secret);
            return new Response(null, { status: 401 });
          }
          return fetcher(url, fields);
        };
        const second = await press(1, "p".repeat(96),
          { attempts: 1, pass: own, window: given.window + 1, fetcher: failing });
        return { first, second, passes, shown };
        """,
    )
    assert len(found["shown"]) == 1
    words = found["second"]
    assert not found["passes"] or "the second service's side has it now" in words
