"""Collect a histogram from users, through a shuffler, in one call."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from functools import partial
from typing import Any

from smoothdp.claims.budget import Budget, check_budget
from smoothdp.claims.guarantees.standard import ApproxDP
from smoothdp.claims.label import Label, with_label
from smoothdp.errors import InvalidData, InvalidParameter
from smoothdp.exact.parameters.numbers import Parameter, float_bounds
from smoothdp.exact.random.entropy import Entropy
from smoothdp.report.collecting.answered import asked_words, who_answers
from smoothdp.report.collecting.chosen import chosen
from smoothdp.report.collecting.collection import Collection
from smoothdp.report.collecting.common import check_collected, failure_of, public_facts
from smoothdp.shuffle import Histogram, LowCommunicationHistogram, PairedHistogram
from smoothdp.shuffle.histogram.binned import BinnedProtocol
from smoothdp.shuffle.users.honest_share import DEFAULT_HONEST_SHARE
from smoothdp.text import number_up

OTHER = "other"
"""The bin of values that a domain does not list."""


def _calibrated(kind: Any, n_users: int, **asked: Any) -> Any:
    return kind.calibrate(n_users, **asked)


HISTOGRAMS: dict[str, Any] = {
    "low-communication-histogram": partial(_calibrated, LowCommunicationHistogram),
    "zero-preserving-histogram": partial(_calibrated, Histogram),
    "paired-histogram": partial(_calibrated, PairedHistogram),
}
"""How to make a protocol, by the names that commands use."""


def collect_histogram(
    values: Sequence[str],
    *,
    domain: Sequence[str],
    guarantee: ApproxDP,
    honest_share: Parameter = DEFAULT_HONEST_SHARE,
    protocol: str | None = None,
    liars: int | None = None,
    other: str | None = OTHER,
    most_messages: Parameter | None = None,
    most_slots: int | None = None,
    n_answered: int | None = None,
    tolerated: int = 0,
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
        protocol: "low-communication-histogram", with few messages a user; "paired-histogram",
            with half its error and many slots, and one liar moves it far; or
            "zero-preserving-histogram", where what nobody holds is 0 for certain, with about as
            many messages as the domain has values. None: `plan_collect` chooses, and the result
            says why, and by which name the choice is repeated.
        liars: how many users may send anything, by which it chooses; None counts one.
        other: the bin of all values that are not in the domain, added to it if it is not there, so
            that no user is refused for what they hold; None: such values are refused.
        most_messages, most_slots: what a user may send at most; None: anything by name, and 64
            slots without.
        n_answered: how many of the users answer, drawn at random; None: all.
        tolerated: how many of these may not follow the protocol: the promise must bear it, and
            counts that their missing noise lowers are shown as if it were there. With certain
            zeros a value that nobody holds may be shown then, with a probability that is printed.
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
    picked = chosen(
        "histogram",
        HISTOGRAMS,
        n,
        protocol=protocol,
        liars=liars,
        n_bins=len(domain),
        common={"guarantee": guarantee, "honest_share": honest_share},
        limits={"most_messages": most_messages, "most_slots": most_slots},
    )
    made = picked.protocol
    used, silent, who = who_answers(made, n, n_answered=n_answered, tolerated=tolerated, rng=rng)
    # All that could fail comes before the charge.
    facts, error = public_facts(made, guarantee), used.error(failure, simultaneous=True)
    notes = picked.notes | _noise(made, guarantee) | {"silence": used.silence_words(1)}
    if silent and isinstance(used, Histogram):
        false_bin = number_up(used.false_bin_probability(silent), 3)
        notes["tolerated"] = (
            f"{silent} who send nothing; a value that nobody holds is shown with a probability of "
            f"at most {false_bin}"
        )
    if ledger is not None:
        ledger.charge(with_label(made, named))
    data = [bins.get(values[user], len(domain) - 1) for user in who.tolist()]
    allowed = {"tolerated": silent} if silent and isinstance(used, BinnedProtocol) else {}
    release = used.release(data, label=named, rng=rng, **allowed)
    bars, spare = release.value.bars(1 - failure), 0.0
    if silent:
        # The bars count those who send nothing, and hold at once.
        error = max(error, bars.below, bars.above, float(bars.unlisted))
    if isinstance(used, BinnedProtocol):
        error, spare = used.printed_error(error, release.value)
    return Collection(
        title=f"Counts of {asked_words(n, used.n_users)} over {len(domain)} values",
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
        named=picked.named,
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


def _noise(protocol: Any, guarantee: ApproxDP) -> dict[str, str]:
    """Return n gamma with what the paper's calibration would have asked for; pairs have none."""
    if not isinstance(protocol, BinnedProtocol):
        return {}
    n, ours = protocol.n_users, float(protocol.n_users * protocol.noise_mass)
    words = "are omitted" if isinstance(protocol, Histogram) else "are sent"
    found = f"{ours:.4g} noise bits of a bin {words}; the paper's calibration has"
    try:
        paper = Histogram.calibrate(
            n,
            n_bins=protocol.n_bins,
            guarantee=guarantee,
            honest_share=protocol.honest_share,
            method="paper",
        )
    except InvalidParameter:
        return {"noise": f"{found} no answer"}
    return {"noise": f"{found} {float(n * paper.omission_probability):.4g}"}
