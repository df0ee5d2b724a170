"""Collect a share, a mean or a histogram from users, through a shuffler, in one call."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike

from smoothdp.claims.budget import Budget, check_budget
from smoothdp.claims.domains import read_inner_probability
from smoothdp.claims.guarantees.standard import ApproxDP
from smoothdp.claims.label import Label, with_label
from smoothdp.errors import InvalidData, InvalidParameter
from smoothdp.exact.parameters.numbers import Parameter, exact_fraction
from smoothdp.exact.parameters.reading import float_array
from smoothdp.exact.random.entropy import Entropy
from smoothdp.paper_bounds import cheu_random_users, clones_random_users
from smoothdp.queries.read_arguments import read_bounds
from smoothdp.report.collection import Collection
from smoothdp.shuffle import BooleanSum, Histogram, RealSum
from smoothdp.shuffle.accounting.float_estimates import error_of_counts, misplaced, scaled_estimate
from smoothdp.text import number_up
from smoothdp.types import FloatArray


def collect_share(
    values: ArrayLike,
    *,
    above: Parameter | None = None,
    guarantee: ApproxDP,
    confidence: Parameter = "0.95",
    label: object = None,
    ledger: Budget | None = None,
    rng: Entropy | None = None,
) -> Collection:
    """Collect the share of users with a 1, or above a threshold: BooleanSum on one bit each.

    Args:
        values: one number per user; 0 or 1 without a threshold.
        above: the threshold, public; None for values that are 0 or 1.
        guarantee: (epsilon, delta), replacing one user.
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
    _check_guarantee(guarantee)
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
        limit = float(exact_fraction(above, name="above"))
        bits, which = numbers > limit, f"above {number_up(limit, 17)}"
    n = len(numbers)
    protocol = BooleanSum.calibrate(n, guarantee=guarantee)
    failure = _failure(confidence)
    profile = protocol.profile()
    # All that could fail comes before the charge.
    reach, log_delta = protocol.error(failure), profile.log_delta(guarantee.exact_epsilon)
    notes = {"noise": _random_users(protocol, guarantee)}
    if ledger is not None:
        ledger.charge(with_label(protocol, named))
    release = protocol.release(bits.astype(np.uint8), label=named, rng=rng)
    share, error = scaled_estimate(release.value, reach, factor=Fraction(1, n))
    return Collection(
        title=f"Share of {n} users {which}",
        estimates={f"share {which}": share},
        error=error,
        confidence=float(1 - failure),
        messages_per_user=1.0,
        release=release,
        n_users=n,
        profile=profile,
        epsilon=guarantee.epsilon,
        log_delta=log_delta,
        bounds=notes,
    )


def collect_mean(
    values: ArrayLike,
    *,
    bounds: tuple[Parameter, Parameter],
    guarantee: ApproxDP,
    n_bits: int | None = None,
    confidence: Parameter = "0.95",
    label: object = None,
    ledger: Budget | None = None,
    rng: Entropy | None = None,
) -> Collection:
    """Collect the mean of values clipped to public bounds: RealSum of their positions in [0, 1].

    Args:
        values: one number per user.
        bounds: (low, high), public; values outside count as the nearer bound.
        guarantee: (epsilon, delta), replacing one user.
        n_bits: messages per user; by default the number beyond which little is gained.
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
    _check_guarantee(guarantee)
    check_budget(ledger, guarantee)
    low, high = read_bounds(bounds)
    numbers = _column(values)
    n = len(numbers)
    protocol = RealSum.calibrate(n, guarantee=guarantee, n_bits=n_bits)
    failure = _failure(confidence)
    width = float(high - low)
    shares = np.clip((np.clip(numbers, float(low), float(high)) - float(low)) / width, 0.0, 1.0)
    profile = protocol.profile()
    reach = protocol.error(failure)
    log_delta = profile.log_delta(guarantee.exact_epsilon)
    if ledger is not None:
        ledger.charge(with_label(protocol, named))
    release = protocol.release(shares, label=named, rng=rng)
    factor, more = (high - low) / n, misplaced(low, high, width)
    shown = ", ".join(number_up(float(bound), 17) for bound in (low, high))
    mean, error = scaled_estimate(release.value, reach, factor=factor, offset=low, more=more)
    return Collection(
        title=f"Mean of {n} users, clipped to [{shown}]",
        estimates={"mean": mean},
        error=error,
        confidence=float(1 - failure),
        messages_per_user=float(protocol.n_bits),
        release=release,
        n_users=n,
        profile=profile,
        epsilon=guarantee.epsilon,
        log_delta=log_delta,
        bounds={},
    )


def collect_histogram(
    values: Sequence[str],
    *,
    domain: Sequence[str],
    guarantee: ApproxDP,
    confidence: Parameter = "0.95",
    label: object = None,
    ledger: Budget | None = None,
    rng: Entropy | None = None,
) -> Collection:
    """Collect how many users hold each value of a public domain: a zero-preserving histogram.

    Args:
        values: one text per user, each in the domain.
        domain: all values a user may have, public.
        guarantee: (epsilon, delta), replacing one user.
        confidence: of all error bars together.
        label: a name, or a `smoothdp.claims.label.Label` with purpose and who.
        ledger: a `Ledger`, charged before the users randomise.
        rng: `SystemRandom()` by default.

    Raises:
        InvalidData: a value outside the domain, or one twice in it.
        InvalidParameter: other arguments outside their domains, or too few users.
        BudgetExceeded, IncompatibleClaims, LedgerError: the ledger refuses.
        In all these cases nothing is collected.

    >>> collection = collect_histogram(
    ...     ["a", "b"] * 5000, domain=["a", "b", "c"], guarantee=ApproxDP(1, delta="1e-6")
    ... )
    >>> abs(collection.estimates["a"] - 5000) < 2000
    True
    """
    named = Label.read(label)
    _check_guarantee(guarantee)
    check_budget(ledger, guarantee)
    values, domain = _texts(values, name="values"), _texts(domain, name="domain")
    bins = {value: bin_index for bin_index, value in enumerate(domain)}
    if len(bins) != len(domain):
        raise InvalidData(
            expected="distinct values in the domain", got="one twice", remedy="Name each value once"
        )
    if any(value not in bins for value in values):
        raise InvalidData(
            expected="values of the domain",
            got="another value",
            remedy="Add it to the domain, or replace it by a value of the domain",
        )
    n, failure = len(values), _failure(confidence)
    protocol = Histogram.calibrate(n, n_bins=len(domain), guarantee=guarantee)
    profile = protocol.profile()
    error = protocol.error(failure, simultaneous=True)
    log_delta = profile.log_delta(guarantee.exact_epsilon)
    notes = {"noise": _noise_bits(protocol, guarantee)}
    if ledger is not None:
        ledger.charge(with_label(protocol, named))
    release = protocol.release([bins[value] for value in values], label=named, rng=rng)
    hidden = n * protocol.omission_probability
    error, spare = error_of_counts(error, hidden, release.value.counts.values())
    return Collection(
        title=f"Counts of {n} users over {len(domain)} values",
        # What the protocol leaves out is estimated by 0.
        estimates=dict.fromkeys(domain, 0.0)
        | {domain[bin_index]: count for bin_index, count in release.value.top(len(domain))},
        error=error,
        confidence=float(1 - failure),
        messages_per_user=protocol.mean_messages,
        release=release,
        n_users=n,
        profile=profile,
        epsilon=guarantee.epsilon,
        log_delta=log_delta,
        bounds=notes,
        spare=spare,
    )


def _texts(values: object, *, name: str) -> list[str]:
    """Return a list of texts or other names, or raise InvalidData."""
    if isinstance(values, str | bytes) or not isinstance(values, Iterable):
        raise InvalidData(
            expected=f"{name} as a list of texts", got=type(values).__name__, remedy="Give a list"
        )
    texts = list(values)
    if not all(isinstance(value, Hashable) for value in texts):
        raise InvalidData(
            expected=f"{name} as a list of texts", got="a list of lists", remedy="Give texts"
        )
    return texts


def _check_guarantee(guarantee: object) -> None:
    """Raise InvalidParameter for a claim that is not (epsilon, delta), as the errors here are."""
    if not isinstance(guarantee, ApproxDP):
        raise InvalidParameter(
            expected="guarantee=ApproxDP(epsilon, delta=) for a collection",
            got=f"{guarantee!r}",
            remedy="Give one; a protocol of smoothdp.shuffle takes other claims",
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


def _failure(confidence: Parameter) -> Fraction:
    return 1 - read_inner_probability(confidence, name="confidence", example="0.95")


def _random_users(protocol: BooleanSum, guarantee: ApproxDP) -> str:
    """Return lambda with what other bounds would have asked for."""
    target = {
        "n_users": protocol.n_users,
        "epsilon": guarantee.exact_epsilon,
        "delta": guarantee.exact_delta,
    }
    clones = clones_random_users(**target)  # type: ignore[arg-type]
    cheu = cheu_random_users(**target)  # type: ignore[arg-type]
    return (
        f"{float(protocol.expected_random_users):.4g} users answer at random; amplification by "
        f"clones (2023) would ask for {clones:.4g}, Cheu et al. (2019) for {cheu:.4g}"
    )


def _noise_bits(protocol: Histogram, guarantee: ApproxDP) -> str:
    """Return n gamma with what the paper's calibration would have asked for."""
    ours = float(protocol.n_users * protocol.omission_probability)
    try:
        paper = Histogram.calibrate(
            protocol.n_users, n_bins=protocol.n_bins, guarantee=guarantee, method="paper"
        )
    except InvalidParameter:
        return f"{ours:.4g} noise bits of a bin are omitted; the paper's calibration has no answer"
    theirs = float(paper.n_users * paper.omission_probability)
    return f"{ours:.4g} noise bits of a bin are omitted; the paper's calibration omits {theirs:.4g}"
