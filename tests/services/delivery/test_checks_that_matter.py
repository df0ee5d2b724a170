"""Each check taken away, one at a time: then what it stands against succeeds.

The analyser's signature check and the release rule are taken away in
`tests/services/parties/test_dishonest_shuffler.py`, the strict order of slots in
`tests/services/parties/test_taking_reports.py`.
"""

from __future__ import annotations

import hashlib
from concurrent.futures import ThreadPoolExecutor
from math import gcd, lcm, prod
from pathlib import Path
from typing import Any

import pytest

from smoothdp.services.formats.report import Report, seal_report
from smoothdp.services.formats.slots import seal_slots
from smoothdp.services.shuffler.ingest import Taken
from smoothdp.services.tokens import blind as blinding
from smoothdp.services.tokens.blind import Blinded, blinded_by
from smoothdp.services.tokens.pss import pss_encode
from smoothdp.services.tokens.refusals import TokenRefused
from tests.services.worlds.party_world import WINDOW, PartyWorld

PEOPLE = 40


def small_primes() -> list[int]:
    """Return primes of about ten bits, whose product has 2,048 bits."""
    primes = [p for p in range(521, 2200, 2) if all(p % d for d in range(3, 50, 2))]
    while prod(primes).bit_length() > 2048:
        primes.pop()
    assert prod(primes).bit_length() > 2040
    return primes


def marked_people(*, checked: bool) -> tuple[int, int]:
    """Let people ask an issuer whose modulus has small primes; return who asked, who is known.

    Known is who can be told apart in the batch: the request of an account and the token of a
    slot have the same divisors in common with the modulus.
    """
    primes = small_primes()
    n, e = prod(primes), 65537
    d = pow(e, -1, lcm(*(p - 1 for p in primes)))
    asked: list[int] = []
    tokens: list[int] = []
    for person in range(PEOPLE):
        message, salt = b"slot %d" % person, hashlib.sha384(b"%d" % person).digest()
        # The factor is a unit: what is told apart is the message alone.
        factor = 2**61 - 1 + 2 * person
        while gcd(factor, n) != 1:
            factor += 2
        try:
            blinded: Blinded = blinded_by(n, e, message, salt=salt, factor=factor)
        except TokenRefused:
            continue
        number = int.from_bytes(blinded.request, "big")
        signature = pow(number, d, n) * blinded.inverse % n
        # The client's own check of the answer passes, so it would send the report.
        assert pow(signature, e, n) == blinded.encoded % n
        m = int.from_bytes(pss_encode(message, bits=n.bit_length() - 1, salt=salt), "big")
        asked.append(gcd(number, n))
        tokens.append(gcd(m, n))
    known = [mark for mark in tokens if mark != 1 and asked.count(mark) == 1]
    assert checked or asked == tokens
    return len(asked), len(known)


def test_the_gcd_check(monkeypatch: pytest.MonkeyPatch) -> None:
    """With it nobody who would be marked asks; without it such people are known by their slots."""
    asked, known = marked_people(checked=True)
    assert 0 < asked < PEOPLE
    assert known == 0
    monkeypatch.setattr(blinding, "gcd", lambda *_: 1)
    asked, known = marked_people(checked=False)
    assert asked == PEOPLE
    assert known > 0


def test_the_shufflers_signature_check(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without it one person with a pass, and no account, has a whole window quarantined."""
    states = []
    for check in (True, False):
        (tmp_path / str(check)).mkdir()
        world = PartyWorld(tmp_path / str(check))
        world.open_window()
        world.send_many(14)
        if not check:
            monkeypatch.setattr(world.shuffler, "is_signed", lambda *_: True)
        digest = world.card().digest
        unsigned = Report(digest, tuple(seal_slots([1], world.card())), (bytes(256),))
        taken = world.send(unsigned)
        assert taken is (Taken.UNSIGNED if check else Taken.ACCEPTED)
        states.append(world.finish(15)["state"])
        world.close()
    assert states == ["RELEASED", "QUARANTINED"]


def test_the_last_signature_wrong_a_thousand_times_is_five_checks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Under one pass, from eight threads at once; other people are taken meanwhile."""
    world = PartyWorld(tmp_path)
    world.open_window()
    looked: list[int] = []
    check = world.shuffler.is_signed

    def counted(*values: Any) -> bool:
        looked.append(1)
        return check(*values)

    monkeypatch.setattr(world.shuffler, "is_signed", counted)
    digest, sender = world.card().digest, world.shuffler.sender(world.new_pass())
    assert sender is not None
    sealed = [
        seal_report(Report(digest, (bytes([n]) * 52,), (bytes(256),)).encode(), world.card())
        for n in range(100)
    ]
    with ThreadPoolExecutor(8) as pool:
        answers = list(
            pool.map(lambda n: world.shuffler.judge(WINDOW, sender, sealed[n % 100]), range(1000))
        )
    assert answers.count(Taken.UNSIGNED) == len(looked) == 5
    assert answers.count(Taken.TOO_MANY_UNSIGNED) == 995
    world.send_many(1)
    world.close()
