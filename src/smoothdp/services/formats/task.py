"""The task, format 2: what every party agrees on before anyone sends; its hash is its name."""

from __future__ import annotations

import hashlib
import math
from dataclasses import asdict, dataclass, fields
from fractions import Fraction
from functools import cached_property
from typing import Any

from smoothdp.claims import ApproxDP
from smoothdp.errors import InvalidData, InvalidParameter
from smoothdp.exact.random.entropy import Entropy
from smoothdp.services.formats.design.budget import budget_sentence
from smoothdp.services.formats.design.protocols import BINNED, CollectProtocol, Design
from smoothdp.services.formats.design.task_shape import TaskIssuer, TaskNumbers, require_shape
from smoothdp.services.formats.design.task_words import (
    cost_sentence,
    room_sentence,
    theorem_sentence,
)
from smoothdp.services.formats.signing import VerifyingKey
from smoothdp.services.wire.canonical import canonical_json, parse_canonical
from smoothdp.services.wire.hybrid import SUITE
from smoothdp.shuffle.users.honest_share import least_users

FORMAT = 2
CLOCK_SECONDS = 300
"""How far a client's clock may be off at the boundary of a window."""


@dataclass(frozen=True)
class Task(TaskNumbers):
    """A collection that clients, issuer, shuffler and analyser agree on.

    The noise of a client is fixed, because a client cannot know how many others will send.
    The guarantee holds for batches of ``min_batch`` and more, of which at least
    ``honest_share`` are honest; construction checks that with the exact accountant
    (proofs/issued-tokens#3 says what it is worth against the shuffler).

    Attributes:
        protocol: boolean_sum, real_sum, histogram, low_communication_histogram, paired_count,
            paired_histogram or split_sum.
        size: bits per user of a real sum, bins of a histogram, steps of a split sum, else 1.
        noise: of a client, a string; `smoothdp.services.formats.design.protocols` says of what.
        parameters: further numbers of the protocol, strings.
        slots: M, messages and dummies of every envelope.
        epsilon, delta: what is promised to honest users in each window, strings.
        honest_share: share of those served who follow the protocol, in (0, 1], a string.
        min_batch, max_batch: users in the smallest batch that the shuffler lets out, and in the
            largest that the analyser takes.
        window_seconds, grace_seconds: length of a window, and how late a report may come.
        budget_epsilon, budget_delta: what all windows together may cost, strings.
        analyzer_sign_key, shuffler_sign_key: Ed25519 keys, 64 hexadecimal digits.
        issuer: name, url and sign_key of who gives tokens; None without.
        origin: the analyser's name.
        proof: "slots": every slot carries a token; "none": the shuffler is trusted not to
            invent people.
        unit: the person, device or row that may send once per window.
        bounds: lower and upper end of a number, strings; empty otherwise.
        domain: the names of the bins, or empty.

    Raises:
        InvalidParameter: a field outside its domain, or a batch too small for the promise.

    >>> from smoothdp.services.formats.signing import SigningKey
    >>> from smoothdp.services.formats.design.task_request import create_task
    >>> keys = [SigningKey.generate().public for _ in range(3)]
    >>> task = create_task("boolean_sum", epsilon="1", delta="1e-6", min_batch=200,
    ...     analyzer_sign_key=keys[0], shuffler_sign_key=keys[1], origin="analyzer.example",
    ...     issuer=TaskIssuer("issuer.example", "https://issuer.example", keys[2].hex))
    >>> task.honest(200), task.honest(200, accounts=300), task.keeps_promise(100)
    (180, 170, False)
    >>> Task.decode(task.encoded) == task
    True
    """

    def __post_init__(self) -> None:
        require_shape(self)
        if not self.keeps_promise(self.honest(self.min_batch)):
            raise InvalidParameter(
                expected="a min_batch whose honest users keep the promise with this noise",
                got=f"min_batch={self.min_batch}",
                remedy="Raise min_batch, or add noise",
            )

    # ---- what follows from the fields -----------------------------------------------------

    @property
    def guarantee(self) -> ApproxDP:
        """The promise to each honest user of one window."""
        return ApproxDP(self.epsilon, delta=self.delta)

    @property
    def signed(self) -> bool:
        """Whether slots carry signatures: q = 1."""
        return self.proof == "slots"

    @cached_property
    def design(self) -> Design:
        """The numbers that say what clients send."""
        return Design(self.protocol, self.size, self.noise, self.parameters, self.slots)

    @cached_property
    def analyzer_key(self) -> VerifyingKey:
        """What the analyser's signatures are checked with."""
        return VerifyingKey.from_hex(self.analyzer_sign_key)

    @cached_property
    def shuffler_key(self) -> VerifyingKey:
        """What the shuffler's signatures are checked with."""
        return VerifyingKey.from_hex(self.shuffler_sign_key)

    @cached_property
    def issuer_key(self) -> VerifyingKey | None:
        """What the issuer's signatures are checked with; None without an issuer."""
        return None if self.issuer is None else VerifyingKey.from_hex(self.issuer.sign_key)

    @property
    def names_of_bins(self) -> tuple[str, ...]:
        """The names of what is counted, in the order of values; of a sum none."""
        if self.protocol not in BINNED:
            return ()
        return self.domain or tuple(map(str, range(self.size)))

    def window_at(self, now: float) -> int:
        """Return the number of the window at a time in seconds since 1970."""
        return int(now // self.window_seconds)

    def windows_near(self, now: float) -> tuple[int, ...]:
        """Return the windows whose card a client takes: the present one, a neighbour within 300 s.

        The clock of a client may be off by so much.
        """
        first, last = (self.window_at(now + by) for by in (-CLOCK_SECONDS, CLOCK_SECONDS))
        return tuple(range(max(0, first), last + 1))

    def collect(self, n_users: int) -> CollectProtocol:
        """Return the protocol for a batch of this size, with the noise of the clients.

        Its profile counts on ``honest_share`` of these users, a split sum's on the design's.
        """
        return self.design.collect(n_users, honest_share=Fraction(self.honest_share))

    def values(self, datum: Any, *, rng: Entropy | None = None) -> tuple[int, ...]:
        """Return what a user's M slots hold, messages and dummies, for a datum as read.

        Raises:
            InvalidData: a datum outside the protocol's domain; nothing is sent then.
        """
        return self.design.randomized(datum, self.min_batch, rng=rng)

    def is_meant(self, value: int) -> bool:
        """Return whether a slot may hold this value: a message, or a dummy where there are some."""
        return self.design.is_meant(value)

    # ---- the promise ----------------------------------------------------------------------

    def dishonest(self, accounts: int) -> int:
        """Return floor(gamma accounts), gamma = 1 - honest_share: who may do anything."""
        return math.floor(accounts * (1 - Fraction(self.honest_share)))

    def honest(self, users: int, *, accounts: int | None = None) -> int:
        """Return h, the honest users of a batch by assumption; 0 or less if none is certain.

        h = users - floor(gamma X): everybody served who is missing is taken for honest.

        Args:
            users: of the batch.
            accounts: X, accounts that the issuer served; None without an issuer: the users.
        """
        return users - self.dishonest(users if accounts is None else accounts)

    def keeps_promise(self, honest: int) -> bool:
        """Return whether so many honest users are certainly enough for the promise.

        More take nothing away (proofs/honest-users#2), although the accountant's bound grows again
        with many who may draw noise anew, and with a few, not with one, who split their numbers.
        """
        if honest < 1:
            return False
        counted_on = min(honest, self.honest(self.min_batch))
        return self._is_enough(counted_on) or self._one_is_enough

    @cached_property
    def _one_is_enough(self) -> bool:
        return self._is_enough(1)

    def _is_enough(self, honest: int) -> bool:
        return self.design.delta(self.epsilon, honest) <= Fraction(self.delta)

    @cached_property
    def fewest_honest(self) -> int:
        """h0, the fewest honest users that are enough, from the exact accountant."""
        low, high = 0, self.honest(self.min_batch)
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if self.keeps_promise(middle) else (middle, high)
        return high

    @cached_property
    def required_batch(self) -> int:
        """The smallest batch whose honest users are enough, if everybody served is in it."""
        return least_users(self.fewest_honest, Fraction(self.honest_share))

    @property
    def advice(self) -> tuple[str, ...]:
        """What whoever makes the task should know: costs, what is not proved, what is short."""
        sentences = (
            cost_sentence(self),
            theorem_sentence(self),
            budget_sentence(self),
            room_sentence(self, lambda: self.fewest_honest),
        )
        return tuple(sentence for sentence in sentences if sentence)

    # ---- encoding -------------------------------------------------------------------------

    @cached_property
    def encoded(self) -> bytes:
        """The canonical encoding, RFC 8785."""
        document = {"format": FORMAT, "suite": SUITE} | asdict(self)
        return canonical_json(
            {key: list(v) if isinstance(v, tuple) else v for key, v in document.items()}
        )

    @cached_property
    def task_id(self) -> bytes:
        """SHA-256 of the canonical encoding: in every card, and so in every ciphertext."""
        return hashlib.sha256(self.encoded).digest()

    @classmethod
    def decode(cls, data: bytes) -> Task:
        """Return the task of a canonical encoding, checked.

        Raises:
            InvalidData: another document.
            InvalidParameter: a field outside its domain.
        """
        document = parse_canonical(data)
        if document.get("format") == 1:
            raise _another(f"a task of format {FORMAT}", "one of format 1, an earlier protocol")
        expected = {field.name: str(field.type) for field in fields(cls)}
        wrong = set(document) ^ ({"format", "suite"} | set(expected))
        if wrong or document["format"] != FORMAT or document["suite"] != SUITE:
            # The contents of another file are not repeated: they may be a secret.
            raise _another(f"a task of format {FORMAT}", "another document")
        values: dict[str, Any] = {}
        for name, kind in expected.items():
            value = document[name]
            if name == "issuer":
                values[name] = _read_issuer(value)
                continue
            wanted = {"str": str, "int": int}.get(kind, list)
            if not isinstance(value, wanted):
                raise _another(f"{name} as {kind}", type(value).__name__)
            values[name] = tuple(value) if isinstance(value, list) else value
        return cls(**values)


def _read_issuer(value: object) -> TaskIssuer | None:
    if value is None:
        return None
    names = {field.name for field in fields(TaskIssuer)}
    if not isinstance(value, dict) or set(value) != names:
        raise _another("issuer with name, url and sign_key, or null", type(value).__name__)
    return TaskIssuer(**value)


def _another(expected: str, got: str) -> InvalidData:
    return InvalidData(
        expected=expected, got=got, remedy="Make the task again with smoothdp task create"
    )
