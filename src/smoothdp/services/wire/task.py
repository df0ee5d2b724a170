"""The task: what every party agrees on before anyone sends anything; its hash is its name."""

from __future__ import annotations

import hashlib
import math
import re
from collections import Counter
from dataclasses import asdict, dataclass, fields
from fractions import Fraction
from functools import cached_property
from typing import Any, TypeAlias

from smoothdp.claims import ApproxDP
from smoothdp.errors import InvalidData, InvalidParameter
from smoothdp.services.wire.canonical import canonical_json, parse_canonical
from smoothdp.services.wire.envelope import DUMMY
from smoothdp.services.wire.hybrid import SUITE, PublicKey
from smoothdp.shuffle import BooleanSum, Histogram, RealSum

CollectProtocol: TypeAlias = BooleanSum | RealSum | Histogram

FORMAT = 1
MOST_SLOTS = 4097
"""Messages per user: beyond this, an envelope has more than 213 kB."""
LARGEST_BATCH = 1 << 30
"""Users per batch."""
_WORD = 1 << 64
# Short numbers only: a parsed exponent must not make an integer that fills the memory.
_NUMBER = re.compile(r"^-?[0-9]{1,60}(/[0-9]{1,60}|\.[0-9]{1,60})?([eE]-?[0-9]{1,3})?$")
_NUMBERS = (
    "noise",
    "epsilon",
    "delta",
    "dishonest_share",
    "budget_epsilon",
    "budget_delta",
)


@dataclass(frozen=True)
class Task:
    """A collection that clients, shuffler and analyser agree on.

    The noise of a client is fixed, because a client cannot know how many others will send.
    The guarantee holds for batches of ``min_batch`` and more, of which at most
    ``dishonest_share`` are not honest; construction checks that with the exact accountant.

    Attributes:
        protocol: "boolean_sum", "real_sum" or "histogram".
        size: bits per user of a real sum, bins of a histogram, 1 for a boolean sum.
        noise: a boolean or real sum: the flip probability times 2^64, a whole number; a
            histogram: the omission probability, as a ratio. A string.
        epsilon, delta: what is promised to honest users in each window, strings.
        dishonest_share: share of a batch assumed absent, colluding or false, a string.
        min_batch: users in the smallest batch that the shuffler lets out.
        window_seconds, grace_seconds: length of a window, and how late a report may come.
        budget_epsilon, budget_delta: what all windows together may cost, strings.
        analyzer_key, analyzer_key_id: who opens the messages.
        unit: the person, device or row that may send once per window.
        bounds: lower and upper end of a real datum, strings; empty otherwise.
        domain: the names of the bins, or empty.

    Raises:
        InvalidParameter: a field outside its domain, or a batch too small for the promise.

    >>> from smoothdp.services import PrivateKey, create_task
    >>> task = create_task("boolean_sum", epsilon="1", delta="1e-6", min_batch=500,
    ...     analyzer_key=PrivateKey.generate().public)
    >>> task.guarantee, task.honest(500), task.keeps_promise(100)
    (ApproxDP(epsilon=1, delta=1e-6, neighbours='replace_one'), 450, False)
    >>> Task.decode(task.encoded) == task
    True
    """

    protocol: str
    size: int
    noise: str
    epsilon: str
    delta: str
    dishonest_share: str
    min_batch: int
    window_seconds: int
    grace_seconds: int
    budget_epsilon: str
    budget_delta: str
    analyzer_key: str
    analyzer_key_id: int
    unit: str
    bounds: tuple[str, ...] = ()
    domain: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        _require_shape(self)
        if not self.keeps_promise(self.honest(self.min_batch)):
            raise InvalidParameter(
                expected="a min_batch whose honest users keep the promise with this noise",
                got=f"min_batch={self.min_batch}",
                remedy="Raise min_batch, or add noise",
            )

    # ---- what follows from the fields -----------------------------------------------------

    @property
    def slots(self) -> int:
        """Messages per user, dummies included: the same for every user and value."""
        return self.size + 1 if self.protocol == "histogram" else self.size

    @property
    def guarantee(self) -> ApproxDP:
        """The promise to each honest user of one window."""
        return ApproxDP(self.epsilon, delta=self.delta)

    def collect(self, n_users: int) -> CollectProtocol:
        """Return the protocol for a batch of this size, with the noise of the clients."""
        noise = Fraction(self.noise)
        if self.protocol == "histogram":
            return Histogram(n_users, n_bins=self.size, omission_probability=noise)
        random_users = 2 * n_users * noise / _WORD
        if self.protocol == "boolean_sum":
            return BooleanSum(n_users, expected_random_users=random_users)
        return RealSum(n_users, expected_random_users=random_users, n_bits=self.size)

    def is_meant(self, value: int) -> bool:
        """Whether a slot may hold this value: a message of the protocol, or a dummy beside some."""
        if self.protocol == "histogram":
            return 0 <= value < self.size or value == DUMMY
        return value in (0, 1)

    def honest(self, batch: int) -> int:
        """Return how many users of a batch are honest by assumption, rounded down."""
        return math.floor(batch * (1 - Fraction(self.dishonest_share)))

    def keeps_promise(self, honest: int) -> bool:
        """Whether so many honest users are certainly enough for the promise."""
        if honest < 1:
            return False
        delta = self.collect(honest).profile().delta(self.epsilon)
        return Fraction(delta) <= Fraction(self.delta)

    @cached_property
    def required_batch(self) -> int:
        """The smallest batch whose honest users are enough, from the exact accountant."""
        low, high = 0, self.honest(self.min_batch)
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if self.keeps_promise(middle) else (middle, high)
        batch = math.ceil(high / (1 - Fraction(self.dishonest_share)))
        return batch if self.honest(batch) >= high else batch + 1

    # ---- encoding -------------------------------------------------------------------------

    @cached_property
    def encoded(self) -> bytes:
        """The canonical encoding."""
        document = {"format": FORMAT, "suite": SUITE} | asdict(self)
        return canonical_json(
            {key: list(v) if isinstance(v, tuple) else v for key, v in document.items()}
        )

    @cached_property
    def task_id(self) -> bytes:
        """SHA-256 of the canonical encoding: bound into every ciphertext."""
        return hashlib.sha256(self.encoded).digest()

    @classmethod
    def decode(cls, data: bytes) -> Task:
        """Return the task of a canonical encoding, checked; or raise InvalidData."""
        document = parse_canonical(data)
        expected = {field.name: field.type for field in fields(cls)}
        wrong = set(document) ^ ({"format", "suite"} | set(expected))
        if wrong or document["format"] != FORMAT or document["suite"] != SUITE:
            # The contents of another file are not repeated: they may be a secret.
            raise InvalidData(
                expected=f"a task of format {FORMAT}",
                got="another document",
                remedy="Make the task again with smoothdp task create",
            )
        values: dict[str, Any] = {}
        for name, kind in expected.items():
            value = document[name]
            wanted = {"str": str, "int": int}.get(str(kind), list)
            if not isinstance(value, wanted):
                got = type(value).__name__
                raise InvalidData(
                    expected=f"{name} as {kind}",
                    got=got,
                    remedy="Make the task again with smoothdp task create",
                )
            values[name] = tuple(value) if isinstance(value, list) else value
        return cls(**values)


def _require_shape(task: Task) -> None:
    """Raise InvalidParameter where a field is outside its domain."""
    texts = [(name, getattr(task, name)) for name in _NUMBERS]
    texts += [("bounds", bound) for bound in task.bounds]
    for name, text in texts:
        if not isinstance(text, str) or not _NUMBER.match(text) or text.endswith("/0"):
            raise InvalidParameter(
                expected=f"{name} as a decimal or a ratio, a string",
                got=repr(text),
                remedy=f'Write {name} as text such as "0.05" or "1/20"',
            )
    # An infinite or true number of seconds would pass the comparisons below.
    whole = ("size", "min_batch", "window_seconds", "grace_seconds", "analyzer_key_id")
    for name, kind in [(name, int) for name in whole] + [("unit", str), ("analyzer_key", str)]:
        if type(getattr(task, name)) is not kind:
            raise InvalidParameter(
                expected=f"{name} of type {kind.__name__}",
                got=repr(getattr(task, name)),
                remedy=f"Give {name} as {kind.__name__}, as the task file has",
            )
    n_bins = task.size if task.protocol == "histogram" else 0
    share, noise = Fraction(task.dishonest_share), Fraction(task.noise)
    real = [Fraction(bound) for bound in task.bounds]
    flip = task.protocol != "histogram"
    repeated = next(
        (name for name, times in Counter(map(str, task.domain)).items() if times > 1), None
    )
    words = f"bounds={' '.join(task.bounds)}" if task.bounds else "no bounds"
    names = f"domain with {len(task.domain)} names"
    if repeated is not None:
        names = f"domain with {repeated!r} more than once"
    demands = [
        (
            "protocol",
            task.protocol in ("boolean_sum", "real_sum", "histogram"),
            "protocol boolean_sum, real_sum or histogram",
            f"protocol={task.protocol}",
        ),
        (
            "size",
            task.size == 1
            if task.protocol == "boolean_sum"
            else task.size >= 1 and task.slots <= MOST_SLOTS,
            f"1 bit of a boolean_sum, 1 to {MOST_SLOTS} bits or 1 to {MOST_SLOTS - 1} bins",
            f"size={task.size}",
        ),
        (
            "noise",
            0 < noise < _WORD // 2 and noise.denominator == 1 if flip else 0 < noise <= 1,
            "a whole number above 0 and below 2^63 as noise"
            if flip
            else "a probability above 0 as noise",
            f"noise={task.noise}",
        ),
        (
            "dishonest_share",
            0 <= share < 1,
            "0 <= dishonest_share < 1",
            f"dishonest_share={task.dishonest_share}",
        ),
        (
            "min_batch",
            1 <= task.min_batch <= LARGEST_BATCH,
            f"1 <= min_batch <= {LARGEST_BATCH}",
            f"min_batch={task.min_batch}",
        ),
        (
            "window_seconds",
            task.window_seconds >= 1,
            "window_seconds >= 1",
            f"window_seconds={task.window_seconds}",
        ),
        (
            "grace_seconds",
            0 <= task.grace_seconds <= task.window_seconds,
            f"0 <= grace_seconds <= {task.window_seconds}, the length of a window",
            f"grace_seconds={task.grace_seconds}",
        ),
        (
            "analyzer_key_id",
            0 <= task.analyzer_key_id < 256,
            "0 <= analyzer_key_id < 256",
            f"analyzer_key_id={task.analyzer_key_id}",
        ),
        (
            "bounds",
            len(real) == 2 and real[0] < real[1] if task.protocol == "real_sum" else not real,
            "two bounds for a real_sum, the lower one first, and none otherwise",
            words,
        ),
        (
            "domain",
            all(isinstance(name, str) for name in task.domain),
            "domain of texts",
            "something else",
        ),
        (
            "domain",
            repeated is None and len(task.domain) in (0, n_bins),
            "domain with a different name for each bin of a histogram, or none",
            names,
        ),
        (
            "analyzer_key",
            re.fullmatch("[0-9a-f]{64}", task.analyzer_key) is not None,
            "analyzer_key as 64 hexadecimal digits",
            "another text",
        ),
        ("epsilon", Fraction(task.epsilon) > 0, "epsilon > 0", f"epsilon={task.epsilon}"),
        ("delta", 0 < Fraction(task.delta) < 1, "0 < delta < 1", f"delta={task.delta}"),
        (
            "budget_epsilon",
            Fraction(task.budget_epsilon) >= Fraction(task.epsilon),
            f"budget_epsilon of at least epsilon={task.epsilon}",
            f"budget_epsilon={task.budget_epsilon}",
        ),
        (
            "budget_delta",
            Fraction(task.delta) <= Fraction(task.budget_delta) <= 1,
            f"budget_delta from delta={task.delta} to 1",
            f"budget_delta={task.budget_delta}",
        ),
    ]
    for field, good, expected, got in demands:
        if not good:
            raise InvalidParameter(
                expected=expected, got=got, remedy=f"Correct {field} of the task"
            )
    PublicKey.from_bytes(bytes.fromhex(task.analyzer_key))
    ApproxDP(task.epsilon, delta=task.delta)
