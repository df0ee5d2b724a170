"""A statistic collected through a shuffler, ready to be shown: estimate, error, privacy."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from smoothdp.claims.terms import EpsilonTerms
from smoothdp.errors import InvalidParameter
from smoothdp.exact.logspace.bounds import exp_upper
from smoothdp.plots.canvas import save
from smoothdp.plots.profile import plot_profile
from smoothdp.report.collecting.common import command_words
from smoothdp.text import estimate_text, number_up, percent_text, table, upper_text

if TYPE_CHECKING:
    from smoothdp.claims.curves.profile import PrivacyProfile
    from smoothdp.claims.release import Release

_SHOWN = 10


@dataclass(frozen=True)
class Collection:
    """What one run of a protocol on real users published.

    Attributes:
        title: what was asked.
        estimates: the published figures by label.
        error: half-width that each estimate keeps with the stated confidence.
        confidence: of that error, for all estimates together.
        messages_per_user: on average, dummies left out.
        slots_per_user, bytes_per_user: of every envelope, padded.
        release: the value with its guarantee and its condition.
        n_users: who took part. n_honest: how many of them the guarantee counts on.
        profile: the exact privacy profile, which keeps the guarantee.
        epsilon: as asked for; log_delta: ln of the exact delta there, rounded up.
        bounds: what the papers' bounds would have asked for, in words, by name.
        spare: how far an estimate other than 0 may be rounded and still keep the error.
        fewer: ln of delta at epsilon, rounded up, if only a share of the n_honest are honest.
        ranges: where the true figures lie, by label, of those that are listed; all at once.
        bars: the same in words.
        is_exact: whether the profile is exact; else an upper bound, for noise that is drawn again.
        named: the arguments that name the protocol, to repeat the collection with it.

    Raises:
        InvalidParameter: a release whose guarantee the profile does not keep.

    >>> import smoothdp as sd
    >>> promise = sd.ApproxDP(2, delta="1e-3")
    >>> collection = sd.report.collect_share(
    ...     [0, 1, 1, 1] * 50, guarantee=promise, protocol="boolean-sum"
    ... )
    >>> collection.messages_per_user, collection.release.guarantee == promise
    (1.0, True)
    >>> print(collection.text().splitlines()[0])
    Share of 200 users with a 1
    """

    title: str
    estimates: dict[str, float]
    error: float
    confidence: float
    messages_per_user: float
    slots_per_user: int
    bytes_per_user: int
    release: Release[Any]
    n_users: int
    n_honest: int
    profile: PrivacyProfile
    epsilon: float
    log_delta: float
    bounds: dict[str, str]
    spare: float = 0.0
    fewer: Mapping[str, float] = field(default_factory=dict)
    ranges: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    bars: str = ""
    is_exact: bool = True
    named: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        stated = self.release.guarantee
        terms = stated.terms()
        if not isinstance(terms, EpsilonTerms) or not self.profile.keeps(
            terms.epsilon, terms.delta
        ):
            raise InvalidParameter(
                expected="a release whose guarantee the profile keeps",
                got=f"{stated!r}",
                remedy="Collect with collect_share, collect_mean or collect_histogram",
            )

    def sentence(self) -> str:
        """Return the guarantee, and the conditions of the guarantee."""
        return f"{self._promise()} It holds {self.release.condition}."

    def text(self) -> str:
        """Return the table and the sentences."""
        error = self.printed_error()
        rows = [
            (
                label,
                estimate_text(value, self.error)[0],
                "{} to {}".format(*self.ranges[label]) if label in self.ranges else f"+- {error}",
            )
            for label, value in self._shown()
        ]
        slots = "1 slot" if self.slots_per_user == 1 else f"{self.slots_per_user} slots"
        about = [
            ("protocol", self.release.mechanism),
            (
                "messages",
                f"{self.messages_per_user:.6g} per user, padded to {slots} of "
                f"{self.bytes_per_user} bytes in all",
            ),
            (
                "privacy",
                f"delta({number_up(self.epsilon)}) = {upper_text(self.log_delta)}, "
                + ("exact and rounded up" if self.is_exact else "rounded up"),
            ),
            *self._about_fewer(),
            *([("bars", self.bars)] if self.bars else []),
            *self.bounds.items(),
            *([("to repeat", command_words(self.named))] if self.named else []),
        ]
        more = len(self.estimates) - len(rows)
        omitted = f"\n... and {more} more" if more > 0 else ""
        label = self.release.label
        named = "" if label is None else f"{label.words()}\n"
        private = "" if self.release.is_private else "NOT PRIVATE: a seeded generator was used.\n"
        header = ("", "estimate", f"{percent_text(self.confidence)} error")
        return (
            f"{named}{self.title}\n\n"
            f"{table(rows, header=header)}{omitted}\n\n"
            f"{table(about)}\n\n{private}{self.sentence()}"
        )

    def _about_fewer(self) -> list[tuple[str, str]]:
        if not self.fewer:
            return []
        deltas = [f"{upper_text(delta)} with {share}" for share, delta in self.fewer.items()]
        return [("", f"{' and '.join(deltas)} of the {self.n_honest} honest users")]

    def printed_error(self) -> str:
        """Return the error rounded up, of the estimates as `text` rounds them."""
        off = max(estimate_text(value, self.error)[1] for _, value in self._shown())
        if not math.isfinite(self.error):
            return number_up(self.error)
        return number_up(Fraction(self.error) + max(Fraction(0), off - Fraction(self.spare)))

    def _promise(self) -> str:
        # How often a guess is right, by the protocol's own curve.
        return self.release.guarantee.sentence(delta_at_zero=self.profile.advantage_bound())

    def _shown(self) -> list[tuple[str, float]]:
        return sorted(self.estimates.items(), key=lambda item: -item[1])[:_SHOWN]

    def to_dict(self) -> dict[str, object]:
        """Return everything for JSON."""
        return {
            "title": self.title,
            "label": None if self.release.label is None else self.release.label.to_dict(),
            "estimates": self.estimates,
            "error": self.error,
            "confidence": self.confidence,
            "messages_per_user": self.messages_per_user,
            "slots_per_user": self.slots_per_user,
            "bytes_per_user": self.bytes_per_user,
            "protocol": self.release.mechanism,
            "named": dict(self.named),
            "epsilon": self.epsilon,
            "delta": exp_upper(self.log_delta),
            "log_delta": self.log_delta if self.log_delta > -math.inf else None,
            "bounds": self.bounds,
            "is_private": self.release.is_private,
            "guarantee": self.sentence(),
            "users": self.n_users,
            "honest_users": self.n_honest,
            "delta_with_fewer_honest": {
                share: exp_upper(delta) for share, delta in self.fewer.items()
            },
            "ranges": {label: list(ends) for label, ends in self.ranges.items()},
            "bars": self.bars,
            "version": self.release.library_version,
        }

    def draw(self, path: str | Path) -> Path:
        """Write a picture of the privacy profile, and return its path."""
        axes = plot_profile(
            self.profile,
            largest_epsilon=max(1.0, 2 * self.epsilon),
            title=self.release.mechanism,
        )
        return save(axes, path)
