"""The settings of a training run, read: what every sampling needs, and what only some do."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, get_args

from smoothdp.claims.neighbours import Neighbours, read_neighbours
from smoothdp.errors import IncompatibleClaims, InvalidParameter
from smoothdp.exact.parameters.numbers import Parameter, exact_int, exact_positive

Sampling = Literal[
    "poisson",
    "truncated_poisson",
    "fixed",
    "fixed_with_replacement",
    "balls_in_bins",
    "shuffled",
    "banded",
    "ftrl",
]

SAMPLINGS: tuple[Sampling, ...] = get_args(Sampling)
_ADD, _ZERO, _REPLACE = Neighbours.ADD_REMOVE, Neighbours.ZERO_OUT, Neighbours.REPLACE_ONE
# The first one is meant where none is named.
RELATIONS: dict[Sampling, tuple[Neighbours, ...]] = {
    "poisson": (_ADD, _ZERO, _REPLACE),
    "truncated_poisson": (_ADD,),
    "fixed": (_REPLACE,),
    "fixed_with_replacement": (_REPLACE,),
    "balls_in_bins": (_ADD, _ZERO),
    "shuffled": (_ZERO, _REPLACE),
    "banded": (_ADD, _ZERO),
    "ftrl": (_ZERO, _REPLACE),
}
_WHY_NOT: dict[tuple[Sampling, Neighbours], str] = {
    ("fixed", _ADD): "With a fixed size the number of records is public: name replace_one",
    ("shuffled", _ADD): "A record more shifts all batches after it: name zero_out or replace_one",
    ("balls_in_bins", _REPLACE): (
        "Replacing is removing one and adding one: take the claim under add_remove and its "
        "as_replace_one()"
    ),
}
# Which sampling uses what beyond the settings of all.
_USED_BY: dict[str, tuple[Sampling, ...]] = {
    "max_batch": ("truncated_poisson",),
    "bands": ("banded", "ftrl"),
    "participations": ("ftrl",),
    "choices": ("balls_in_bins",),
    "column_norm": ("banded", "ftrl"),
}


@dataclass(frozen=True)
class Settings:
    """A training run as it is described, checked.

    Attributes:
        n_records, batch, steps, noise: as `training` takes them; noise over clipping norm.
        epochs: how many passes over the data are begun, if epochs were asked for.
        sampling, neighbours: of the run.
        max_batch, bands, participations, choices: None where the sampling has no use for them.
        column_norm: the largest norm of a column of a matrix mechanism; 1 elsewhere.
    """

    n_records: int
    batch: Fraction
    steps: int
    epochs: int | None
    noise: Fraction
    sampling: Sampling
    neighbours: Neighbours
    max_batch: int | None
    bands: int | None
    participations: int | None
    choices: int | None
    column_norm: Fraction

    @property
    def rate(self) -> Fraction:
        """The share of the records in a batch, on average."""
        return self.batch / self.n_records

    @property
    def passes(self) -> int:
        """How many passes over the data are begun, if loaders may drop a last, smaller batch."""
        if self.epochs is not None:
            return self.epochs
        return math.ceil(Fraction(self.steps, int(self.n_records / self.batch)))


def read_sampling(sampling: object) -> Sampling:
    """Return the sampling that a caller names, or raise InvalidParameter."""
    for known in SAMPLINGS:
        if isinstance(sampling, str) and sampling == known:
            return known
    raise InvalidParameter(
        expected=f"sampling, one of {', '.join(SAMPLINGS)}",
        got="none" if sampling is None else f"sampling={sampling!r}",
        remedy="Name how the trainer draws its batches: the figures differ by large factors",
    )


def read_settings(
    *,
    n_records: int,
    batch: Parameter,
    epochs: Parameter | None,
    steps: int | None,
    noise: Parameter,
    sampling: object,
    max_batch: int | None,
    bands: int | None,
    participations: int | None,
    choices: int | None,
    column_norm: Parameter,
    neighbours: Neighbours | str | None,
) -> Settings:
    """Return the settings, or raise InvalidParameter or IncompatibleClaims."""
    by = read_sampling(sampling)
    about = RELATIONS[by][0] if neighbours is None else read_neighbours(neighbours)
    if about not in RELATIONS[by]:
        allowed = " or ".join(f"{each.value!r}" for each in RELATIONS[by])
        raise IncompatibleClaims(
            expected=f"neighbours={allowed} for sampling={by!r}",
            got=f"neighbours={about.value!r}",
            remedy=_WHY_NOT.get((by, about), "Leave neighbours out"),
        )
    total = exact_int(n_records, name="n_records", minimum=1)
    size = exact_positive(batch, name="batch")
    if size > total:
        raise InvalidParameter(
            expected="a batch of at most n_records",
            got=f"batch={batch} of n_records={n_records}",
            remedy="Lower the batch",
        )
    if by not in ("poisson", "truncated_poisson", "banded") and size.denominator != 1:
        raise InvalidParameter(
            expected=f"a whole number of records in a batch for sampling={by!r}",
            got=f"batch={batch}",
            remedy="Give a whole number",
        )
    given: dict[str, object] = {
        "max_batch": max_batch,
        "bands": bands,
        "participations": participations,
        "choices": choices,
    }
    norm = exact_positive(column_norm, name="column_norm")
    if norm != 1:
        given["column_norm"] = column_norm
    for name, value in given.items():
        if value is not None and by not in _USED_BY[name]:
            raise InvalidParameter(
                expected=f"{name} for sampling={' or '.join(_USED_BY[name])} alone",
                got=f"{name}={value} with sampling={by!r}",
                remedy=f"Leave {name} out",
            )
    whole = {
        name: None if value is None else exact_int(value, name=name, minimum=1)
        for name, value in given.items()
        if name != "column_norm"
    }
    n_steps, passes = _read_steps(total, size, epochs, steps)
    return Settings(
        n_records=total,
        batch=size,
        steps=n_steps,
        epochs=passes,
        noise=exact_positive(noise, name="noise"),
        sampling=by,
        neighbours=about,
        max_batch=whole["max_batch"],
        bands=whole["bands"],
        participations=whole["participations"],
        choices=whole["choices"],
        column_norm=norm,
    )


def _read_steps(
    n_records: int, batch: Fraction, epochs: Parameter | None, steps: int | None
) -> tuple[int, int | None]:
    """Return the steps, and the passes over the data that were asked for."""
    if (epochs is None) == (steps is None):
        raise InvalidParameter(
            expected="epochs or steps, one of them",
            got="neither" if steps is None else f"epochs={epochs} and steps={steps}",
            remedy="Give epochs=15, or steps=3516",
        )
    if epochs is None:
        return exact_int(steps, name="steps", minimum=1), None
    asked = exact_positive(epochs, name="epochs")
    return math.ceil(asked * n_records / batch), math.ceil(asked)
