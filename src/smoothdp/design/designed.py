"""The result of a design: numbers, words, JSON, a page and a picture."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, fields
from pathlib import Path
from types import MappingProxyType
from typing import Any

from smoothdp.design.cells import Cell
from smoothdp.design.design_views import design_page, draw_design
from smoothdp.design.design_words import design_dict, design_text, sentence
from smoothdp.design.facts import DesignFacts, Merge, differing
from smoothdp.design.find_design import find_again
from smoothdp.errors import InvalidParameter
from smoothdp.exact.logspace.bounds import LogBounds


@dataclass(frozen=True)
class RateDesign(DesignFacts):
    """The largest sampling rate for a target, and what stands in the way of a larger one.

    Attributes:
        epsilon, target: what was asked for, exact.
        n_records, n_draws: n and the largest T; with strata their sums; 0: not one record.
        rate: exact; T = ceil(rate n), in every stratum.
        log_delta: around ln delta(x) at that rate; over a model around that of smoothed delta.
        is_largest: whether one more record is proved to miss the target; else ``undecided`` has
            the numbers of draws beyond of which it is not known.
        binding: the cells that decide: all of 0 or 1 record, which pin delta(x) to T/n, or the
            two smallest; over a model those of which the fewest records are expected.
        merges: what merging the k smallest cells buys, the largest gain first.
        noise: what the noise of Algorithm 4 buys: epsilon becomes pure, at every database.
        sampling_errors: the standard deviation of every published cell scaled by n/T, by name;
            over a model of any mixture the largest.
        cells: all of them. strata: what each stratum could lend. model, method: of the bound.

    Raises:
        InvalidParameter: fields that do not follow from the cells, or the model, and the target.

    >>> from smoothdp.design.rate_design import rate_design
    >>> design = rate_design([900, 80, 20], epsilon=1, delta="1e-3", merge=[])
    >>> design.n_draws, round(design.sampling_errors["cell 3"], 2)
    (559, 3.93)
    """

    _found: DesignFacts | None = field(default=None, repr=False, compare=False)

    def __post_init__(self) -> None:
        found = self._found
        if found is None or differing(self, found) is not None:
            _refuse_other_things(self)
            found = find_again(self)
            wrong = differing(self, found)
            if wrong is not None:
                raise InvalidParameter(
                    expected=f"{wrong}={getattr(found, wrong)!r:.200}, which follows from the "
                    "cells, or the model, and the target",
                    got=f"{getattr(self, wrong)!r:.200}",
                    remedy="Take what rate_design() returns, and call it again for other arguments",
                )
        # What is printed was computed here, to the last digit, and cannot be edited in place.
        for name in (one.name for one in fields(DesignFacts)):
            object.__setattr__(self, name, getattr(found, name))
        object.__setattr__(self, "sampling_errors", MappingProxyType(dict(found.sampling_errors)))
        object.__setattr__(self, "_found", found)

    @classmethod
    def of(cls, found: DesignFacts) -> RateDesign:
        """Return the result with these fields, which `find_design` has just computed."""
        named = {one.name: getattr(found, one.name) for one in fields(DesignFacts)}
        return cls(**named, _found=found)

    def __reduce__(self) -> tuple[type[RateDesign], tuple[object, ...]]:
        # A pickle is read by the constructor, which compares what it says.
        named = {one.name: getattr(self, one.name) for one in fields(DesignFacts)}
        return type(self), tuple((named | {"sampling_errors": dict(self.sampling_errors)}).values())

    def __copy__(self) -> RateDesign:
        return self

    def __deepcopy__(self, memo: object) -> RateDesign:
        # Nothing in it can be changed.
        return self

    @property
    def delta(self) -> float:
        """A float not below delta(x), or smoothed delta, at the rate."""
        return self.log_delta.linear()[1]

    @property
    def lower(self) -> float:
        """A float not above it."""
        return LogBounds(self.log_delta.lower, self.log_delta.lower).linear()[0]

    def sentence(self) -> str:
        """Return the result in plain English, with what must hold for it."""
        return sentence(self)

    def text(self) -> str:
        """Return tables and the sentence."""
        return design_text(self)

    def to_dict(self) -> dict[str, object]:
        """Return everything for JSON; logarithms are natural."""
        return design_dict(self)

    def to_json(self) -> str:
        """Return everything as JSON."""
        return json.dumps(self.to_dict(), indent=2)

    def to_html(self, *, command: str = "") -> str:
        """Return one page of HTML that loads nothing, with the picture.

        Args:
            command: what the reader types to get the same page.

        Raises:
            MissingExtra: matplotlib is not installed.
        """
        return design_page(self, command=command).html()

    def write_html(self, path: str | Path, *, command: str = "") -> Path:
        """Write the page, whole or not at all, and return its path."""
        return design_page(self, command=command).write(path)

    def plot(self) -> Any:
        """Return a picture of delta against the rate, as matplotlib axes.

        Raises:
            MissingExtra: matplotlib is not installed.
        """
        return draw_design(self)


def _refuse_other_things(stated: DesignFacts) -> None:
    """Raise InvalidParameter where cells, merges or model are something else."""
    kinds = {"cells": Cell, "merges": Merge}
    for name, kind in kinds.items():
        value = getattr(stated, name)
        if not isinstance(value, tuple) or not all(isinstance(one, kind) for one in value):
            raise InvalidParameter(
                expected=f"{name} as a tuple of {kind.__name__}",
                got=f"{value!r:.200}",
                remedy="Take what rate_design() returns",
            )
