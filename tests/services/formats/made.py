"""A task with its keys, and the messages of one window of it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from smoothdp.services.formats.card import Card, SignedCard, sign_card
from smoothdp.services.formats.design.task_request import create_task
from smoothdp.services.formats.design.task_shape import TaskIssuer
from smoothdp.services.formats.report import Report
from smoothdp.services.formats.signing import SigningKey
from smoothdp.services.formats.slot_tokens import SlotTokens
from smoothdp.services.formats.slots import seal_slots
from smoothdp.services.formats.task import Task
from smoothdp.services.tokens.issuer_key import IssuerKey
from smoothdp.services.tokens.token import parse_requests
from smoothdp.services.wire.hybrid import PrivateKey

WINDOW = 20414


@dataclass(frozen=True)
class Made:
    """All secrets of one task and window, which no party has together."""

    proof: str = "slots"
    analyzer: SigningKey = field(default_factory=SigningKey.generate)
    shuffler: SigningKey = field(default_factory=SigningKey.generate)
    counter: SigningKey = field(default_factory=SigningKey.generate)
    gateway: PrivateKey = field(default_factory=PrivateKey.generate)
    inner: PrivateKey = field(default_factory=PrivateKey.generate)

    @cached_property
    def issuer(self) -> IssuerKey:
        return IssuerKey.generate()

    def create(self, protocol: str, **more: Any) -> Task:
        """Return a task of these parties."""
        with_issuer = self.proof == "slots"
        sign_key = self.counter.public.hex
        given: dict[str, Any] = {
            "epsilon": "1",
            "delta": "1e-6",
            "min_batch": 1000,
            "analyzer_sign_key": self.analyzer.public,
            "shuffler_sign_key": self.shuffler.public,
            "issuer": TaskIssuer("issuer.example", "https://issuer.example", sign_key)
            if with_issuer
            else None,
            "origin": "analyzer.example",
            "proof": self.proof,
        }
        return create_task(protocol, **(given | more))

    @cached_property
    def task(self) -> Task:
        return self.create("real_sum", size=2, bounds=("0", "1"), min_batch=200)

    @cached_property
    def card(self) -> Card:
        return Card(
            self.task.task_id,
            WINDOW,
            self.gateway.public.to_bytes(),
            self.inner.public.to_bytes(),
            self.issuer.public.spki if self.task.signed else None,
        )

    def signed(self, **changes: Any) -> SignedCard:
        """Return the card, or a changed one, with both real signatures."""
        made = replace(self.card, **changes)
        return SignedCard(made, sign_card(made, self.analyzer), sign_card(made, self.shuffler))

    @cached_property
    def tokens(self) -> SlotTokens:
        assert self.task.issuer is not None
        return SlotTokens(self.card, issuer_name=self.task.issuer.name, origin=self.task.origin)

    def report(self, values: tuple[int, ...] = (1, 0)) -> Report:
        """Return the report of one client."""
        slots = seal_slots(values, self.card)
        if not self.task.signed:
            return Report(self.card.digest, tuple(slots))
        seed = b"seed" * 8
        body = self.tokens.request(slots, seed=seed)
        asked = parse_requests(body, key=self.issuer.public, slots=len(slots))
        answer = b"".join(map(self.issuer.sign, asked))
        signatures = self.tokens.finalize(slots, seed=seed, answer=answer)
        return Report(self.card.digest, tuple(slots), tuple(signatures))
