"""A training run as one item of the accountant."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import ClassVar

from smoothdp.claims.curves.profile import FunctionProfile, PrivacyProfile
from smoothdp.claims.neighbours import Neighbours
from smoothdp.composition.compose import compose
from smoothdp.composition.composed_profile import ComposedProfile
from smoothdp.exact.parameters.numbers import exact_text
from smoothdp.sources import Source
from smoothdp.text import html_card, upper_text, whole_text
from smoothdp.training_runs.directed import DirectedProfile, Way, read_way
from smoothdp.training_runs.schemes import Ends, Scheme, scheme_of
from smoothdp.training_runs.settings import Sampling, Settings


@dataclass(frozen=True)
class TrainingRun:
    """A training run: made by `smoothdp.training`, composed like any mechanism.

    Figures are those of its profile, as for every item: ``run.profile().epsilon(delta)``, never
    below the truth, or ``run.profile().epsilon_bounds(delta)`` for both ends.

    Attributes:
        settings: what was asked for.

    >>> import smoothdp as sd
    >>> run = sd.training(n_records=1000, batch=10, epochs=1, noise=2, sampling="shuffled")
    >>> run.steps, run.ends, run.neighbours.value
    (100, 'bound', 'zero_out')
    >>> round(run.profile().epsilon("1e-5"), 4)
    1.9931
    >>> sd.compose([run, sd.GaussianDP(1, neighbours="zero_out")]).route
    'closed form'
    """

    source: ClassVar[Source] = Source("own", "proofs/subsampled-steps")
    settings: Settings

    @cached_property
    def scheme(self) -> Scheme:
        """What is composed, how often, and under which conditions."""
        return scheme_of(self.settings)

    @property
    def steps(self) -> int:
        """The number of steps."""
        return self.settings.steps

    @property
    def sampling(self) -> Sampling:
        """How batches are drawn."""
        return self.settings.sampling

    @property
    def sampling_rate(self) -> Fraction:
        """The share of the records in a batch, on average: what Opacus calls sample_rate."""
        return self.settings.rate

    @property
    def neighbours(self) -> Neighbours:
        """The neighbour relation."""
        return self.settings.neighbours

    @property
    def ends(self) -> Ends:
        """ "two-sided" if some run attains the profile; "bound" if its lower ends speak only of
        the laws that the upper ends are computed from."""
        return self.scheme.ends

    @property
    def conditions(self) -> tuple[str, ...]:
        """What must hold of the trainer: else the figures are not about it."""
        return self.scheme.conditions

    @cached_property
    def composed(self) -> ComposedProfile:
        """All steps, as a composition."""
        return compose([(self.scheme.unit, self.scheme.count)])

    def profile(self) -> ComposedProfile:
        """Return the privacy profile of the whole run: the worse of both directions."""
        return self.composed

    def reached(self) -> PrivacyProfile | None:
        """Return a profile that some run attains; None where none is known.

        Where ``ends`` is "two-sided" it is `profile`. For batches of a fixed size it is that of all
        other records alike, and for truncated ones that of few other records.

        >>> import smoothdp as sd
        >>> run = sd.training(n_records=100, batch=5, steps=7, noise=1, sampling="fixed")
        >>> reached = run.reached()
        >>> reached is not None and reached.delta(1) < run.profile().delta(1)
        True
        """
        if self.ends == "two-sided":
            return self.composed
        if self.scheme.reached is None:
            return None
        some = compose([(self.scheme.reached, self.scheme.count)])
        return FunctionProfile(some.log_delta_bounds, self.neighbours)

    def directed(self, way: Way) -> PrivacyProfile:
        """Return the profile of one direction of the whole run.

        Args:
            way: "remove": the database with the record first; "add": the other one first.

        Raises:
            InvalidParameter: another way.
            IncompatibleClaims: replace_one neighbours, of which neither has a record more.
        """
        named = read_way(way, self.neighbours)
        unit = self.scheme.unit
        if self.scheme.count == 1 and hasattr(unit, "directed"):
            profile: PrivacyProfile = unit.directed(named)
            return profile
        return DirectedProfile(self.composed, named)

    def describe(self) -> str:
        """Return the run in a line."""
        settings = self.settings
        return (
            f"{settings.steps} steps, sampling {settings.sampling}, batch "
            f"{exact_text(settings.batch)} of {settings.n_records}, noise "
            f"{exact_text(settings.noise)}"
        )

    def sentence(self) -> str:
        """Return in plain words what runs, whom the figures protect, and what must hold.

        >>> import smoothdp as sd
        >>> run = sd.training(n_records=100, batch=5, steps=7, noise=1, sampling="fixed")
        >>> print(run.sentence().split(". ")[1][:54])
        The figures protect against replacing one record by an
        """
        settings = self.settings
        ends = (
            "Some run costs as much as the figures say"
            if self.ends == "two-sided"
            else "The figures are a bound: no run costs more; whether one costs as much is open, "
            "and the lower ends speak only of the laws that the bound is computed from"
        )
        return (
            f"{whole_text(settings.steps)} {'step' if settings.steps == 1 else 'steps'} of "
            f"training on {whole_text(settings.n_records)} records with {self.scheme.words}; "
            f"normal noise of {exact_text(settings.noise)} times the clipping norm in each "
            "coordinate of the sum. The figures protect against "
            f"{self.neighbours.sentence('one record')}. "
            f"{ends}. They hold if {'; '.join(self.conditions)}."
        )

    def _repr_html_(self) -> str:
        """Return the run for a notebook."""
        profile = self.profile()
        points = [
            (f"delta at epsilon {epsilon}", f"at most {upper_text(profile.log_delta(epsilon))}")
            for epsilon in ("0.5", "1", "2", "4", "8")
        ]
        return html_card(self.describe(), points, note=self.sentence())
