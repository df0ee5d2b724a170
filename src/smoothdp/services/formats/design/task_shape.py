"""The fields of a task and what each of them may be."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

from smoothdp.claims import ApproxDP
from smoothdp.errors import InvalidParameter
from smoothdp.services.formats.design.protocols import (
    BINNED,
    BOUNDED,
    DESIGNED,
    FLIPPED,
    MOST_BINS,
    MOST_MODULUS_BITS,
    PARAMETERS,
    PROTOCOLS,
    WHOLE,
    Design,
)
from smoothdp.services.formats.signing import VerifyingKey

MOST_TOKENS = 128
"""Slots of an envelope with tokens: beyond this the issuer's work is too much."""
MOST_MESSAGES = 4097
"""Slots of an envelope: beyond this it has more than 213 kB."""
LARGEST_BATCH = 1 << 30
MOST_SIGNED_SLOTS = 20_000_000
"""Slots with signatures of a batch: 6.2 GB."""
MOST_SLOTS = 30_000_000
"""Slots without signatures of a batch: 1.6 GB, and 480 MB of marks, which are one value of a row.

SQLite takes a value of 1,000,000,000 bytes, PostgreSQL gives out one of half as many."""
LARGEST_BOUND = 10**100
"""Of numbers: their mean, with its error and however much the noise moves it, stays a float."""
PROOFS = ("slots", "none")
_WORD = 1 << 64
# Short numbers only: a parsed exponent must not make an integer that fills the memory.
_NUMBER = re.compile(r"-?[0-9]{1,60}(/[0-9]{1,60}|(\.[0-9]{1,60})?([eE]-?[0-9]{1,3})?)")
_WHOLE = re.compile(r"[0-9]{1,10}")
_NAME = re.compile(r"[!-+\--~]{1,255}")
_URL = re.compile(r"https?://[!-~]{1,2000}")


@dataclass(frozen=True)
class TaskIssuer:
    """Who gives tokens: the public face of the analyser's side, on a host of its own.

    Attributes:
        name: as the tokens' challenge has it, printable ASCII without a comma.
        url: where cards and tokens are asked for.
        sign_key: Ed25519, 64 hexadecimal digits; what the number of accounts is signed with.

    >>> TaskIssuer("issuer.example", "https://issuer.example", "0" * 64).name
    'issuer.example'
    """

    name: str
    url: str
    sign_key: str


@dataclass(frozen=True)
class TaskNumbers:
    """The fields of a task, as they are written; see `smoothdp.services.formats.task.Task`."""

    protocol: str
    size: int
    noise: str
    parameters: tuple[str, ...]
    slots: int
    epsilon: str
    delta: str
    honest_share: str
    min_batch: int
    max_batch: int
    window_seconds: int
    grace_seconds: int
    budget_epsilon: str
    budget_delta: str
    analyzer_sign_key: str
    shuffler_sign_key: str
    issuer: TaskIssuer | None
    origin: str
    proof: str
    unit: str
    bounds: tuple[str, ...] = ()
    domain: tuple[str, ...] = ()


class Demand(NamedTuple):
    """What a field must be, and whether it is."""

    field: str
    good: bool
    expected: str
    got: str


def require_shape(task: TaskNumbers) -> None:
    """Raise InvalidParameter where a field is outside its domain."""
    _require_types(task)
    _require_numbers(task)
    # In this order: the later ones count on what the earlier ones saw.
    for rules in (_of_protocol, _of_users, _of_promise, _of_parties):
        for demand in rules(task):
            if not demand.good:
                raise InvalidParameter(
                    expected=demand.expected,
                    got=demand.got,
                    remedy=f"Correct {demand.field} of the task",
                )
    keys = [task.analyzer_sign_key, task.shuffler_sign_key]
    for key in [*keys, *([task.issuer.sign_key] if task.issuer else [])]:
        VerifyingKey.from_hex(key)
    ApproxDP(task.epsilon, delta=task.delta)
    ApproxDP(task.budget_epsilon, delta=task.budget_delta)
    # The domain of what remains is the protocol's own.
    design = Design(task.protocol, task.size, task.noise, task.parameters, task.slots)
    design.collect(task.min_batch)
    design.collect(task.max_batch)


def _require_types(task: TaskNumbers) -> None:
    # An infinite or true number of seconds would pass the comparisons below.
    whole = ("size", "slots", "min_batch", "max_batch", "window_seconds", "grace_seconds")
    texts = (
        "protocol",
        "noise",
        "epsilon",
        "delta",
        "honest_share",
        "budget_epsilon",
        "budget_delta",
        "analyzer_sign_key",
        "shuffler_sign_key",
        "origin",
        "proof",
        "unit",
    )
    lists = ("parameters", "bounds", "domain")
    kinds: list[tuple[str, object, type]] = [(name, getattr(task, name), int) for name in whole]
    kinds += [(name, getattr(task, name), str) for name in texts]
    kinds += [(name, getattr(task, name), tuple) for name in lists]
    _require_kinds(kinds)
    kinds = [(name, item, str) for name in lists for item in getattr(task, name)]
    if task.issuer is not None:
        _require_kinds([("issuer", task.issuer, TaskIssuer)])
        kinds += [("issuer", value, str) for value in vars(task.issuer).values()]
    _require_kinds(kinds)


def _require_kinds(kinds: list[tuple[str, object, type]]) -> None:
    for name, value, kind in kinds:
        if type(value) is not kind:
            raise InvalidParameter(
                expected=f"{name} of type {kind.__name__}",
                got=repr(value),
                remedy=f"Give {name} as {kind.__name__}, as the task file has",
            )


def _require_numbers(task: TaskNumbers) -> None:
    names = ("noise", "epsilon", "delta", "honest_share", "budget_epsilon", "budget_delta")
    texts = [(name, getattr(task, name)) for name in names]
    texts += [("bounds", bound) for bound in task.bounds]
    texts += [("parameters", parameter) for parameter in task.parameters]
    for name, text in texts:
        if not _NUMBER.fullmatch(text) or re.search(r"/0+$", text):
            raise InvalidParameter(
                expected=f"{name} as a decimal or a ratio, a string",
                got=repr(text),
                remedy=f'Write {name} as text such as "0.05" or "1/20"',
            )


def _of_protocol(task: TaskNumbers) -> list[Demand]:
    noise = Fraction(task.noise)
    flipped = task.protocol in FLIPPED
    names = PARAMETERS.get(task.protocol, ())
    demands = [
        Demand(
            "protocol",
            task.protocol in PROTOCOLS,
            f"protocol {', '.join(PROTOCOLS[:-1])} or {PROTOCOLS[-1]}",
            f"protocol={task.protocol}",
        ),
        Demand(
            "size",
            task.size == 1
            if task.protocol in ("boolean_sum", "paired_count")
            # Of one step it would take the bounds alone, and no number between them.
            else 1 + (task.protocol == "split_sum") <= task.size <= MOST_BINS,
            f"1 bit of a boolean_sum or paired_count, 2 to {MOST_BINS} steps of a split_sum, "
            f"else a size from 1 to {MOST_BINS}",
            f"size={task.size}",
        ),
        Demand(
            "noise",
            0 < noise < _WORD // 2 and noise.denominator == 1 if flipped else 0 < noise <= 100,
            "a whole number above 0 and below 2^63 as noise"
            if flipped
            else "a number above 0 and up to 100 as noise",
            f"noise={task.noise}",
        ),
        Demand(
            "parameters",
            len(task.parameters) == len(names)
            and all(
                _WHOLE.fullmatch(text) and int(text) > 0
                for name, text in zip(names, task.parameters, strict=False)
                if name in WHOLE
            ),
            f"parameters {', '.join(names)} of {task.protocol}" if names else "no parameters",
            f"parameters={' '.join(task.parameters)}",
        ),
    ]
    if all(demand.good for demand in demands):
        demands += _of_slots(task)
    return demands


def _of_slots(task: TaskNumbers) -> list[Demand]:
    design = Design(task.protocol, task.size, task.noise, task.parameters, task.slots)
    demands = [
        Demand(
            "slots",
            1 <= task.slots <= MOST_MESSAGES and design.slots_by_size in (None, task.slots),
            f"1 to {MOST_MESSAGES} slots, as many as the protocol sends",
            f"slots={task.slots}",
        ),
        Demand(
            "proof",
            task.proof != "slots" or task.slots <= MOST_TOKENS,
            f"up to {MOST_TOKENS} slots with an issuer: each of them takes a signature of its own",
            f"slots={task.slots}: lower size, choose another protocol, or make the task with "
            "--open, without an issuer, where the shuffler alone can invent people",
        ),
    ]
    if task.protocol == "split_sum":
        bits = int(design.parameter("modulus_bits"))
        demands.append(
            Demand(
                "parameters",
                bits <= MOST_MODULUS_BITS,
                f"modulus_bits up to {MOST_MODULUS_BITS}, as a slot holds a number below 2^32",
                f"modulus_bits={bits}",
            )
        )
    return demands


def _of_users(task: TaskNumbers) -> list[Demand]:
    share = Fraction(task.honest_share)
    signed = task.proof == "slots"
    most = min(LARGEST_BATCH, (MOST_SIGNED_SLOTS if signed else MOST_SLOTS) // task.slots)
    design = int(task.parameters[-1]) if task.protocol in DESIGNED else 1
    return [
        Demand("honest_share", 0 < share <= 1, "0 < honest_share <= 1", f"honest_share={share}"),
        Demand(
            "min_batch",
            design <= task.min_batch <= most,
            f"min_batch from {design} to {most}",
            f"min_batch={task.min_batch}",
        ),
        Demand(
            "max_batch",
            task.min_batch <= task.max_batch <= most,
            f"max_batch from min_batch={task.min_batch} to {most}",
            f"max_batch={task.max_batch}",
        ),
        Demand(
            "window_seconds",
            task.window_seconds >= 1,
            "window_seconds >= 1",
            f"window_seconds={task.window_seconds}",
        ),
        Demand(
            "grace_seconds",
            0 <= task.grace_seconds <= task.window_seconds,
            f"0 <= grace_seconds <= {task.window_seconds}, the length of a window",
            f"grace_seconds={task.grace_seconds}",
        ),
    ]


def _of_promise(task: TaskNumbers) -> list[Demand]:
    real = [Fraction(bound) for bound in task.bounds]
    n_bins = task.size if task.protocol in BINNED else 0
    repeated = next((name for name, times in Counter(task.domain).items() if times > 1), None)
    names = f"domain with {len(task.domain)} names"
    if repeated is not None:
        names = f"domain with {repeated!r} more than once"
    return [
        Demand(
            "bounds",
            len(real) == 2 and real[0] < real[1] if task.protocol in BOUNDED else not real,
            f"two bounds for a {' or '.join(BOUNDED)}, the lower one first, and none otherwise",
            f"bounds={' '.join(task.bounds)}" if task.bounds else "no bounds",
        ),
        Demand(
            "bounds",
            all(abs(bound) <= LARGEST_BOUND for bound in real),
            "bounds from -1e100 to 1e100",
            f"bounds={' '.join(task.bounds)}",
        ),
        Demand(
            "domain",
            repeated is None and len(task.domain) in (0, n_bins),
            "domain with a different name for each bin of a histogram, or none",
            names,
        ),
        Demand("epsilon", Fraction(task.epsilon) > 0, "epsilon > 0", f"epsilon={task.epsilon}"),
        Demand("delta", 0 < Fraction(task.delta) < 1, "0 < delta < 1", f"delta={task.delta}"),
        Demand(
            "budget_epsilon",
            Fraction(task.budget_epsilon) >= Fraction(task.epsilon),
            f"budget_epsilon of at least epsilon={task.epsilon}",
            f"budget_epsilon={task.budget_epsilon}",
        ),
        Demand(
            "budget_delta",
            Fraction(task.delta) <= Fraction(task.budget_delta) <= 1,
            f"budget_delta from delta={task.delta} to 1",
            f"budget_delta={task.budget_delta}",
        ),
    ]


def _of_parties(task: TaskNumbers) -> list[Demand]:
    keys = [task.analyzer_sign_key, task.shuffler_sign_key]
    keys += [task.issuer.sign_key] if task.issuer else []
    name, url = (task.issuer.name, task.issuer.url) if task.issuer else ("none", "http://none")
    return [
        Demand("proof", task.proof in PROOFS, "proof slots or none", f"proof={task.proof}"),
        Demand(
            "issuer",
            (task.issuer is not None) == (task.proof == "slots"),
            "an issuer with proof=slots, and none with proof=none",
            f"proof={task.proof} {'without an issuer' if task.issuer is None else 'and an issuer'}",
        ),
        Demand(
            "issuer",
            _NAME.fullmatch(name) is not None and _URL.fullmatch(url) is not None,
            "an issuer with a name of printable ASCII and an address http or https",
            "another text",
        ),
        Demand(
            "origin",
            _NAME.fullmatch(task.origin) is not None,
            "origin as 1 to 255 characters of printable ASCII without a comma",
            "another text",
        ),
        Demand(
            "keys",
            len(set(keys)) == len(keys),
            "a signing key of its own for each party",
            "the same key twice",
        ),
    ]
