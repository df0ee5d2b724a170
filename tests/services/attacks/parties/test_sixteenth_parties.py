"""A sixteenth round: the largest batch, and what is told beside the number that is released."""

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
from smoothdp.services.client.submit import prepare
from smoothdp.services.formats.design.values import DUMMY, INVALID
from smoothdp.services.formats.slots import seal_slots
from smoothdp.services.formats.task import Task
from tests.services.attacks.parties.test_fifteenth_parties import hand_over
from tests.services.attacks.parties.test_fourth_counting import TASKS
from tests.services.storages import ONLY_SQLITE
from tests.services.worlds.party_world import HOUR, WINDOW, PartyWorld
from tests.services.worlds.small_tasks import small_task
from tests.services.worlds.whole_world import WholeWorld, _asking, weak_task

# ---- the largest batch ---------------------------------------------------------------------------


def take_tokens(world: WholeWorld, person: str) -> None:
    """Let a person be served, and send nothing."""
    client = world.client(person)
    with (
        _asking(world._issuer_answers, ()) as issuer,
        _asking(world._shuffler_answers, ()) as shuffler,
    ):
        prepare(
            *(client, 1),
            window=WINDOW,
            shuffler=shuffler,
            issuer=issuer,
            invitation=world.invitation_of(person),
        )


@ONLY_SQLITE
@pytest.mark.parametrize("silent", [0, 2])
def test_those_who_send_nothing_have_a_full_window_refused_though_enough_are_there(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
    silent: int,
) -> None:
    """The page: "those that take tokens and send nothing can have it refused, unless (1 - 2 gamma)
    X reaches h0 and the smallest batch is there without them."

    Both hold here: of 10 that were served 8 send, and 4 honest users are enough. But the window is
    full with 5, the other 3 are sent away and count as missing, so 2 silent ones in the share have
    it refused. What it takes besides is that max_batch - floor(gamma X) reaches h0.
    """
    world = WholeWorld(tmp_path, weak_task(honest_share="0.8", min_batch=5, max_batch=5), fast=True)
    task = world.task
    world.open_window()
    answers = [world.take_part(f"person {number}") for number in range(8)]
    assert answers == [202] * 5 + [503] * 3
    for number in range(silent):
        take_tokens(world, f"silent {number}")
    served = 8 + silent
    assert silent <= task.dishonest(served)
    assert (1 - 2 * 0.2) * served >= task.fewest_honest == 4
    said = world.end()
    assert said["accounts_served"] == served
    full = task.max_batch - task.dishonest(served) >= task.fewest_honest
    assert (said["state"], full) == (("REFUSED", False) if silent else ("RELEASED", True))
    world.close()


@ONLY_SQLITE
@pytest.mark.parametrize(
    ("protocol", "largest"),
    [
        ("boolean_sum", 1),
        ("boolean_sum", 10),
        # As it is made where nothing is said of the largest batch: 100 times the smallest.
        ("paired_count", None),
    ],
)
def test_many_people_alone_have_every_window_refused_whose_batch_cannot_grow(
    storage_kind: str,  # noqa: ARG001
    protocol: str,
    largest: int | None,
) -> None:
    """The page: "The price is a task that may release nothing: if a share a of those served never
    sends, X must reach h0 / (1 - a - gamma)".

    Nor may X reach (max_batch - h0 + 1) / gamma: from there on nothing is released, though all
    that were served are honest and send.
    """
    options = {} if largest is None else {"max_batch": 60 * largest}
    task = small_task(protocol, min_batch=60, **options)
    most = task.max_batch
    assert (task.honest_share, most) == ("0.9", 60 * (largest or 100))
    ends = 10 * (most - task.fewest_honest + 1)
    for served, state in ((ends - 1, ""), (ends, "REFUSED"), (100 * ends, "REFUSED")):
        users = min(served, most)
        assert rule(task, users=users, served=served, tally={1: users}).state == state


# ---- what the issuer sees ------------------------------------------------------------------------


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


# ---- what is told beside the number --------------------------------------------------------------

NUMBERS = {"sum", "mean", "counts"}
QUICK = ("boolean_sum", "real_sum")


def data_of(task: Task) -> Sequence[int]:
    binned = task.protocol in ("histogram", "low_communication_histogram", "paired_histogram")
    return range(task.size) if binned else (0, 1)


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
