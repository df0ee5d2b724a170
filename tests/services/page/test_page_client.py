"""The page's client in Node against a real issuer, and a shuffler that records what it is sent."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from smoothdp.services.client import submit as python_client
from smoothdp.services.client.inclusion import Standing
from smoothdp.services.client.outcomes import DESTROYED
from smoothdp.services.formats.batch import BatchHeader
from smoothdp.services.formats.card import Card, SignedCard, sign_card
from smoothdp.services.formats.marks import MarksFile, mark_of
from smoothdp.services.formats.report import Report
from smoothdp.services.formats.result import SignedResult
from smoothdp.services.formats.signing import SigningKey
from smoothdp.services.formats.slot_tokens import SlotTokens
from smoothdp.services.formats.slots import open_slot
from smoothdp.services.tokens.issuer_key import IssuerPublicKey
from tests.services.page.page_person import page, served, without_issuer
from tests.services.page.page_program import needs_node, run
from tests.services.worlds.issuing_world import WINDOW, IssuingWorld, Recorder
from tests.services.worlds.small_tasks import ANALYZER_SIGN, SHUFFLER_SIGN, small_task

pytestmark = needs_node

# What a row has in every state: nothing of the answer, nor of the ciphertexts.
ALWAYS = ["cardDigest", "ends", "isSigned", "pass", "state"]

# ---- one report per person and window


def test_a_shuffler_that_refuses_a_hundred_times_gets_one_report(world: IssuingWorld) -> None:
    recorder = Recorder(world, [503, 409, 500] * 34)
    said = page(
        world,
        recorder,
        """
        const said = [];
        for (let press_ = 0; press_ < 51; press_++) {
          said.push(await press(press_ % 2));
          load();  // the page again
        }
        return said;
        """,
    )
    assert len(recorder.bodies) == len(set(recorder.bodies)) >= 100
    (report,) = {report.encode() for report in recorder.reports()}
    slots = Report.decode(report, signed=True)
    card = SignedCard.decode(world.make_card()).card
    tokens = SlotTokens(card, issuer_name="issuer.example", origin="analyzer.example")
    assert all(map(tokens.verify, slots.slots, slots.signatures))
    assert open_slot(slots.slots[0], card, world.inner) in (0, 1)
    assert served(world) == 1
    other = "Another report came with this pass in this window, or this report with another pass."
    assert other in said[0]


def test_a_second_draw_after_cleared_state_is_refused_and_not_sent(world: IssuingWorld) -> None:
    recorder = Recorder(world)
    said = page(
        world,
        recorder,
        """
        const said = [await press(1)];
        for (let again = 0; again < 3; again++) {
          stored.rows.clear(); stored.cards.clear();
          said.push(await press(0, given.invitations[0], { pass: "q".repeat(96) }));
        }
        return said;
        """,
    )
    assert said == ["", *[f"{python_client.USED}."] * 3]
    assert recorder.connections == len(recorder.bodies) == 1
    assert recorder.passes == {"Bearer " + "p" * 96}
    assert served(world) == 1


def test_the_page_asks_by_the_browsers_own_fetch(world: IssuingWorld) -> None:
    recorder = Recorder(world)
    said = page(
        world,
        recorder,
        """
        const own = globalThis.fetch;
        globalThis.fetch = function (url, fields) {
          const there = url.startsWith(away) ? given.issuer + url.slice(away.length)
            : given.shuffler + url;
          return own.call(this, there, fields);
        };
        return press(1, given.invitations[0], { fetcher: undefined, attempts: 1 });
        """,
    )
    assert (said, len(recorder.bodies)) == ("", 1)


def test_a_retry_asks_for_the_same_tokens(world: IssuingWorld) -> None:
    recorder = Recorder(world)
    bodies = page(
        world,
        recorder,
        """
        // The issuer signs, and its answer is lost.
        const lost = async (url, fields) => {
          const answer = await fetcher(url, fields);
          if (url.includes("/v2/tokens/")) throw new TypeError("lost");
          return answer;
        };
        const said = [await press(1, given.invitations[0], { fetcher: lost, attempts: 3 })];
        load();
        said.push(await press(0));
        return [said, asked.filter(([url]) => url.includes("/v2/tokens/")).map(([, body]) => body)];
        """,
    )
    assert bodies[0][0].startswith("The service does not answer")
    assert bodies[0][1] == ""
    assert len(bodies[1]) == 4
    assert len(set(bodies[1])) == 1
    assert len(recorder.bodies) == 1


def test_tabs_at_once_agree_on_one_report(world: IssuingWorld) -> None:
    recorder = Recorder(world)
    said = page(world, recorder, "return Promise.all([0, 1, 0].map((datum) => press(datum)));")
    assert said == ["", "", ""]
    assert len({report.encode() for report in recorder.reports()}) == 1
    assert served(world) == 1


def test_one_invitation_however_it_is_typed_and_another_person(world: IssuingWorld) -> None:
    recorder = Recorder(world, [503] * 20)
    page(
        world,
        recorder,
        """
        const [own, other] = given.invitations;
        for (const text of [own.toUpperCase(), ` ${own}`, own.slice(0, 9) + " " + own.slice(9)]) {
          await press(1, text);
        }
        await press(1, other, { pass: "q".repeat(96) });
        """,
    )
    reports = [report.encode() for report in recorder.reports()]
    assert len(reports) == 20
    assert len(set(reports[:15])) == 1
    assert len(set(reports)) == 2
    assert served(world) == 2


def test_what_is_sent_is_stored_first_and_tells_nothing(world: IssuingWorld) -> None:
    recorder = Recorder(world)
    found = page(
        world,
        recorder,
        """
        const before = [];
        const looking = (url, fields) => {
          before.push([url.includes("/cards/"), ...(stored.rows ? hex(stored.rows) : [])]);
          return fetcher(url, fields);
        };
        const said = await press(1, given.invitations[0], { fetcher: looking });
        const keys = [...stored.rows.keys()].join();
        return { said, before, after: hex(stored.rows), keys, invitation: given.invitations[0] };
        """,
    )
    (fetched,), (asking, drawn), (handing, final) = found["before"]
    assert (found["said"], fetched, asking, handing) == ("", True, False, False)
    assert sorted(drawn) == sorted([*ALWAYS, "drawnEnds", "seed", "slots"])
    assert (drawn["state"], len(drawn["slots"]), len(drawn["seed"])) == ("drawn", 104, 64)
    # Slots and seed are gone, the report is there; nothing names the person.
    assert sorted(final) == sorted([*ALWAYS, "report"])
    assert [one["state"] for one in found["after"]] == ["sent"]
    assert {report.encode().hex() for report in recorder.reports()} == {final["report"]}
    assert found["invitation"] not in found["keys"]


def test_a_store_that_fails_sends_nothing(world: IssuingWorld) -> None:
    recorder = Recorder(world)
    found = page(
        world,
        recorder,
        "indexedDB.open = () => { throw new Error('no'); }; return [await press(1), asked];",
    )
    assert "Allow storage for this page" in found[0]
    assert found[1] == []


# ---- cards and keys that are not good


def changed_cards(world: IssuingWorld) -> dict[str, bytes]:
    """Return cards that a client must refuse, each for one reason."""
    good = SignedCard.decode(world.make_card())
    stranger = SigningKey.from_bytes(b"\x09" * 32)

    def signed(card: Card) -> bytes:
        pair = sign_card(card, ANALYZER_SIGN), sign_card(card, SHUFFLER_SIGN)
        return SignedCard(card, *pair).encode()

    card = good.card
    assert card.issuer_spki is not None
    even = card.issuer_spki[:-6] + bytes([card.issuer_spki[-6] ^ 1]) + card.issuer_spki[-5:]
    order_eight = bytes.fromhex("5f9c95bca3508c24b1d0b1559c83ef5b04445cc4581c8e86d8224eddd09f1157")
    return {
        "the second service did not": replace(
            good, analyzer_signature=sign_card(card, stranger)
        ).encode(),
        "the first service did not": replace(
            good, shuffler_signature=sign_card(card, ANALYZER_SIGN)
        ).encode(),
        "that of another poll": signed(replace(card, task_id=bytes(32))),
        "that of another time": signed(replace(card, window=WINDOW + 1)),
        "its issuer is not": signed(replace(card, issuer_spki=None)),
        "one of its keys hides": signed(replace(card, gateway_key=bytes(32))),
        "of its keys hides nothing": signed(replace(card, inner_key=order_eight)),
        "its issuer's key is none": signed(replace(card, issuer_spki=even)),
        "it is no card": b"\x01" + good.encode()[1:],
        "is no card": good.encode() + b"\x00",
    }


def test_changed_cards_are_refused_and_nothing_is_sent(world: IssuingWorld) -> None:
    recorder = Recorder(world)
    cards = changed_cards(world)
    found = page(
        world,
        recorder,
        """
        const said = [];
        for (const card of given.cards) {
          const changed = (url, fields) => url.includes("/cards/")
            ? new Response(smoothdp.fromHex(card)) : fetcher(url, fields);
          said.push(await press(1, given.invitations[0], { fetcher: changed }));
        }
        const kept = [stored.rows.size, stored.cards.size];
        return { said, kept, asked: [...asked], after: await press(1) };
        """,
        cards=[card.hex() for card in cards.values()],
    )
    for why, said in zip(cards, found["said"], strict=True):
        assert why in said
        assert "Nothing of this time was sent" in said
    assert (found["kept"], found["asked"], found["after"]) == ([0, 0], [], "")


def test_a_second_card_for_a_window_is_refused(world: IssuingWorld) -> None:
    recorder = Recorder(world)
    first = SignedCard.decode(world.make_card()).card
    second = replace(first, inner_key=world.gateway.public.to_bytes())
    pair = sign_card(second, ANALYZER_SIGN), sign_card(second, SHUFFLER_SIGN)
    said = page(
        world,
        recorder,
        """
        const changed = (url, fields) => url.includes("/cards/")
          ? new Response(smoothdp.fromHex(given.second)) : fetcher(url, fields);
        const [one, other] = given.invitations;
        const more = { fetcher: changed, pass: "q".repeat(96) };
        const said = [await press(1, one), await press(1, other, more)];
        // Also when the window is over here, and its card forgotten but for the digest.
        now += 2 * 3600;
        await press(1, one, { window: given.window + 2 });
        now = given.now;
        said.push(await press(1, other, more));
        return said;
        """,
        second=SignedCard(second, *pair).encode().hex(),
    )
    assert said[0] == ""
    assert "Another card was seen here" in said[1]
    assert said[2] == said[1]
    assert len(recorder.bodies) == 1


def test_a_key_of_small_primes_ends_the_window_before_anything_is_sent(
    world: IssuingWorld,
) -> None:
    """An n of all primes: few messages and factors are units."""
    n, number = 1, 3
    while n.bit_length() < 2030:
        if all(number % by for by in range(3, int(number**0.5) + 1, 2)):
            n *= number
        number += 2
    n *= ((1 << 2048) // n - 1) | 1
    card = world.make_card(spki=IssuerPublicKey(n).spki)
    recorder = Recorder(world)
    said = page(
        world,
        recorder,
        """
        const marked = (url, fields) => url.includes("/cards/")
          ? new Response(smoothdp.fromHex(given.card)) : fetcher(url, fields);
        const said = [];
        for (const who of given.invitations) {
          said.push([await press(1, who, { fetcher: marked }), await press(1, who)]);
        }
        return { said, rows: hex(stored.rows) };
        """,
        card=card.hex(),
    )
    # A unit goes to the issuer, which has another key.
    marked = [pair for pair in said["said"] if "made to mark people" in pair[0]]
    assert len(marked) >= 1
    assert all("othing of this time was sent, and nothing will be" in pair[1] for pair in marked)
    ended = [row for row in said["rows"] if row["state"] == "ended"]
    assert [sorted(row) for row in ended] == [sorted(ALWAYS)] * len(marked)
    assert recorder.connections == 0


def test_answers_that_are_no_signature_end_the_window(world: IssuingWorld) -> None:
    recorder = Recorder(world)
    found = page(
        world,
        recorder,
        """
        const said = [], bad = [0, 1, 255, 256, 512];
        for (const [at, who] of given.invitations.entries()) {
          const wrong = (url, fields) => url.includes("/tokens/")
            ? new Response(new Uint8Array(bad[at] || 1).fill(bad[at])) : fetcher(url, fields);
          said.push(await press(1, who, { fetcher: wrong }), await press(1, who));
        }
        return said;
        """,
    )
    assert len(found) == 8
    assert all("no signature on what this page asked for" in one for one in found[::2])
    assert all("othing of this time was sent, and nothing will be" in one for one in found[1::2])
    assert recorder.connections == 0


# ---- clocks and windows that are over


def test_a_clock_that_was_wrong_makes_no_second_report(world: IssuingWorld) -> None:
    recorder = Recorder(world)
    world.open_window(WINDOW + 3)
    found = page(
        world,
        recorder,
        """
        const said = [await press(1)];
        now += 3 * 3600;  // what is over is replaced by its marks
        said.push(await press(1, given.invitations[0], { window: given.window + 3 }));
        now = given.now;
        said.push(await press(1), await press(0));
        said.push(await press(0, given.invitations[1], { window: given.window + 3 }));
        return { said, rows: hex(stored.rows) };
        """,
    )
    # The issuer's clock is right: no tokens for the later window yet.
    over = "is not made anew. It had arrived."
    assert found["said"][0] == ""
    assert "clock right" in found["said"][1]
    assert all(over in said for said in found["said"][2:4])
    assert "not the present one by the clock of this device" in found["said"][4]
    (report,) = recorder.reports()
    first, later = sorted(found["rows"], key=lambda row: "seed" in row)
    assert later["state"] == "drawn"
    assert (first["state"], first["marks"]) == (
        "marks",
        MarksFile.of(bytes(32), report.slots).marks.hex(),
    )


def test_a_report_without_an_answer_is_sent_again_in_the_grace(world: IssuingWorld) -> None:
    recorder = Recorder(world, [503])
    found = page(
        world,
        recorder,
        """
        const said = [await press(1, given.invitations[0], { attempts: 1 })];
        now += 3300;  // the next window, which has no card
        said.push(await press(0, given.invitations[0], { window: given.window + 1 }));
        return { said, states: hex(stored.rows).map((row) => row.state) };
        """,
    )
    assert found["said"][0].startswith("The service does not answer")
    assert "There is no card of this window yet" in found["said"][1]
    assert found["states"] == ["sent"]
    first, again = recorder.reports()
    assert first == again


def test_a_time_that_is_named_is_waited_for_once(world: IssuingWorld) -> None:
    waited = page(
        world,
        Recorder(world),
        """
        const waited = [];
        const early = (seconds) => (url, fields) => url.includes("/tokens/")
          ? new Response(null, { status: 425, headers: { "retry-after": seconds } })
          : fetcher(url, fields);
        const pause = async (seconds) => { waited.push(seconds); };
        for (const seconds of ["7", "400", "soon"]) {
          waited.push(await press(1, given.invitations[0], { fetcher: early(seconds), pause }));
        }
        return waited;
        """,
    )
    clock = "Set this machine's clock right, or wait for the window to begin."
    assert waited == [7, clock, clock, clock]


# ---- without an issuer: the pass alone, as nobody else knows people apart


@pytest.mark.parametrize("status", [401, 403, 410, 425, 429])
def test_another_pass_sends_what_was_not_accepted(tmp_path: Path, status: int) -> None:
    """Also back under the first; once it is accepted, under whichever, another is a person."""
    sent = without_issuer(
        tmp_path,
        f"""
        told.push({status}, {status}, 202, 202);
        for (const pass of ["a", "b", "b", "a", "c", "b"]) {{ await by(pass); load(); }}
        return sent;
        """,
    )
    passes = [who[-1] for who, _ in sent]
    reports = [report for _, report in sent]
    # What was accepted is not sent again.
    assert passes == ["a", "b", "b", "c"]
    assert reports[0] == reports[1] == reports[2] != reports[3]


def test_another_person_says_so_and_counts(tmp_path: Path) -> None:
    sent = without_issuer(
        tmp_path,
        """
        told.push(503);
        await by("a", { attempts: 1 });
        await by("b", { anotherPerson: true });
        return sent;
        """,
    )
    assert len({report for _, report in sent}) == len(sent) == 2


# ---- what the budget pays for, and answers that do not end


def test_no_more_windows_are_answered_than_the_budget_pays_for(tmp_path: Path) -> None:
    """Cards for more are not answered, but those that the shuffler says it destroyed are free."""
    world = IssuingWorld(tmp_path, issuer=None, proof="none", windows=2)
    try:
        found = page(
            world,
            Recorder(world),
            """
            let gone = 404;
            const heads = [];
            const shuffler = async (url, fields = {}) => {
              if (fields.method === "HEAD") {
                heads.push(url.split("/").slice(-2).join("/"));
                const over = url.endsWith(`/${given.window}`);
                return new Response(null, { status: over ? gone : 404 });
              }
              const card = given.cards[url.split("/").at(-1)];
              if (url.includes("/cards/")) return new Response(smoothdp.fromHex(card));
              return new Response(null, { status: 202 });
            };
            const take = (turn, pass = "p".repeat(96)) => {
              now = given.now + 3600 * turn;
              return press(1, "", { window: given.window + turn, pass, fetcher: shuffler });
            };
            const said = [await take(0), await take(1), await take(2)];
            said.push(await take(2, "q".repeat(96)));
            gone = 410;
            said.push(await take(2), await take(2), await take(3));
            return { said, heads, states: hex(stored.rows).map((row) => row.state) };
            """,
            cards={str(WINDOW + turn): world.make_card(WINDOW + turn).hex() for turn in range(4)},
        )
    finally:
        world.close()
    spent = "The budget of this poll pays for no more answers"
    assert [said[: len(spent)] for said in found["said"]] == ["", "", spent, "", "", "", spent]
    assert found["heads"] == [f"marks/{WINDOW + turn}" for turn in (0, 1, 0, 1, 1, 2)], found
    destroyed = "marks of a report that the shuffler destroyed"
    assert found["states"] == [destroyed, *["marks"] * 3]


def test_an_answer_that_does_not_end_is_not_heard_out(world: IssuingWorld) -> None:
    """Whichever service it is: so much is read and no more, and nothing is sent to the shuffler."""
    recorder = Recorder(world)
    said, read, rows = page(
        world,
        recorder,
        """
        const read = [], endless = () => {
          let at = read.push(0) - 1;
          return new Response(new ReadableStream({
            pull: (to) => { read[at] += 5000; to.enqueue(new Uint8Array(5000)); },
          }, { highWaterMark: 0 }));
        };
        const said = [];
        for (const [which, who] of [["/cards/", 0], ["/tokens/", 1]]) {
          const slow = async (url, fields) =>
            url.includes(which) ? endless() : fetcher(url, fields);
          said.push(await press(1, given.invitations[who], { fetcher: slow, attempts: 5 }));
        }
        for (const most of [0, 1, 4999, 5000, 12345]) {
          said.push(await smoothdp.bytesOf(endless(), most).catch((error) => error.message));
        }
        const short = (size) => new Response(new Uint8Array(size).fill(7));
        said.push((await smoothdp.bytesOf(short(70000), 70000)).length);
        said.push((await smoothdp.bytesOf(new Response(null), 0)).length);
        const two = await smoothdp.bytesOf(new Response(new ReadableStream({ start(to) {
          to.enqueue(Uint8Array.of(1, 2)); to.enqueue(Uint8Array.of(3)); to.close(); } })), 3);
        said.push(smoothdp.toHex(two));
        return [said, read, hex(stored.rows).map((row) => row.state)];
        """,
    )
    assert all(one.startswith("A service answered with more than") for one in said[:7]), said
    assert said[7:] == [70000, 0, "010203"]
    assert read == [70000, 70000, 5000, 5000, 5000, 10000, 15000]
    assert (recorder.bodies, rows) == ([], ["drawn"])


# ---- words, and whether the own report is in


def test_the_words_are_those_of_the_command_line_client() -> None:
    found = run("return [smoothdp.ISSUER, smoothdp.SHUFFLER, smoothdp.STANDING];")
    issuer, shuffler = ({int(key): value for key, value in words.items()} for words in found[:2])
    assert issuer == python_client._ISSUER
    assert shuffler == python_client._SHUFFLER
    assert found[2] == {standing.name: standing.value for standing in Standing}


def test_what_the_page_says_of_each_protocol() -> None:
    """As the sentence of a result does: whole reports but for two sums, invented people."""
    options: dict[str, dict[str, Any]] = {
        "boolean_sum": {},
        "real_sum": {"size": 3},
        "histogram": {"size": 3, "min_batch": 16},
        "paired_count": {},
        "split_sum": {"bounds": ("0", "10")},
    }
    cases = [
        (name, alone, small_task(name, **more, **alone))
        for name, more in options.items()
        for alone in ({}, {"issuer": None, "proof": "none"})
    ]
    tasks = [task.encoded.decode() for _, _, task in cases]
    found = run("return given.map((task) => smoothdp.privacyWords(JSON.parse(task)));", tasks)
    for (name, alone, _), said in zip(cases, found, strict=True):
        words = dict(said)
        promise = words["What the published result tells about you"]
        assert "at least 90% of the participants" in promise
        is_sum = name in ("boolean_sum", "real_sum")
        assert ("hands on whole reports" in promise) != is_sum
        assert ("invents no participants" in promise) == bool(alone)
        inventing = words["Who could invent participants"]
        assert ("The first service alone could" in inventing) == bool(alone)
        assert ("the issuer" in words["What the second service learns"]) != bool(alone)
        assert not any("undefined" in text or "NaN" in text for text in words.values())


def test_the_marks_tell_what_became_of_a_report() -> None:
    task = small_task()
    digest, other = b"d" * 32, b"o" * 32
    slots = [bytes([number]) * 52 for number in range(3)]
    report = Report(digest, tuple(slots[:2]), (bytes(256), bytes(256))).encode()
    row = {"cardDigest": digest.hex(), "report": report.hex(), "kept": "", "state": "sent"}
    own = b"".join(map(mark_of, slots[:2])).hex()

    def case(
        held: list[bytes],
        *,
        card: bytes = digest,
        said: bytes | None = None,
        key: SigningKey = SHUFFLER_SIGN,
        marks: bytes | None = None,
        **more: str,
    ) -> dict[str, Any]:
        file = MarksFile.of(card, held)
        header = BatchHeader(True, card, bytes(16), 1, len(held), (bytes(32),), file.sha256)
        document = {
            "task_id": task.task_id.hex(),
            "window": WINDOW,
            "card_digest": card.hex(),
            "marks_sha256": (said or file.sha256).hex(),
            "batch_header": header.sign(key).encode().hex(),
        }
        signed = SignedResult.sign(document, ANALYZER_SIGN)
        return {
            "row": row | more,
            "result": json.loads(signed.encode()),
            "marks": (file.encode() if marks is None else marks).hex(),
        }

    not_good = "What is published is not what both services signed."
    cases = [
        (case(slots), Standing.INCLUDED),
        (case(slots, state="final"), Standing.INCLUDED),
        (case(slots, report="", kept=own, state="marks"), Standing.INCLUDED),
        (case(slots[2:], report="", kept=own, state="marks"), Standing.LEFT_OUT),
        (case(slots[2:]), Standing.LEFT_OUT),
        (case(slots[2:], state="final"), Standing.NOT_THERE),
        (case(slots[1:]), Standing.IN_PART),
        (case(slots, said=other), Standing.DENIED),
        (case(slots, card=other), Standing.OTHER_CARD),
        (case(slots, report="", kept=own, state=DESTROYED), Standing.DESTROYED),
        (case(slots, report=""), Standing.NOT_SENT),
        (case(slots, key=ANALYZER_SIGN), not_good),
        (case(slots, marks=MarksFile.of(digest, slots[:1]).encode()), not_good),
        (case(slots, marks=b""), not_good),
    ]
    found = run(
        """
        const { fromHex, lookUp, readResult } = smoothdp, said = [];
        const task = JSON.parse(given.task), taskId = given.taskId;
        for (const { row, result, marks } of given.cases) {
          const kept = { state: row.state, cardDigest: fromHex(row.cardDigest),
            report: row.report ? fromHex(row.report) : undefined, marks: fromHex(row.kept) };
          const document = await readResult({ task, taskId }, result);
          said.push(await lookUp({ task }, kept, document, fromHex(marks)).catch((e) => e.message));
        }
        const [{ result }] = given.cases;
        for (const bad of [{ ...result, result: result.result + " " },
          { ...result, signature: "00".repeat(64) }]) {
          said.push(await readResult({ task, taskId }, bad).catch((error) => error.message));
        }
        said.push(await readResult({ task, taskId: "00" }, result).catch((error) => error.message));
        return said;
        """,
        {
            "task": task.encoded.decode(),
            "taskId": task.task_id.hex(),
            "cases": [given for given, _ in cases],
        },
    )
    wanted = [str(right) for _, right in cases] + [not_good] * 3
    assert all(one.startswith(right) for one, right in zip(found, wanted, strict=True)), found
