"""A training run in figures: epsilon at both ends, what an attacker reaches, other samplings."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

from smoothdp.claims.domains import read_delta
from smoothdp.claims.neighbours import Neighbours
from smoothdp.composition.attacks import advantage, bayes_success, best_attack
from smoothdp.errors import OutOfReach
from smoothdp.exact.parameters.numbers import Parameter, exact_text
from smoothdp.plots.canvas import save
from smoothdp.plots.profile import plot_profiles
from smoothdp.sources import Source
from smoothdp.text import number_down, number_up, share_text, table
from smoothdp.training_runs.schemes import Ends
from smoothdp.training_runs.settings import RELATIONS, Sampling
from smoothdp.training_runs.training_run import TrainingRun

_DIGITS = 9
_RATES = (Fraction(1, 1000), Fraction(1, 100), Fraction(1, 10))
# Of the same noise, batch and steps, and no other setting.
_OTHERS: tuple[Sampling, ...] = ("poisson", "balls_in_bins", "fixed", "shuffled")


class Other(NamedTuple):
    """The same noise, batch and steps with another sampling."""

    sampling: Sampling
    neighbours: str
    epsilon: float
    ends: Ends


@dataclass(frozen=True)
class TrainingCost:
    """What a training run costs at a delta.

    Attributes:
        run: the run.
        delta: as it was asked for.
        epsilon: (lower, upper) ends.
        reached: an epsilon below which the epsilon of some run does not lie; None if none is known.
        attacks: the largest true-positive rate of an attacker by false-positive rate.
        advantage: the largest difference of both rates.
        guess: how often a guess is right at most, both databases being equally likely.
        others: what other samplings would cost.

    >>> import smoothdp as sd
    >>> run = sd.training(n_records=1000, batch=50, steps=40, noise=2, sampling="poisson")
    >>> cost = sd.report.TrainingCost.of(run, delta="1e-5")
    >>> round(cost.epsilon[1], 4), [other.sampling for other in cost.others]
    (0.7041, ['balls_in_bins', 'fixed', 'shuffled'])
    """

    source: ClassVar[Source] = Source("own", "proofs/subsampled-steps")
    run: TrainingRun
    delta: Parameter
    epsilon: tuple[float, float]
    reached: float | None
    attacks: tuple[tuple[Fraction, float], ...]
    advantage: float
    guess: float
    others: tuple[Other, ...]

    @classmethod
    def of(cls, run: TrainingRun, *, delta: Parameter) -> TrainingCost:
        """Compute the figures of a run.

        Raises:
            InvalidParameter: a delta outside [0, 1].
        """
        read_delta(delta)
        profile, reached = run.profile(), run.reached()
        others = []
        for sampling in _OTHERS:
            if sampling == run.sampling or run.settings.batch.denominator != 1:
                continue
            other = _instead(run, sampling)
            try:
                epsilon = other.profile().epsilon(delta)
            except OutOfReach:
                # Noise that random allocation is not computed for, next to none.
                continue
            others.append(Other(sampling, other.neighbours.value, epsilon, other.ends))
        return cls(
            run,
            delta,
            profile.epsilon_bounds(delta),
            None if reached is None else reached.epsilon_bounds(delta)[0],
            tuple((rate, best_attack(profile, false_positive_rate=rate)) for rate in _RATES),
            advantage(profile),
            bayes_success(profile),
            tuple(others),
        )

    def text(self) -> str:
        """Return the figures as tables and sentences."""
        rows = [
            (f"{float(rate):g}", f"at most {share_text(Fraction(power))}")
            for rate, power in self.attacks
        ]
        others = [
            (each.sampling, each.neighbours, number_up(each.epsilon), each.ends)
            for each in self.others
        ]
        tested = "whether one record was there"
        if self.run.neighbours is Neighbours.REPLACE_ONE:
            tested += " or another one in its place"
        blocks = [
            self._headline(),
            f"Somebody knows all the rest, sees every step, and tests {tested}. "
            "They are right in the cases where it was:\n"
            + table(rows, header=("false alarms", "found")),
            f"Found less false alarms: at most {number_up(self.advantage)}. A guess between two "
            f"possibilities that are equally likely is right at most "
            f"{share_text(Fraction(self.guess))} of the time.",
        ]
        if others:
            blocks.append(
                f"The same noise, batch and steps, sampled otherwise (epsilon at delta "
                f"{self.delta}):\n"
                + table(others, header=("sampling", "neighbours", "epsilon, at most", "ends"))
                + "\nEpsilons about different neighbours are not to be compared."
            )
        blocks.append(self.run.sentence())
        return "\n\n".join(blocks)

    def _headline(self) -> str:
        """Return epsilon with what is known of runs that cost as much.

        The lower end of a bound is that of a law, of no run: it would be read as one.
        """
        lower, upper = self.epsilon
        where = f"Epsilon at delta {self.delta}"
        if math.isinf(upper):
            return f"{where}: no finite one is proved. Ask at a larger delta, such as 1e-5."
        most = f"{where}: at most {number_up(upper, _DIGITS)}"
        if self.run.ends == "two-sided":
            return f"{most} and at least {number_down(lower, _DIGITS)} (some run costs as much)."
        if self.reached is None:
            return f"{most} (a bound: no run costs more; how much less is open)."
        least = number_down(self.reached, _DIGITS)
        return f"{most} (a bound: no run costs more; some run costs at least {least})."

    def to_dict(self) -> dict[str, Any]:
        """Return everything for JSON, which has no infinite numbers: these are None."""
        run = self.run
        return {
            "run": {
                "n_records": run.settings.n_records,
                "batch": exact_text(run.settings.batch),
                "steps": run.steps,
                "noise": exact_text(run.settings.noise),
                "sampling": run.sampling,
                "sampling_rate": exact_text(run.sampling_rate),
                "neighbours": run.neighbours.value,
            },
            "delta": str(self.delta),
            "epsilon": {
                "lower": _finite(self.epsilon[0]),
                "upper": _finite(self.epsilon[1]),
                "ends": run.ends,
                "reached": _finite(self.reached),
            },
            "attacks": [
                {"false_positive_rate": exact_text(rate), "true_positive_rate": power}
                for rate, power in self.attacks
            ],
            "advantage": self.advantage,
            "guess": self.guess,
            "other_samplings": [
                {
                    "sampling": each.sampling,
                    "neighbours": each.neighbours,
                    "epsilon": _finite(each.epsilon),
                    "ends": each.ends,
                }
                for each in self.others
            ],
            "conditions": list(run.conditions),
            "sentence": run.sentence(),
        }

    def to_json(self) -> str:
        """Return `to_dict` as text."""
        return json.dumps(self.to_dict(), indent=2)

    def draw(self, path: str | Path) -> Path:
        """Write a picture of delta against epsilon, of this run and of other samplings.

        Raises:
            InvalidParameter: a path without the ending of a picture, such as .png.
            MissingExtra: matplotlib is not installed.
        """
        runs = [self.run, *(_instead(self.run, other.sampling) for other in self.others)]
        items = {f"{each.sampling}, {each.neighbours.value}": each.profile() for each in runs}
        axes = plot_profiles(
            items,
            largest_epsilon=max(1.0, min(2 * self.epsilon[1], 1e6)),
            title=f"{self.run.steps} steps of training",
            least_log10=-20.0,
            n_points=41,
        )
        return save(axes, path)


def _instead(run: TrainingRun, sampling: Sampling) -> TrainingRun:
    return TrainingRun(
        replace(
            run.settings,
            sampling=sampling,
            neighbours=RELATIONS[sampling][0],
            column_norm=Fraction(1),
            max_batch=None,
            bands=None,
            participations=None,
            choices=None,
        )
    )


def _finite(number: float | None) -> float | None:
    return None if number is None or math.isinf(number) else number
