"""A plan: everything that a release fixes before it sees the data, and the error to expect."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from html import escape
from typing import ClassVar

from smoothdp.claims.budget import Budget, check_budget
from smoothdp.claims.label import Label, with_label
from smoothdp.claims.release import Release
from smoothdp.errors import InvalidData, InvalidParameter
from smoothdp.exact.parameters.numbers import Parameter
from smoothdp.exact.random.entropy import Entropy, read_rng
from smoothdp.mechanisms.release.bars.coverage import read_coverage
from smoothdp.mechanisms.release.bars.pair_noise import PairNoise
from smoothdp.mechanisms.release.smooth_noise import SmoothNoise
from smoothdp.mechanisms.release.usefulness import warn_if_useless, warn_if_wide
from smoothdp.planning.alternatives import MIDPOINT, Alternative, as_alternative
from smoothdp.planning.mechanisms import PlannedMechanism, planned_mechanism
from smoothdp.planning.views.figures import PlanFigures
from smoothdp.planning.views.plan_words import plan_text, replaced_words
from smoothdp.queries.read_arguments import read_values
from smoothdp.sources import Source


@dataclass(frozen=True, slots=True)
class Plan(PlanFigures):
    """How to release a statistic, chosen without the private data.

    The errors are expectations under the assumption, from fixed simulated samples (a few per
    cent), and are no promise about the data; the guarantee is, and it does not depend on them.
    They are those of the value clamped to the bounds, as the command releases it, so that none is
    larger than the bounds allow. **Where nothing was assumed they are None**: the width of the
    bounds alone says nothing about the data. `noise_deviation` is known all the same.

    Source: paper 2, section 1.1; proofs/release-rules#1, #3.

    Attributes:
        query: the statistic with window or trimming resolved.
        guarantee: what the release will promise. n_records: n, public.
        noise: the law of the noise, where the plan chose it. smoothing: t, 0 where nothing is left
            out.
        rmse: root of the expected squared error of the release, for the population's quantile
            or mean (of values clamped to the bounds); None without an assumption, like the next.
        privacy_rmse: the same against the statistic of the records without noise: for a
            quantile the plain sample quantile, for a mean the (resolved) statistic itself.
        rmse_without_noise: that of the same statistic without noise, against the same.
        rmse_without_privacy: that of the plain sample quantile, or sample mean, against the same.
        rmse_lower_bound: what no noise could beat with this statistic and smoothing, against the
            same, before clamping; where no such bound is known (approximate DP, or noise that
            clamping cuts) it is the error without noise, or a smaller `rmse`. Other statistics
            have their own: each of the runners-up carries it.
        assumption: what was assumed, in words.
        runners_up: the best of the other choices, best first.
        confidence: of the error bars that the choice was made for; None: for the value alone.
        covers: what these bars cover: "quantile", "population", "window" or "mean"; else None.
        half_width: the mean half-width of those bars to expect, at most half of the bounds; None
            without them, or without an assumption.
        replaced: the trimmed mean that was asked for, if this one trims otherwise; else None.
        noise_deviation: the standard deviation of the noise in units of the smooth sensitivity of
            the data, which is private; None in files of older versions.
        method: how it is released: "window", "window, max law", "exponential mechanism",
            "half shift", "global sensitivity", "clipped mean" or "midpoint". `release` runs it.
            Without noise, and where the method has its own law, `noise` is None; so is
            `smoothing`, but for the max law.
        gaps: `privacy_rmse` in mean distances of neighbouring values near the quantile: the error
            in ranks. It has no unit, and is told where nothing was assumed too, for the stand-in.
        asked: the statistic as it was asked for. may_change_trim: whether another trimming was
            allowed.
        rivals: the best of each other method, by the error that the choice was judged by.
        midpoint_ratio: that error over the one of the middle of the bounds, which reads no data.

    Raises:
        InvalidParameter: a guarantee that is none.

    >>> from smoothdp.planning.search import plan
    >>> from smoothdp.claims import PureDP
    >>> from smoothdp.queries import Median
    >>> made = plan(Median((0, 100)), guarantee=PureDP(1), n_records=100)
    >>> made.rmse is None, 1 < made.noise_deviation < 4         # nothing was assumed
    (True, True)
    >>> 40 < made.release([45.0, 55.0] * 50, clamp=True).value < 60
    True
    """

    source: ClassVar[Source] = Source("bun-steinke-averages", "section 1.1")

    def mechanism(
        self,
        *,
        round_to: Parameter | None = None,
        clamp: bool = False,
        confidence: Parameter | None = None,
        covers: str | None = None,
        sd_bound: Parameter | None = None,
    ) -> PlannedMechanism:
        """Return the mechanism of the plan; its noise is calibrated anew.

        A `SmoothNoise`, a `PairNoise`, an `ExponentialQuantile`, a `HalfShift`, or a `Midpoint`.
        With a confidence, a share of the guarantee goes to error bars, and the noise is of the same
        family with a shape for the rest. A plan that was made without it is then exceeded in its
        errors, and may lead to bars that are longer than need be.

        Args:
            confidence: None: that of the plan, if it has one.
            round_to, clamp, covers, sd_bound: as `release` takes them; values without noise, and
                those drawn by ranks, are within the bounds anyway.

        Raises:
            InvalidParameter: a noise that cannot keep the guarantee at this smoothing, or error
                bars that are refused.
        """
        wanted = self.confidence if confidence is None else confidence
        covers = self.covers if covers is None else covers
        coverage = read_coverage(self.query, wanted, covers=covers, sd_bound=sd_bound)
        return planned_mechanism(self, round_to=round_to, clamp=clamp, coverage=coverage)

    def instead(self, other: Alternative) -> Plan:
        """Return the plan that takes one of the runners-up, its own choice among them instead.

        Args:
            other: of `runners_up`.

        Raises:
            InvalidParameter: another choice.

        >>> from smoothdp.planning.search import plan
        >>> from smoothdp.claims import PureDP
        >>> from smoothdp.queries import Median
        >>> made = plan(Median((0, 100)), guarantee=PureDP(1), n_records=1000)
        >>> drawn = [way for way in made.runners_up if way.method == "exponential mechanism"]
        >>> made.instead(drawn[0]).method
        'exponential mechanism'
        """
        if other not in self.runners_up:
            raise InvalidParameter(
                expected="one of plan.runners_up", got=repr(other), remedy="Choose one of them"
            )
        at = self.runners_up.index(other)
        runners = (as_alternative(self), *self.runners_up[:at], *self.runners_up[at + 1 :])
        chosen = {field.name: getattr(other, field.name) for field in fields(other)}
        return replace(self, **chosen, noise_deviation=None, replaced=None, runners_up=runners)

    def release(
        self,
        data: object,
        *,
        round_to: Parameter | None = None,
        clamp: bool = False,
        confidence: Parameter | None = None,
        covers: str | None = None,
        sd_bound: Parameter | None = None,
        label: object = None,
        ledger: Budget | None = None,
        rng: Entropy | None = None,
    ) -> Release[float | int]:
        """Return the planned release of a column of n_records numbers; see `mechanism`.

        Args:
            label, ledger, rng: as of `sd.release`.

        Warns:
            PrivacyWarning: as `sd.release`, where the noise may be of the order of the bounds, or
                an interval for the population far longer than one without privacy.

        Raises:
            InvalidData: no column of n_records finite numbers.
            BudgetExceeded, IncompatibleClaims, LedgerError: the ledger refuses.
            In all these cases nothing is released.
        """
        named = Label.read(label)
        check_budget(ledger, self.guarantee)
        mechanism = self.mechanism(
            round_to=round_to,
            clamp=clamp,
            confidence=confidence,
            covers=covers,
            sd_bound=sd_bound,
        )
        values = read_values(data)
        self.check_size(len(values))
        warn_if_useless(self.query, self.guarantee, self.n_records)
        if isinstance(mechanism, PairNoise):
            warn_if_wide(mechanism.coverage, self.guarantee, mechanism.smoothing)
        elif isinstance(mechanism, SmoothNoise) and mechanism.bars is not None:
            warn_if_wide(mechanism.bars.coverage, self.guarantee, mechanism.smoothing)
        read_rng(rng)
        # What reads no data costs nothing.
        if ledger is not None and self.method != MIDPOINT:
            ledger.charge(with_label(mechanism, named))
        released = mechanism.release(values, rng=rng)
        return released if named is None else replace(released, label=named)

    def check_size(self, n_records: int) -> None:
        """Raise InvalidData unless data of this size can be released by the plan."""
        if n_records != self.n_records:
            raise InvalidData(
                expected=f"{self.n_records} records, as the plan was made for",
                got=f"{n_records}",
                remedy=(
                    "The number is public: make a plan for it with "
                    f"smoothdp.plan(..., n_records={n_records})"
                ),
            )

    def note(self) -> str:
        """Return what the plan changed of what was asked for, and how to keep it; "" if nothing."""
        return replaced_words(self)

    def _repr_html_(self) -> str:
        """Return the plan for a notebook."""
        return f"<pre>{escape(self.text())}</pre>"

    def text(self) -> str:
        """Return the plan as a few lines for a reader; each error names its target."""
        return plan_text(self)
