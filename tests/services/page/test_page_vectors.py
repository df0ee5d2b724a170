"""The page's formats in Node, on the vectors that other implementations computed."""

from __future__ import annotations

from typing import Any

from smoothdp.services.formats.card import Card
from smoothdp.services.formats.signing import SigningKey
from smoothdp.services.wire.hybrid import PrivateKey
from tests.services.formats.vectors import cases
from tests.services.page.page_program import needs_node, run

pytestmark = needs_node
H = bytes.fromhex


def over(function: str, count: int, code: str, **more: Any) -> tuple[list[Any], list[Any]]:
    """Return what code makes of the inputs of each case, and what it must be."""
    given = [{**inputs, **more} for inputs, _ in cases(function, count=count)]
    wanted = [expected for _, expected in cases(function, count=count)]
    found = run(
        "const { fromHex, toHex, toBig, fromBig, concat, split } = smoothdp; const all = [];"
        "const big = (words) => BigInt(words.startsWith('0x') ? words : '0x' + words);"
        "for (const [number, v] of given.inputs.entries()) { const w = given.wanted[number];"
        f"all.push(await (async () => {{ {code} }})()); }} return all;",
        {"inputs": given, "wanted": wanted},
    )
    assert len(found) == len(wanted) == count
    return found, wanted


def signer(secret: str) -> str:
    return SigningKey.from_bytes(H(secret)).public.hex


def public_of(secret: str) -> str:
    return PrivateKey.from_bytes(H(secret)).public.to_bytes().hex()


def test_card() -> None:
    found, wanted = over(
        "card",
        2,
        """
        const [spki] = v.issuer_spki;
        const bytes = smoothdp.encodeCard({
          taskId: fromHex(v.task_id), window: v.window, gatewayKey: fromHex(v.gateway_public),
          innerKey: fromHex(v.analyzer_public), spki: spki ? fromHex(spki) : null,
        });
        const card = await smoothdp.decodeCard(bytes);
        return { card: toHex(bytes), card_digest: toHex(card.digest) };
        """,
    )
    for one, right in zip(found, wanted, strict=True):
        assert one == {name: right[name] for name in one}
    inputs = [given for given, _ in cases("card", count=2)]
    pairs = [
        (signer(v[f"{party}_sign_secret"]), right["card"], right[signature])
        for v, right in zip(inputs, wanted, strict=True)
        for party, signature in (("analyzer", "card_signature"), ("shuffler", "cosignature"))
    ]
    good = run(
        """
        const { fromHex, isSigned } = smoothdp, all = [];
        for (const [key, card, signature] of given) {
          const check = (use, data, made) => isSigned(key, use, data, made);
          const [data, made] = [fromHex(card), fromHex(signature)];
          const changed = made.map((byte, i) => byte ^ (i === 63 ? 1 : 0));
          all.push([await check("card", data, made), await check("batch", data, made),
            await check("card", data.slice(1), made), await check("card", data, changed)]);
        }
        return all;
        """,
        pairs,
    )
    assert good == [[True, False, False, False]] * 4


def test_keys_of_small_order_sign_nothing() -> None:
    """With the neutral element as key, the signature of all zeros but R = 1 fits everything."""
    found = run(
        """
        const key = "01" + "00".repeat(31), signature = smoothdp.fromHex(key + "00".repeat(32));
        return [await smoothdp.isSigned(key, "card", new Uint8Array(3), signature),
          await smoothdp.canCheck()];
        """
    )
    assert found == [False, True]


def test_report() -> None:
    found, wanted = over(
        "report",
        15,
        """
        const card = await smoothdp.decodeCard(fromHex(v.card));
        const slots = w.slots.map(fromHex), secret = fromHex(v.analyzer_secret);
        const values = [], nonces = [];
        for (const slot of slots) values.push(await smoothdp.openSlot(slot, secret, card.digest));
        for (const slot of slots) nonces.push(toHex(await smoothdp.slotNonce(slot)));
        const from = { card, issuerName: v.issuer_name, origin: v.origin, slots,
          seed: fromHex(v.k_w) };
        let requests = [], signatures = [];
        if (card.spki) {
          requests = split(await smoothdp.tokenRequest(from), 259).map(toHex);
          const answer = concat(...v.responses.map(fromHex));
          signatures = await smoothdp.finalizeAll(from, answer);
        }
        const report = smoothdp.encodeReport(card.digest, slots, signatures);
        const again = smoothdp.slotsOfReport(report, Boolean(card.spki)).map(toHex);
        return { values: values.sort((a, b) => a - b), slots: again, nonces, requests,
          report: toHex(report), report_id: toHex(await smoothdp.reportId(report)) };
        """,
    )
    for one, right in zip(found, wanted, strict=True):
        assert one == {**right, "values": sorted(right["values"])}


def test_slots_that_the_page_seals() -> None:
    """They open to the values, ascend, and are sealed to their card alone."""
    given, _ = cases("report", count=15)[0]
    found = run(
        """
        const { fromHex, toHex, openSlot } = smoothdp;
        const card = await smoothdp.decodeCard(fromHex(given.card));
        const slots = await smoothdp.sealSlots([0, 1, smoothdp.DUMMY, 7], card);
        const secret = fromHex(given.analyzer_secret), values = [];
        for (const slot of slots) values.push(await openSlot(slot, secret, card.digest));
        const other = await openSlot(slots[0], secret, new Uint8Array(32)).catch(() => "refused");
        return { values: values.sort((a, b) => a - b), slots: slots.map(toHex), other };
        """,
        given,
    )
    assert found["values"] == [0, 1, 7, 0xFFFFFFFF]
    assert found["slots"] == sorted(found["slots"])
    assert found["other"] == "refused"


def test_sealed_report() -> None:
    keys = [public_of(given["gateway_secret"]) for given, _ in cases("sealed_report", count=2)]
    found, wanted = over(
        "sealed_report",
        2,
        """
        const card = { window: v.window, gatewayKey: fromHex(v.keys[number]) };
        const report = fromHex(v.report);
        const fresh = await smoothdp.sealReport(report, card);
        const again = await smoothdp.sealReport(report, card);
        const opened = toHex(await smoothdp.openReport(fresh, fromHex(v.gateway_secret)));
        const sealed = await smoothdp.sealReport(report, card, fromHex(v.ephemeral_ikm));
        return [toHex(sealed), opened === v.report, toHex(fresh) !== toHex(again)];
        """,
        keys=keys,
    )
    assert found == [[right, True, True] for right in wanted]


def test_blind_rsa() -> None:
    """RFC 9474, appendix A: 4,096 bits, the same arithmetic."""
    found, wanted = over(
        "blind_rsa",
        4,
        """
        const [n, e] = [big(v.n), big(v.e)];
        const factor = smoothdp.divisor(big(v.inv), n)[1];
        const made = await smoothdp.blindBy(n, e, fromHex(v.input_msg),
          { salt: fromHex(v.salt), factor });
        const signature = smoothdp.finalize(n, made, fromHex(w.blind_sig), e);
        return { blinded_msg: toHex(made.request), blind_sig: w.blind_sig, sig: toHex(signature) };
        """,
    )
    assert found == wanted


def test_token() -> None:
    """RFC 9578: another implementation's keys, requests and tokens."""
    found, wanted = over(
        "token",
        6,
        """
        const spki = fromHex(w.pkS), n = smoothdp.modulusOf(spki);
        const hash = async (bytes) => new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
        const challenge = await hash(fromHex(v.token_challenge));
        const message = await smoothdp.tokenInput(fromHex(v.nonce), challenge, spki);
        // The vectors give the factor itself; ours is one more than the bytes, mod n - 1.
        const bytes = fromBig(big(v.blind) - 1n, 272);
        const made = await smoothdp.blind(n, message, { salt: fromHex(v.salt), bytes });
        const signature = smoothdp.finalize(n, made, fromHex(w.token_response));
        const start = concat(fromHex("0002"), (await hash(spki)).slice(-1));
        return { pkS: w.pkS, token_request: toHex(concat(start, made.request)),
          token_response: w.token_response, token: toHex(concat(message, signature)) };
        """,
    )
    assert found == wanted


def test_a_modulus_of_small_primes() -> None:
    found, wanted = over(
        "blind_checked",
        3,
        """
        const made = smoothdp.blind(big(v.n), fromHex(v.token_input),
          { salt: fromHex(v.salt), bytes: fromHex(v.blind) });
        return made.then(({ request }) => toHex(request), (error) =>
          error instanceof smoothdp.TokenRefused && error.message.includes("to mark people")
            ? "refused" : error.message);
        """,
    )
    assert found == wanted
    assert sorted(one == "refused" for one in found) == [False, True, True]


def test_answers_and_keys_that_are_refused() -> None:
    """Each bit of what a client checks of a key, and of the issuer's answer."""
    given, expected = cases("token", count=6)[0]
    found = run(
        """
        const { fromHex, fromBig, concat, finalize, modulusOf } = smoothdp;
        const spki = fromHex(given.pkS), n = modulusOf(spki);
        const refused = (work) => { try { work(); return false; }
          catch (error) { return error instanceof smoothdp.TokenRefused; } };
        const changed = (at, by) => spki.map((byte, i) => i === at ? byte ^ by : byte);
        const keys = [spki.slice(1), concat(spki, spki.slice(0, 1)), changed(341, 2),
          changed(336, 1), changed(81, 128), changed(40, 1), changed(65, 1)];
        const answer = fromHex(given.token_response);
        const made = { encoded: 5n, inverse: 1n };
        const answers = [answer.slice(1), concat(answer, answer.slice(0, 1)), fromBig(n, 256),
          new Uint8Array(256).fill(255), new Uint8Array(256), answer];
        return [keys.map((key) => refused(() => modulusOf(key))),
          answers.map((one) => refused(() => finalize(n, made, one)))];
        """,
        expected,
    )
    assert given["nonce"]
    assert found == [[True] * 7, [True] * 6]


def test_marks_file() -> None:
    found, wanted = over(
        "marks_file",
        2,
        """
        const marks = [];
        for (const slot of v.slots) marks.push(await smoothdp.markOf(fromHex(slot)));
        const bytes = smoothdp.encodeMarks(fromHex(v.card_digest), marks);
        const file = smoothdp.decodeMarks(bytes);
        const holds = marks.every((mark) => smoothdp.holds(file.marks, mark));
        const other = smoothdp.holds(file.marks, new Uint8Array(16).fill(7));
        const bad = [bytes.slice(1), bytes.slice(0, -1), concat(bytes, bytes.slice(0, 1)),
          concat(bytes.slice(0, 41), ...split(bytes.slice(41), 16).reverse())];
        const opens = bad.filter((one) => { try { smoothdp.decodeMarks(one); return true; }
          catch { return false; } }).length;
        // One mark reversed is the same file.
        return [toHex(bytes), holds, other, opens === (marks.length < 2 ? 1 : 0)];
        """,
    )
    assert found == [[right, True, False, True] for right in wanted]


def test_batch_header() -> None:
    keys = [signer(given["shuffler_sign_secret"]) for given, _ in cases("batch_header", count=1)]
    found, _ = over(
        "batch_header",
        1,
        """
        const { cardDigest, marksHash } = await smoothdp.readHeader(fromHex(w), v.keys[number]);
        const bad = await smoothdp.readHeader(fromHex(w), "01".repeat(32)).catch(() => "bad");
        return [toHex(cardDigest), toHex(marksHash), bad];
        """,
        keys=keys,
    )
    ((given, _),) = cases("batch_header", count=1)
    assert found == [[given["card_digest"], given["marks_sha256"], "bad"]]


def test_no_other_bytes_are_a_card() -> None:
    """Every byte changed, dropped, or one more: refused, or another card with another digest."""
    (card,) = [H(right["card"]) for given, right in cases("card", count=2) if given["issuer_spki"]]
    digests = run(
        """
        const { fromHex, toHex, decodeCard } = smoothdp, card = fromHex(given), found = [];
        const tell = (bytes) => decodeCard(bytes).then((one) => toHex(one.digest), () => "");
        for (let at = 0; at < card.length; at++) {
          found.push(await tell(card.map((byte, i) => i === at ? byte ^ 1 : byte)));
        }
        found.push(await tell(card.slice(1)), await tell(card.slice(0, -1)),
          await tell(smoothdp.concat(card, card.slice(0, 1))), await tell(new Uint8Array()));
        return found;
        """,
        card.hex(),
    )
    ours = []
    for at in range(len(card)):
        changed = bytearray(card)
        changed[at] ^= 1
        try:
            ours.append(Card.decode(bytes(changed)).digest.hex())
        except Exception:
            ours.append("")
    assert digests == [*ours, "", "", "", ""]
