"""Collect a share or a mean from users, through a shuffler, in one call."""

from __future__ import annotations

from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from smoothdp.claims.budget import Budget, check_budget
from smoothdp.claims.guarantees.standard import ApproxDP
from smoothdp.claims.label import Label, with_label
from smoothdp.errors import InvalidData, InvalidParameter
from smoothdp.exact.parameters.numbers import Parameter, exact_fraction, float_bounds
from smoothdp.exact.parameters.reading import float_array
from smoothdp.exact.random.entropy import Entropy
from smoothdp.paper_bounds import cheu_random_users, clones_random_users
from smoothdp.queries.read_arguments import read_bounds
from smoothdp.report.collecting.answered import asked_words, who_answers
from smoothdp.report.collecting.chosen import chosen
from smoothdp.report.collecting.collection import Collection
from smoothdp.report.collecting.common import check_collected, failure_of, public_facts
from smoothdp.shuffle import BooleanSum, PairedCount, RealSum, SplitSum
from smoothdp.shuffle.accounting.float_estimates import misplaced, scaled_estimate
from smoothdp.shuffle.users.honest_share import DEFAULT_HONEST_SHARE
from smoothdp.text import number_up
from smoothdp.types import FloatArray

SHARES: dict[str, Any] = {
    "boolean-sum": BooleanSum.calibrate,
    "real-sum": RealSum.calibrate,
    "paired-count": PairedCount.calibrate,
    "split-sum": partial(SplitSum.calibrate, resolution=1),
}
MEANS: dict[str, Any] = {"real-sum": RealSum.calibrate, "split-sum": SplitSum.calibrate}
"""How to make a protocol, by the names that commands use."""


def collect_share(
    values: ArrayLike,
    *,
    above: Parameter | None = None,
    guarantee: ApproxDP,
    honest_share: Parameter = DEFAULT_HONEST_SHARE,
    protocol: str | None = None,
    liars: int | None = None,
    n_bits: int | None = None,
    most_messages: Parameter | None = None,
    most_slots: int | None = None,
    n_answered: int | None = None,
    tolerated: int = 0,
    confidence: Parameter = "0.95",
    label: object = None,
    ledger: Budget | None = None,
    rng: Entropy | None = None,
) -> Collection:
    """Collect the share of users with a 1, or above a threshold.

    Args:
        values: one number per user; 0 or 1 without a threshold.
        above: the threshold, public; None for values that are 0 or 1.
        guarantee: (epsilon, delta), replacing one user.
        honest_share: the share of the users whose noise is counted on, in (0, 1].
        protocol: "boolean-sum", "real-sum", "paired-count" or "split-sum". None: `plan_collect`
            chooses, and the result says why, and by which name the choice is repeated.
        liars: how many users may send anything, by which it chooses; None counts one.
        n_bits: of a real sum, messages per user; names it.
        most_messages, most_slots: what a user may send at most; None: anything by name, and 64
            slots without.
        n_answered: how many of the users answer, drawn at random; None: all.
        tolerated: how many of these may not follow the protocol; the promise must bear it.
        confidence: of the error bar.
        label: a name, or a `smoothdp.claims.label.Label` with purpose and who.
        ledger: a `Ledger`, charged before the users randomise.
        rng: `SystemRandom()` by default.

    Raises:
        InvalidParameter, InvalidData: arguments outside their domains.
        BudgetExceeded, IncompatibleClaims, LedgerError: the ledger refuses.
        In all these cases nothing is collected.

    >>> collection = collect_share(
    ...     np.array([0.0, 1.0] * 1000), guarantee=ApproxDP(1, delta="1e-6"), confidence="0.99"
    ... )
    >>> abs(collection.estimates["share with a 1"] - 0.5) < 0.2
    True
    """
    named = Label.read(label)
    check_collected(guarantee)
    check_budget(ledger, guarantee)
    numbers = _column(values)
    if above is None:
        wrong = (numbers != 0) & (numbers != 1)
        if wrong.any():
            raise InvalidData(
                expected="values 0 and 1",
                got="another value",
                remedy="Give a threshold (above=, --above)",
            )
        bits, which = numbers == 1, "with a 1"
    else:
        limit = _threshold(above)
        bits, which = numbers > limit, f"above {number_up(limit, 17)}"
    n = len(numbers)
    picked = chosen(
        "count",
        SHARES,
        n,
        protocol=protocol,
        liars=liars,
        n_bits=n_bits,
        common={"guarantee": guarantee, "honest_share": honest_share},
        limits={"most_messages": most_messages, "most_slots": most_slots},
    )
    made, notes = picked.protocol, picked.notes
    used, _, who = who_answers(made, n, n_answered=n_answered, tolerated=tolerated, rng=rng)
    failure = failure_of(confidence)
    # All that could fail comes before the charge. Bits are not rounded, by more bits either.
    error_of = used.noise_error if isinstance(used, RealSum) else used.error
    reach, facts = error_of(failure), public_facts(made, guarantee)
    if isinstance(made, BooleanSum):
        notes |= {"noise": _random_users(made, guarantee)}
    if ledger is not None:
        ledger.charge(with_label(made, named))
    release = used.release(bits[who].astype(np.uint8), label=named, rng=rng)
    share, error = scaled_estimate(release.value, reach, factor=Fraction(1, used.n_users))
    return Collection(
        title=f"Share of {asked_words(n, used.n_users)} {which}",
        estimates={f"share {which}": share},
        error=error,
        confidence=float_bounds(1 - failure)[0],
        release=release,
        bounds=notes,
        named=picked.named,
        **facts,
    )


def collect_mean(
    values: ArrayLike,
    *,
    bounds: tuple[Parameter, Parameter],
    guarantee: ApproxDP,
    honest_share: Parameter = DEFAULT_HONEST_SHARE,
    protocol: str | None = None,
    liars: int | None = None,
    n_bits: int | None = None,
    most_messages: Parameter | None = None,
    most_slots: int | None = None,
    n_answered: int | None = None,
    tolerated: int = 0,
    confidence: Parameter = "0.95",
    label: object = None,
    ledger: Budget | None = None,
    rng: Entropy | None = None,
) -> Collection:
    """Collect the mean of values clipped to public bounds: a sum of their positions in [0, 1].

    Args:
        values: one number per user.
        bounds: (low, high), public; values outside count as the nearer bound.
        guarantee: (epsilon, delta), replacing one user.
        honest_share: the share of the users whose noise is counted on, in (0, 1].
        protocol: "real-sum" or "split-sum"; None, liars, n_bits, most_messages, most_slots,
            n_answered, tolerated: as in `collect_share`.
        confidence: of the error bar, which is about the clipped mean.
        label: a name, or a `smoothdp.claims.label.Label` with purpose and who.
        ledger: a `Ledger`, charged before the users randomise.
        rng: `SystemRandom()` by default.

    Raises:
        InvalidParameter, InvalidData: arguments outside their domains.
        BudgetExceeded, IncompatibleClaims, LedgerError: the ledger refuses.
        In all these cases nothing is collected.

    >>> collection = collect_mean(
    ...     np.linspace(0, 10, 2000), bounds=(0, 10), guarantee=ApproxDP(1, delta="1e-6"), n_bits=6
    ... )
    >>> abs(collection.estimates["mean"] - 5) < 2
    True
    """
    named = Label.read(label)
    check_collected(guarantee)
    check_budget(ledger, guarantee)
    low, high = read_bounds(bounds)
    numbers = _column(values)
    n = len(numbers)
    picked = chosen(
        "sum",
        MEANS,
        n,
        protocol=protocol,
        liars=liars,
        n_bits=n_bits,
        common={"guarantee": guarantee, "honest_share": honest_share},
        limits={"most_messages": most_messages, "most_slots": most_slots},
    )
    made = picked.protocol
    used, _, who = who_answers(made, n, n_answered=n_answered, tolerated=tolerated, rng=rng)
    failure = failure_of(confidence)
    width = float(high - low)
    shares = np.clip((np.clip(numbers, float(low), float(high)) - float(low)) / width, 0.0, 1.0)
    reach, facts = used.error(failure), public_facts(made, guarantee)
    if ledger is not None:
        ledger.charge(with_label(made, named))
    release = used.release(shares[who], label=named, rng=rng)
    factor, more = (high - low) / used.n_users, misplaced(low, high, width)
    shown = ", ".join(number_up(float(bound), 17) for bound in (low, high))
    mean, error = scaled_estimate(release.value, reach, factor=factor, offset=low, more=more)
    return Collection(
        title=f"Mean of {asked_words(n, used.n_users)}, clipped to [{shown}]",
        estimates={"mean": mean},
        error=error,
        confidence=float_bounds(1 - failure)[0],
        release=release,
        bounds=picked.notes,
        named=picked.named,
        **facts,
    )


def _column(values: ArrayLike) -> FloatArray:
    """Return one finite float per user, or raise InvalidData."""
    numbers = float_array(values, name="values")
    if numbers.ndim != 1:
        raise InvalidData(
            expected="one number per user",
            got=f"an array of shape {numbers.shape}",
            remedy="Give one column: a list or an array of one dimension",
        )
    if not np.isfinite(numbers).all():
        raise InvalidData(
            expected="finite numbers",
            got="a value that is not finite",
            remedy="Replace missing or infinite values by a public constant",
        )
    return numbers


def _threshold(above: Parameter) -> float:
    """Return the threshold as a float, or raise InvalidParameter: no value is above it."""
    try:
        return float(exact_fraction(above, name="above"))
    except OverflowError:
        raise InvalidParameter(
            expected="above as a number that floats reach",
            got="a larger one",
            remedy="Give a threshold that some value may be above",
        ) from None


def _random_users(protocol: BooleanSum, guarantee: ApproxDP) -> str:
    """Return lambda with what other bounds would have asked for, of the same honest users."""
    honest = protocol.honest_assumed
    target = {
        "n_users": honest,
        "epsilon": guarantee.exact_epsilon,
        "delta": guarantee.exact_delta,
    }
    # Each user answers at random as often, and there are more of them.
    share = protocol.n_users / honest
    clones = share * clones_random_users(**target)  # type: ignore[arg-type]
    cheu = share * cheu_random_users(**target)  # type: ignore[arg-type]
    return (
        f"{float(protocol.expected_random_users):.4g} users answer at random; amplification by "
        f"clones (2023) would ask for {clones:.4g}, Cheu et al. (2019) for {cheu:.4g}"
    )
