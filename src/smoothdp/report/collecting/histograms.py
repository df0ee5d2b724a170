"""Collect a histogram from users, through a shuffler, in one call."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import Any

from smoothdp.claims.budget import Budget, check_budget
from smoothdp.claims.guarantees.standard import ApproxDP
from smoothdp.claims.label import Label, with_label
from smoothdp.errors import InvalidData, InvalidParameter
from smoothdp.exact.parameters.numbers import Parameter, float_bounds
from smoothdp.exact.random.entropy import Entropy
from smoothdp.report.collecting.collection import Collection
from smoothdp.report.collecting.common import (
    check_collected,
    failure_of,
    named_protocol,
    public_facts,
)
from smoothdp.shuffle import Histogram, LowCommunicationHistogram
from smoothdp.shuffle.affordable import require_affordable
from smoothdp.shuffle.users.honest_share import DEFAULT_HONEST_SHARE

OTHER = "other"
"""The bin of values that a domain does not list."""
HISTOGRAMS: dict[str, Any] = {
    "low-communication-histogram": LowCommunicationHistogram,
    "zero-preserving-histogram": Histogram,
}
"""The protocols by the names that commands use; the first is the default."""


def collect_histogram(
    values: Sequence[str],
    *,
    domain: Sequence[str],
    guarantee: ApproxDP,
    honest_share: Parameter = DEFAULT_HONEST_SHARE,
    protocol: str = "low-communication-histogram",
    other: str | None = OTHER,
    most_messages: Parameter | None = None,
    most_slots: int | None = None,
    confidence: Parameter = "0.95",
    label: object = None,
    ledger: Budget | None = None,
    rng: Entropy | None = None,
) -> Collection:
    """Collect how many users hold each value of a public domain.

    Args:
        values: one text per user.
        domain: values a user may have, public.
        guarantee: (epsilon, delta), replacing one user.
        honest_share: the share of the users whose noise is counted on, in (0, 1].
        protocol: "low-communication-histogram", with few messages a user; or
            "zero-preserving-histogram", where what nobody holds is 0 for certain, with about as
            many messages as the domain has values.
        other: the bin of all values that are not in the domain, added to it if it is not there, so
            that no user is refused for what they hold; None: such values are refused.
        most_messages, most_slots: what a user may send at most; None: anything.
        confidence: of all error bars together.
        label: a name, or a `smoothdp.claims.label.Label` with purpose and who.
        ledger: a `Ledger`, charged before the users randomise.
        rng: `SystemRandom()` by default.

    Raises:
        InvalidData: a value twice in the domain; with other=None, a value outside it.
        InvalidParameter: other arguments outside their domains, or too few users.
        BudgetExceeded, IncompatibleClaims, LedgerError: the ledger refuses.
        In all these cases nothing is collected.

    >>> collection = collect_histogram(
    ...     ["a", "b"] * 5000, domain=["a", "b", "c"], guarantee=ApproxDP(1, delta="1e-6")
    ... )
    >>> low, high = collection.ranges["a"]
    >>> high - low, collection.slots_per_user
    (34, 5)
    """
    named = Label.read(label)
    check_collected(guarantee)
    check_budget(ledger, guarantee)
    kind = named_protocol(protocol, HISTOGRAMS)
    values, domain = _texts(values, name="values"), _texts(domain, name="domain")
    if not domain or len(set(domain)) != len(domain):
        raise InvalidData(
            expected="distinct values in the domain, at least one",
            got="one twice" if domain else "none",
            remedy="Name each value once",
        )
    if other is not None:
        # The last bin catches all.
        domain = [value for value in domain if value != other] + [other]
    bins = {value: bin_index for bin_index, value in enumerate(domain)}
    if other is None and any(value not in bins for value in values):
        raise InvalidData(
            expected="values of the domain",
            got="another value",
            remedy="Add it to the domain, or replace it by a value of the domain",
        )
    n, failure = len(values), failure_of(confidence)
    made = kind.calibrate(
        n,
        n_bins=len(domain),
        guarantee=guarantee,
        honest_share=honest_share,
        catch_all=other is not None,
    )
    require_affordable(made, most_messages=most_messages, most_slots=most_slots)
    # All that could fail comes before the charge.
    facts, error = public_facts(made, guarantee), made.error(failure, simultaneous=True)
    notes = {"noise": _noise(made, guarantee), "silence": made.silence_words(1)}
    if ledger is not None:
        ledger.charge(with_label(made, named))
    data = [bins.get(value, len(domain) - 1) for value in values]
    release = made.release(data, label=named, rng=rng)
    error, spare = made.printed_error(error, release.value)
    bars = release.value.bars(1 - failure)
    return Collection(
        title=f"Counts of {n} users over {len(domain)} values",
        # What the protocol leaves out is estimated by 0.
        estimates=dict.fromkeys(domain, 0.0)
        | {domain[bin_index]: count for bin_index, count in release.value.top(len(domain))},
        error=error,
        confidence=float_bounds(1 - failure)[0],
        release=release,
        bounds=notes,
        spare=spare,
        ranges={value: bars[bin_index] for value, bin_index in bins.items()},
        bars=bars.sentence(),
        **facts,
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


def _noise(protocol: Histogram | LowCommunicationHistogram, guarantee: ApproxDP) -> str:
    """Return n gamma with what the paper's calibration would have asked for."""
    n, ours = protocol.n_users, float(protocol.n_users * protocol.noise_mass)
    words = "are omitted" if isinstance(protocol, Histogram) else "are sent"
    try:
        paper = Histogram.calibrate(
            n,
            n_bins=protocol.n_bins,
            guarantee=guarantee,
            honest_share=protocol.honest_share,
            method="paper",
        )
    except InvalidParameter:
        return f"{ours:.4g} noise bits of a bin {words}; the paper's calibration has no answer"
    theirs = float(n * paper.omission_probability)
    return f"{ours:.4g} noise bits of a bin {words}; the paper's calibration has {theirs:.4g}"
