"""What is told beside the number that is released: to an issuer, to a shuffler, to everybody."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from smoothdp.exact.random.entropy import SeededRandom
from smoothdp.services.analyzer.release import work
from smoothdp.services.analyzer.release_rule import rule
from smoothdp.services.analyzer.result_document import describe_batch
from smoothdp.services.formats.design.values import DUMMY, INVALID
from smoothdp.services.formats.slots import seal_slots
from smoothdp.services.formats.task import Task
from smoothdp.services.issuer.window_keys import close_windows
from tests.services.storages import ONLY_SQLITE
from tests.services.worlds.each_protocol import TASKS
from tests.services.worlds.party_world import HOUR, WINDOW, PartyWorld
from tests.services.worlds.shufflers_batches import hand_over
from tests.services.worlds.small_tasks import small_task
from tests.services.worlds.token_takers import take_tokens
from tests.services.worlds.whole_world import WholeWorld, weak_task


@ONLY_SQLITE
def test_who_asks_again_though_the_budget_was_used_up_shows_that_nothing_was_sent(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
) -> None:
    """Under "What nothing here stands against".

    Its answer to one person is lost on the way. The budget pays for one window; the analyser's
    side refuses it, and gives tokens for the next one: of all whom it has served only that person
    asks again, and so sent nothing. Whose report was lost on its way to the shuffler is not told.
    """
    world = WholeWorld(tmp_path, weak_task(windows=1), fast=True)
    world.open_window()
    people = [f"person {n}" for n in range(4)]
    for person in people:
        assert world.take_part(person) == 202
    world.take_part("no answer", lose=("tokens answer",))
    world.take_part("no report", lose=("reports request",))
    world.seal()
    close_windows(world.issuer)
    world.tell_served(1)
    world.deliver()
    work(world.analyzer)
    assert world.result()["state"] == "QUARANTINED"
    world.go_to((WINDOW + 1) * HOUR + 700)
    world.clocks[-1].heard(world.now)
    world.open_window(WINDOW + 1)
    again = []
    for person in [*people, "no answer", "no report"]:
        client = world.client(person)
        client.settle()
        # What `submit` finds before it turns to the issuer.
        if not client.spent():
            assert world.take_part(person, window=WINDOW + 1) == 202
            again.append(person)
    assert again == ["no answer"]
    world.close()


@ONLY_SQLITE
@pytest.mark.parametrize("sends", [True, False])
def test_an_issuer_that_serves_the_smallest_batch_sees_whether_a_report_was_sent(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
    sends: bool,
) -> None:
    """The page, of the issuer: it "does not see [...] whether the report was sent".

    If users and accounts served are one number, all that it served have sent. If it serves no more
    than the smallest batch, and one person alone may be away, a batch shows that this one is not;
    without a batch the shuffler tells everybody that it destroyed the reports.
    """
    world = WholeWorld(tmp_path, weak_task(min_batch=3), fast=True)
    world.open_window()
    for person in ("first", "second"):
        assert world.take_part(person) == 202
    if sends:
        assert world.take_part("third") == 202
    else:
        take_tokens(world, "third")
    said = world.end()
    assert world.shuffler.is_expired(WINDOW) is not sends
    assert said.get("users", 0) == (3 if sends else 0)
    assert said.get("accounts_served") == (3 if sends else None)
    world.close()


QUICK = ("boolean_sum", "real_sum")


def data_of(task: Task) -> Sequence[int]:
    binned = task.protocol in ("histogram", "low_communication_histogram", "paired_histogram")
    return range(task.size) if binned else (0, 1)


NUMBERS = {"sum", "mean", "counts"}


def told(task: Task, tally: Mapping[int, int], served: int) -> dict[str, Any]:
    """Return all that is told of a batch but the numbers that are released."""
    users = task.min_batch
    ruling = rule(task, users=users, served=served, tally=tally)
    if ruling.state:
        return {"state": ruling.state, "reason": ruling.reason}
    if task.protocol == "paired_histogram":
        # Its document is made as that of a paired count, and takes half a minute.
        return {"honest": ruling.honest}
    document = describe_batch(
        task, window=1, users=users, served=served, tally=tally, ruling=ruling
    )
    # The error of a mean is rounded up beside the mean itself.
    document.pop("error_of_mean", None)
    return {name: value for name, value in document.items() if name not in NUMBERS}


@ONLY_SQLITE
@pytest.mark.parametrize(
    "protocol", [pytest.param(p, marks=() if p in QUICK else pytest.mark.slow) for p in TASKS]
)
def test_all_that_is_told_beside_the_number_is_the_same_whatever_people_hold(
    storage_kind: str,  # noqa: ARG001
    protocol: str,
) -> None:
    """The page: a batch that shows more false users is quarantined, with "slots that mean nothing,
    in histograms too little noise or too many messages, in paired protocols too few signs".

    What is told of it costs nothing of the budget. It follows from how many slots hold messages,
    dummies or nothing, and how many an honest user sends is the same for each datum: the same
    coins give the same number. So do warnings, errors and sentences of what is released.
    """
    task = small_task(protocol, **TASKS[protocol])
    for seed in range(20):
        sent = [task.values(datum, rng=SeededRandom(seed)) for datum in data_of(task)]
        assert len({sum(value == DUMMY for value in values) for values in sent}) == 1
    rng, honest = SeededRandom(1), Counter[int]()
    for _ in range(task.min_batch):
        honest.update(task.values(0, rng=rng))
    # All messages hold something else.
    others = Counter(
        {v if v == DUMMY else (v + 1) % task.design.n_values: n for v, n in honest.items()}
    )
    assert others != honest
    for false, served in (
        ({}, task.min_batch),
        ({}, 2 * task.min_batch),
        ({INVALID: 1}, task.min_batch),
        ({INVALID: task.slots * task.min_batch}, task.min_batch),
        ({DUMMY: task.slots * task.min_batch}, task.min_batch),
        ({0: task.slots * task.min_batch}, task.min_batch),
    ):
        one, another = honest + Counter(false), others + Counter(false)
        assert told(task, one, served) == told(task, another, served)


@ONLY_SQLITE
@pytest.mark.parametrize("how", ["unsigned", "twice", "few", "nothing meant"])
def test_a_shuffler_learns_nothing_from_the_refusal_of_a_batch_around_one_person(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
    how: str,
) -> None:
    """The page: "QUARANTINED, nothing is released": nor does the reason, which is signed and costs
    nothing, depend on what the one person holds around whom the shuffler made the batch.
    """
    said = []
    for datum in (0, 1):
        folder = tmp_path / str(datum)
        folder.mkdir()
        world = PartyWorld(folder)
        world.open_window()
        victim = world.report(datum).records
        own = [world.sign(seal_slots([0], world.card())) for _ in range(9)]
        false = [0xFFFF if how == "nothing meant" else 0] * 4
        own += [world.sign(seal_slots([value], world.card())) for value in false]
        records = [*victim, *(record for report in own for record in report.records)]
        if how == "unsigned":
            records[1] = records[1][:-1] + bytes([records[1][-1] ^ 1])
        if how == "twice":
            records[1] = victim[0]
        world.go_to((WINDOW + 2) * HOUR)
        answers = hand_over(world, records, WINDOW, bytes(16))
        close = world.tell_served(60 if how == "few" else 14)
        work(world.analyzer)
        document = world.result()
        assert document["state"] == ("REFUSED" if how == "few" else "QUARANTINED")
        assert world.charged() == []
        hashes = ("card_digest", "marks_sha256", "batch_header")
        said.append((answers, close, {k: v for k, v in document.items() if k not in hashes}))
        world.close()
    assert said[0] == said[1]
