"""Smoothed differential privacy: DP on average over a model of the data."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from smoothdp.claims.domains import read_delta, read_epsilon
from smoothdp.claims.guarantees.guarantee import Guarantee, factor_text
from smoothdp.claims.guarantees.standard import EpsilonDelta
from smoothdp.claims.model.model import DataModel
from smoothdp.claims.neighbours import Neighbours, read_neighbours
from smoothdp.claims.terms import AverageTerms
from smoothdp.errors import InvalidParameter
from smoothdp.exact.parameters.numbers import Parameter
from smoothdp.sources import Source
from smoothdp.text import ratio_up


@dataclass(frozen=True, init=False, repr=False)
class SmoothedDP(EpsilonDelta):
    """(epsilon, delta, Pi)-smoothed DP: the expectation of delta_epsilon(x) is <= delta.

    The expectation is over databases whose records are independent, each from any
    distribution of the model Pi. Since delta_e(x) below e0 is at most
    d + (1 - d) (e^e0 - e^e) / (1 + e^e0) with d = delta_e0(x), linear in d, the profile of
    approximate DP passes through the expectation (proofs/optimal-composition#1,
    proofs/composition-at-a-database#5).

    Source: Liu, Wang, Xia, Definition 3.

    Args:
        epsilon: e0 >= 0; delta: in [0, 1]; model: the set Pi, fixed without the data.
        neighbours: "replace_one" (default); smoothed DP is not defined for add_remove.

    Raises:
        InvalidParameter: a parameter outside these domains.

    >>> import smoothdp as sd
    >>> model = sd.DataModel([("0.3", "0.7"), ("0.6", "0.4")])
    >>> claim = sd.SmoothedDP(1, delta="1e-3", model=model)
    >>> round(claim.profile().delta("0.5"), 6)
    0.288361
    >>> claim.implies(sd.SmoothedDP(2, delta="1e-2", model=model))
    True
    """

    source: ClassVar[Source] = Source("liu-wang-xia", "Definition 3")
    is_average: ClassVar[bool] = True
    no_group: ClassVar[str] = (
        "Smoothed DP is about databases that the model makes likely, and their neighbours need "
        "not be: make the claim about whole persons from the start"
    )
    model: DataModel

    def __init__(
        self,
        epsilon: Parameter,
        *,
        delta: Parameter,
        model: DataModel,
        neighbours: Neighbours | str = Neighbours.REPLACE_ONE,
    ) -> None:
        if not isinstance(model, DataModel):
            raise InvalidParameter(
                expected="model as a DataModel",
                got=f"{model!r}",
                remedy="Build one with DataModel(vertices)",
            )
        relation = read_neighbours(neighbours)
        if relation is not Neighbours.REPLACE_ONE:
            raise InvalidParameter(
                expected='neighbours "replace_one" (paper 1 defines smoothed DP for it)',
                got=f"neighbours={relation.value!r}",
                remedy="Leave neighbours out",
            )
        object.__setattr__(self, "exact_epsilon", read_epsilon(epsilon))
        object.__setattr__(self, "exact_delta", read_delta(delta))
        object.__setattr__(self, "model", model)
        object.__setattr__(self, "neighbours", relation)

    def terms(self) -> AverageTerms:
        return AverageTerms(self.exact_epsilon, self.exact_delta, self.model)

    def follows_from(self, other: Guarantee) -> bool:
        """Ordinary DP holds at every database, so on average over every model."""
        if self.exact_delta == 1:
            return True
        if isinstance(other, SmoothedDP) and not other.model.same_hull(self.model):
            return False
        return other.delta_at_most(self.exact_epsilon, self.exact_delta)

    def arguments(self) -> dict[str, Any]:
        return {**super().arguments(), "model": self.model}

    def json_fields(self) -> dict[str, Any]:
        fields = super().json_fields()
        about = fields.pop("neighbours")
        return {**fields, "model": json.loads(self.model.to_json()), "neighbours": about}

    @classmethod
    def json_names(cls) -> tuple[str, ...]:
        return (*cls.parameter_names, "model", "neighbours")

    @classmethod
    def from_json_fields(cls, fields: dict[str, Any]) -> Self:
        return super().from_json_fields({**fields, "model": DataModel(fields["model"])})

    def words(self) -> str:
        return (
            "changes the probability of any set of outputs by at most a factor "
            f"{factor_text(self.exact_epsilon)} plus a share that is {ratio_up(self.exact_delta)} "
            "on average, if the rows are independent draws from distributions of the model "
            f"({self.model.n_vertices} distributions over {self.model.n_atoms} values). It "
            "promises nothing for data that the model does not describe."
        )
