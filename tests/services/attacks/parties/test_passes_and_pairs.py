"""Sentences of the page of threats, tried by users with many passes and by pairs of parties."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations, islice
from pathlib import Path
from typing import Any

import httpx
import pytest

from smoothdp.services.formats.report import Report, seal_report
from smoothdp.services.formats.slot_tokens import SlotTokens
from smoothdp.services.formats.slots import seal_slots
from smoothdp.services.issuer.issuer import Issuer
from smoothdp.services.tokens.token import parse_requests
from tests.services.storages import ONLY_SQLITE
from tests.services.worlds.page_of_threats import PAGE, on_the_page
from tests.services.worlds.party_world import WINDOW
from tests.services.worlds.small_tasks import small_task
from tests.services.worlds.token_takers import take_tokens
from tests.services.worlds.whole_world import WholeWorld, weak_task


def hand_in_mixed(world: WholeWorld, accounts: int, passes: int) -> list[int]:
    """Let few be served, and hand in as many reports of their slots as there are passes.

    Any M of the slots that they have tokens for are a report, and one pass is enough for each.
    """
    records = list[tuple[bytes, bytes]]()
    for number in range(accounts):
        take_tokens(world, f"served {number}")
        report = world.report_of(f"served {number}")
        records += zip(report.slots, report.signatures, strict=True)
    card, answers = world.card(), list[int]()
    chosen = combinations(sorted(records), world.task.slots)
    for number, some in enumerate(islice(chosen, passes)):
        slots, signatures = zip(*some, strict=True)
        sealed = seal_report(Report(card.digest, slots, signatures).encode(), card)
        answers.append(world.post(WINDOW, world.pass_of(f"pass {number}"), sealed))
    return answers


@ONLY_SQLITE
@pytest.mark.parametrize(("largest", "passes"), [(8, 2), (8, 3), (14, 12)])
def test_what_two_accounts_in_the_share_and_more_passes_can_have_refused_is_on_the_page(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
    largest: int,
    passes: int,
) -> None:
    """The page: "Those that send reports which share slots take a place of the window until it is
    sealed with each pass that they have [...]: `max_batch` less floor(gamma X) and these passes
    must reach h0 then, and less these passes the smallest batch."

    Of 12 that were served 2 are false, as the share allows. They have one
    pass more, or ten, of people who ask for no token, so that X does not count them. The tokens of
    two accounts are good for C(2M, M) reports that share slots: each takes a place of the window
    until it is sealed, and all of them are left out then. One pass more has the window refused,
    ten have it destroyed.
    """
    task = weak_task(
        protocol="real_sum", size=4, honest_share="0.8", min_batch=5, max_batch=largest
    )
    world = WholeWorld(tmp_path, task, fast=True)
    world.open_window()
    assert hand_in_mixed(world, accounts=2, passes=passes) == [202] * passes
    for number in range(10):
        world.take_part(f"person {number}")
    served, false = 12, 2
    assert false <= task.dishonest(served)
    assert Fraction(6, 10) * served >= task.fewest_honest
    assert served - false >= task.min_batch
    left = task.max_batch - passes
    is_safe = left >= task.min_batch and left - task.dishonest(served) >= task.fewest_honest
    assert is_safe == (passes == 2)
    said = world.end()
    world.close()
    assert (said["state"] == "RELEASED") == is_safe


@ONLY_SQLITE
def test_issuer_and_shuffler_learn_what_one_device_sent(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
) -> None:
    """The page, of "issuer with shuffler": "of the values what one person's device sent in each
    window that the budget pays for".

    The issuer signs slots of people who are not there, the shuffler gives them passes, and each
    knows what it put in. What an honest analyser publishes, less that, is what the device of the
    one person sent.
    """
    world = WholeWorld(tmp_path, weak_task(), fast=True)
    world.open_window()
    assert world.take_part("person") == 202
    ((sent, _),) = world.values_of(world.report_of("person"), WINDOW).items()
    for number in range(world.task.min_batch - 1):
        take_tokens(world, f"served {number}")
    invent(world, world.task.min_batch - 1)
    assert ones_of_result(world) == sent
    assert on_the_page("of the values what one person's device sent in each window")
    world.close()


@ONLY_SQLITE
def test_issuer_and_shuffler_read_several_devices_where_the_sum_is_at_its_end(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
) -> None:
    """The page, of the same two: "or several at once, where the sum is at its end".

    Two people are left in. Both devices sent the same, as two of any three did: the published sum
    shows what each of them sent.
    """
    world = WholeWorld(tmp_path, weak_task(), fast=True)
    card, sent = world.open_window(), dict[str, int]()
    for number in range(3):
        # The shuffler is silent: it takes each report, and hands in those that it chooses.
        person = f"person {number}"
        take_tokens(world, person)
        ((sent[person], _),) = world.values_of(world.report_of(person), WINDOW).items()
    value = max((0, 1), key=list(sent.values()).count)
    for person in [person for person, one in sent.items() if one == value][:2]:
        sealed = seal_report(world.report_of(person).encode(), card)
        assert world.post(WINDOW, world.pass_of(person), sealed) == 202
    invent(world, world.task.min_batch - 2)
    assert ones_of_result(world) == 2 * value
    assert on_the_page("or several at once, where the sum is at its end")
    world.close()


def invent(world: WholeWorld, people: int) -> None:
    """Let issuer and shuffler put in reports of people who are not there: each holds a 0."""
    task, card = world.task, world.card()
    issuer = Issuer._key(world.issuer, WINDOW)
    assert issuer is not None
    assert task.issuer is not None
    tokens = SlotTokens(card, issuer_name=task.issuer.name, origin=task.origin)
    for number in range(people):
        slots = tuple(seal_slots((0,), card))
        asked = parse_requests(tokens.request(slots, seed=b"s" * 32), key=tokens.key, slots=1)
        answer = b"".join(map(issuer.sign, asked))
        signed = tuple(tokens.finalize(slots, seed=b"s" * 32, answer=answer))
        sealed = seal_report(Report(card.digest, slots, signed).encode(), card)
        assert world.post(WINDOW, world.pass_of(f"invented {number}"), sealed) == 202


def ones_of_result(world: WholeWorld) -> int:
    """Return how many slots of a released window hold a 1, by its published sum alone."""
    task, said = world.task, world.end()
    assert (said["state"], said["users"]) == ("RELEASED", task.min_batch)
    flip = Fraction(task.noise) / 2**64
    return round(Fraction(said["sum"]) * (1 - 2 * flip) + flip * task.min_batch)


@ONLY_SQLITE
def test_what_two_accounts_make_of_their_tokens_is_never_counted(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
) -> None:
    """The page: "reports that share a slot are left out and counted, the marks show it"; and of
    one user: no second report. Twenty reports of the tokens of two accounts are no vote at all.
    """
    task = weak_task(protocol="real_sum", size=4, honest_share="0.8", min_batch=5, max_batch=40)
    world = WholeWorld(tmp_path, task, fast=True)
    world.open_window()
    assert hand_in_mixed(world, accounts=2, passes=20) == [202] * 20
    assert [world.take_part(f"person {number}") for number in range(6)] == [202] * 6
    said = world.end()
    assert (said["state"], said["users"], said["accounts_served"]) == ("RELEASED", 6, 8)
    assert world.shuffler.totals()["shared"] == 20
    world.close()


@ONLY_SQLITE
@pytest.mark.parametrize("lost", [(), ("reports answer",), ("reports request",)])
def test_an_issuer_is_asked_the_same_whether_a_report_was_sent_or_not(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
    monkeypatch: pytest.MonkeyPatch,
    lost: tuple[str, ...],
) -> None:
    """The page: the issuer does not see "whether the report was sent".

    Whatever became of the report, a retry in its window and the window after it ask the issuer for
    the same: one card and one set of tokens a window.
    """
    world = WholeWorld(tmp_path, fast=True)
    asked, answers = list[str](), world._issuer_answers

    def listening(request: httpx.Request) -> tuple[str, httpx.Response]:
        asked.append(request.url.path.removeprefix("/v2/"))
        return answers(request)

    monkeypatch.setattr(world, "_issuer_answers", listening)
    world.open_window()
    for _ in range(3):
        world.take_part("person", lose=lost)
    world.go_to(world.now + 3600)
    world.clocks[-1].heard(world.now)
    world.open_window(WINDOW + 1)
    world.take_part("person", window=WINDOW + 1)
    name = world.task.task_id.hex()
    assert asked == [
        path
        for window in (WINDOW, WINDOW + 1)
        for path in (f"tasks/{name}/cards/{window}", f"tokens/{name}/{window}")
    ]
    world.close()


@ONLY_SQLITE
@pytest.mark.parametrize(
    ("protocol", "options", "printed"),
    [
        ("boolean_sum", {"min_batch": 200}, 1.994),
        ("real_sum", {"min_batch": 1000, "size": 8}, 16.303),
        ("split_sum", {"min_batch": 1000, "bounds": ("0", "1")}, 12.358),
        ("split_sum", {"min_batch": 1000, "max_batch": 1000, "bounds": ("0", "1")}, 12.358),
    ],
)
def test_tasks_as_they_are_made_leave_what_the_page_says_if_both_services_collude(
    storage_kind: str,  # noqa: ARG001
    protocol: str,
    options: dict[str, Any],
    printed: float,
) -> None:
    """The page, of shuffler and analyser: "epsilon 1.994 above, 16.303 for the real sum, next to
    nothing for a split sum, 12.358 at smallest batches of 1,000".

    Of the numbers that `task create` gives, at the smallest batch and at the largest one.
    """
    task = small_task(protocol, epsilon="1", delta="1e-6", **options)
    for users in (task.min_batch, task.max_batch):
        left = task.collect(users).local_profile().epsilon(task.delta)
        assert math.ceil(1000 * left) / 1000 == printed
    assert str(printed) in PAGE.read_text(encoding="utf-8")
