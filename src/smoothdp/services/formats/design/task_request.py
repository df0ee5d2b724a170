"""Making a task of format 2: the least noise for a promise in the smallest batch."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from smoothdp.claims import ApproxDP
from smoothdp.errors import InvalidParameter
from smoothdp.exact.parameters.numbers import (
    exact_fraction,
    exact_int,
    exact_text,
    proper_probability,
)
from smoothdp.services.formats.design.protocols import BINNED, DESIGNED, PROTOCOLS, Design
from smoothdp.services.formats.design.task_shape import (
    LARGEST_BATCH,
    MOST_SIGNED_SLOTS,
    MOST_SLOTS,
    MOST_TOKENS,
    TaskIssuer,
)
from smoothdp.services.formats.signing import VerifyingKey
from smoothdp.services.formats.task import Task
from smoothdp.shuffle import (
    BooleanSum,
    Histogram,
    LowCommunicationHistogram,
    PairedCount,
    PairedHistogram,
    RealSum,
    SplitSum,
)
from smoothdp.shuffle.users.honest_share import read_honest_share

_LARGEST_EPSILON = 10**9
"""What is more says nothing, and the budget of many windows must remain a short number."""
_LARGEST_BY_DESIGN = 100
"""How many times the smallest batch the largest one is, where noise or modulus are made for it."""
_MOST_MESSAGES = 8
"""Messages of a paired envelope that are no dummies, on average."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskRequest:
    """What a task shall promise, before there is noise for it; see `create_task`."""

    protocol: str
    epsilon: str
    delta: str
    min_batch: int
    analyzer_sign_key: VerifyingKey
    shuffler_sign_key: VerifyingKey
    issuer: TaskIssuer | None
    origin: str
    proof: str = "slots"
    size: int | None = None
    max_batch: int | None = None
    honest_share: str = "0.9"
    window_seconds: int = 86_400
    grace_seconds: int = 3_600
    windows: int = 1
    unit: str = "one client"
    bounds: Sequence[str] = ()
    domain: Sequence[str] = ()

    @property
    def messages(self) -> int:
        """Bits of a real sum, or bins of a histogram: the names of its domain, if it has any."""
        named = self.protocol in BINNED and self.domain
        return len(self.domain) if named else 1 if self.size is None else self.size


def create_task(
    protocol: str,
    *,
    epsilon: str,
    delta: str,
    min_batch: int,
    analyzer_sign_key: VerifyingKey,
    shuffler_sign_key: VerifyingKey,
    issuer: TaskIssuer | None,
    origin: str,
    proof: str = "slots",
    size: int | None = None,
    max_batch: int | None = None,
    honest_share: str = "0.9",
    window_seconds: int = 86_400,
    grace_seconds: int = 3_600,
    windows: int = 1,
    unit: str = "one client",
    bounds: Sequence[str] = (),
    domain: Sequence[str] = (),
) -> Task:
    """Return the task with the least noise that keeps a promise in batches of ``min_batch``.

    Args:
        protocol: boolean_sum, real_sum, histogram, low_communication_histogram, paired_count,
            paired_histogram or split_sum; real_sum and split_sum need bounds.
        epsilon: of each window, to be written as a decimal or a ratio, > 0 and up to 10^9.
        delta: of each window, in (0, 1).
        min_batch: smallest batch; the noise is calibrated to its honest users.
        analyzer_sign_key, shuffler_sign_key: the public halves of the parties' keys.
        issuer: who gives tokens; None with ``proof`` "none".
        origin: the analyser's name, in every token.
        proof: "slots", or "none": then the shuffler alone can invent people.
        size: bits per user of a real sum, bins of a histogram, steps of a split sum; None: 1,
            the names of the domain, or as many steps as add 1 % to the error.
        max_batch: largest batch; None: as large as can be, 100 times the smallest where noise
            is shared among the honest users of the smallest.
        honest_share: share of those served who follow the protocol, in (0, 1].
        windows: how many windows the budget pays for, by basic composition.

    Raises:
        InvalidParameter: a field outside its domain, too few users for the promise, or an
            envelope of more than 128 slots with an issuer.

    >>> from smoothdp.services.formats.signing import SigningKey
    >>> analyzer, shuffler = (SigningKey.generate().public for _ in range(2))
    >>> task = create_task("paired_count", epsilon="1", delta="1e-6", min_batch=1000,
    ...     analyzer_sign_key=analyzer, shuffler_sign_key=shuffler, issuer=None,
    ...     origin="analyzer.example", proof="none")
    >>> task.slots, task.honest(1000), task.fewest_honest
    (47, 900, 900)
    """
    return make_task(
        TaskRequest(
            protocol=protocol,
            epsilon=epsilon,
            delta=delta,
            min_batch=min_batch,
            analyzer_sign_key=analyzer_sign_key,
            shuffler_sign_key=shuffler_sign_key,
            issuer=issuer,
            origin=origin,
            proof=proof,
            size=size,
            max_batch=max_batch,
            honest_share=honest_share,
            window_seconds=window_seconds,
            grace_seconds=grace_seconds,
            windows=windows,
            unit=unit,
            bounds=bounds,
            domain=domain,
        )
    )


def make_task(request: TaskRequest) -> Task:
    """Return the task that a request asks for; see `create_task`."""
    for name in ("analyzer_sign_key", "shuffler_sign_key"):
        if not isinstance(getattr(request, name), VerifyingKey):
            raise InvalidParameter(
                expected=f"{name} as a VerifyingKey",
                got=type(getattr(request, name)).__name__,
                remedy="Give SigningKey.generate().public",
            )
    min_batch, honest = _read_users(request)
    goal = ApproxDP(request.epsilon, delta=request.delta)
    epsilon, delta = _read_budget(request)
    largest = _largest_by_design(request, min_batch)
    try:
        design = _least_noise(request, honest, goal, largest)
    except InvalidParameter as error:
        if "n_users" not in str(error):
            raise
        # The caller gave no such number.
        raise InvalidParameter(
            expected=error.expected,
            got=error.got,
            remedy=f"{error.remedy.rstrip('.')}. These are the {honest} users of "
            f"min_batch={min_batch} that follow the protocol if "
            f"honest_share={request.honest_share} do: so change min_batch",
        ) from None
    signed = request.proof == "slots"
    most_slots = MOST_SIGNED_SLOTS if signed else MOST_SLOTS
    most = min(LARGEST_BATCH, largest, max(1, most_slots // design.slots))
    return Task(
        protocol=design.protocol,
        size=design.size,
        noise=design.noise,
        parameters=design.parameters,
        slots=design.slots,
        epsilon=request.epsilon,
        delta=request.delta,
        honest_share=request.honest_share,
        min_batch=min_batch,
        max_batch=most if request.max_batch is None else request.max_batch,
        window_seconds=request.window_seconds,
        grace_seconds=request.grace_seconds,
        budget_epsilon=exact_text(epsilon),
        budget_delta=exact_text(delta),
        analyzer_sign_key=request.analyzer_sign_key.hex,
        shuffler_sign_key=request.shuffler_sign_key.hex,
        issuer=request.issuer,
        origin=request.origin,
        proof=request.proof,
        unit=request.unit,
        bounds=tuple(request.bounds),
        domain=tuple(request.domain),
    )


def _read_users(request: TaskRequest) -> tuple[int, int]:
    """Return the users of the smallest batch, and how many of them are honest."""
    min_batch = exact_int(request.min_batch, name="min_batch", minimum=1)
    if min_batch > LARGEST_BATCH:
        raise InvalidParameter(
            expected=f"min_batch up to {LARGEST_BATCH}",
            got=f"min_batch={min_batch}",
            remedy="Give the fewest users of a batch",
        )
    share = read_honest_share(request.honest_share)
    return min_batch, min_batch - math.floor(min_batch * (1 - share))


def _read_budget(request: TaskRequest) -> tuple[Fraction, Fraction]:
    """Return epsilon and delta of all windows together, by basic composition."""
    epsilon = exact_fraction(request.epsilon, name="epsilon")
    windows = exact_int(request.windows, name="windows", minimum=1)
    if not 0 < epsilon <= _LARGEST_EPSILON:
        raise InvalidParameter(
            expected=f"0 < epsilon <= {_LARGEST_EPSILON}",
            got=f"epsilon={request.epsilon}",
            remedy="Give an epsilon such as 1",
        )
    remedy = "Give a small number such as 1e-6"
    delta = proper_probability(request.delta, name="delta", remedy=remedy)
    if delta * windows > 1:
        raise InvalidParameter(
            expected="1 <= windows <= 1 / delta",
            got=f"windows={windows}",
            remedy="Pay for fewer windows",
        )
    return epsilon * windows, delta * windows


def _largest_by_design(request: TaskRequest, min_batch: int) -> int:
    if request.max_batch is not None:
        return exact_int(request.max_batch, name="max_batch", minimum=min_batch)
    return _LARGEST_BY_DESIGN * min_batch if request.protocol in DESIGNED else LARGEST_BATCH


def _least_noise(request: TaskRequest, honest: int, goal: ApproxDP, largest: int) -> Design:
    """Return the numbers of a task whose promise so many honest users keep."""
    name, size = request.protocol, request.messages
    # The users are the honest ones of the smallest batch already: all of them count.
    wanted: dict[str, Any] = {"guarantee": goal, "honest_share": 1}
    if name == "boolean_sum":
        return Design(name, 1, str(BooleanSum.calibrate(honest, **wanted).threshold), (), 1)
    if name == "real_sum":
        flips = RealSum.calibrate(honest, n_bits=size, **wanted).threshold
        return Design(name, size, str(flips), (), size)
    if name == "histogram":
        omitted = Histogram.calibrate(honest, n_bins=size, **wanted).omission_probability
        return Design(name, size, str(omitted), (), size + 1)
    if name == "low_communication_histogram":
        rare = LowCommunicationHistogram.calibrate(honest, n_bins=size, **wanted)
        chance = str(rare.false_positive)
        return Design(name, size, str(rare.noise_probability), (chance,), rare.n_slots)
    if name in ("paired_count", "paired_histogram"):
        wanted |= {"most_slots": MOST_TOKENS, "most_messages": _MOST_MESSAGES}
        paired: PairedCount | PairedHistogram = (
            PairedCount.calibrate(honest, **wanted)
            if name == "paired_count"
            else PairedHistogram.calibrate(honest, n_bins=size, **wanted)
        )
        numbers = (paired.clump_probability, paired.largest_clump, paired.n_honest_design)
        texts = tuple(str(number) for number in numbers)
        return Design(name, size, str(paired.noise_rate), texts, paired.slots_per_user)
    if name == "split_sum":
        # For the total of the largest batch, with the noise of the smallest one's honest users.
        split = SplitSum.calibrate(
            largest,
            guarantee=goal,
            honest_share=Fraction(honest, largest),
            resolution=request.size,
        )
        texts = (str(split.modulus_bits), str(honest))
        noise = str(split.noise_epsilon)
        return Design(name, split.resolution, noise, texts, split.n_shares)
    raise InvalidParameter(
        expected=f"protocol {', '.join(PROTOCOLS[:-1])} or {PROTOCOLS[-1]}",
        got=f"protocol={name}",
        remedy="Name one of these protocols",
    )
