"""Random users that a Boolean sum needs: exactly, and by the bounds that paper 5 compares."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from smoothdp.claims.guarantees.standard import ApproxDP
from smoothdp.exact.parameters.numbers import Parameter
from smoothdp.paper_bounds.chen_long import chen_long_random_users
from smoothdp.paper_bounds.cheu import cheu_random_users
from smoothdp.paper_bounds.clones import clones_random_users
from smoothdp.shuffle.flipped.boolean_sum import BooleanSum
from smoothdp.text import table


@dataclass(frozen=True, slots=True)
class RandomUsers:
    """lambda of the Boolean sum for (epsilon, delta), exactly and by each bound.

    Attributes:
        n_users, epsilon, delta: the target.
        exact: `BooleanSum.calibrate`, certified for all data of the others.
        chen_long: by the claimed curve of Theorem 2, which is false in general.
        clones: amplification by clones 2023, equal to the privacy blanket.
        clones_2021: the same as of 2021.
        cheu: Cheu et al. 2019; inf where it does not apply.
    """

    n_users: int
    epsilon: str
    delta: str
    exact: float
    chen_long: float
    clones: float
    clones_2021: float
    cheu: float

    def mse(self, random_users: float) -> float:
        """Return (n / (n - lambda))^2 (lambda / 2) (1 - lambda / 2n), the error of the count."""
        n, users = self.n_users, random_users
        return (n / (n - users)) ** 2 * users / 2 * (1 - users / (2 * n))


def random_users(*, n_users: int, epsilon: Parameter, delta: Parameter) -> RandomUsers:
    """Return lambda by every method for one target (proofs/flipped-bits#6).

    >>> row = random_users(n_users=1000, epsilon=1, delta="1e-6")
    >>> row.exact < row.chen_long < row.clones < row.clones_2021 < row.cheu
    True
    """
    target = ApproxDP(epsilon, delta=delta)
    exact = BooleanSum.calibrate(n_users, guarantee=target, honest_share=1).expected_random_users
    return RandomUsers(
        n_users=n_users,
        epsilon=str(epsilon),
        delta=str(delta),
        exact=float(exact),
        chen_long=chen_long_random_users(n_users=n_users, epsilon=epsilon, delta=delta),
        clones=clones_random_users(n_users=n_users, epsilon=epsilon, delta=delta),
        clones_2021=clones_random_users(n_users=n_users, epsilon=epsilon, delta=delta, year=2021),
        cheu=cheu_random_users(n_users=n_users, epsilon=epsilon, delta=delta),
    )


def random_users_table(targets: Sequence[tuple[int, Parameter, Parameter]]) -> str:
    """Return the table of `random_users` for targets (n, epsilon, delta), as text."""
    rows = []
    for n, epsilon, delta in targets:
        row = random_users(n_users=n, epsilon=epsilon, delta=delta)
        users = (row.exact, row.chen_long, row.clones, row.clones_2021, row.cheu)
        errors = (row.mse(row.exact), row.mse(row.cheu))
        rows.append(
            [str(n), row.epsilon, row.delta, *(f"{value:.6g}" for value in (*users, *errors))]
        )
    header = (
        "n", "epsilon", "delta", "exact", "Chen-Long (claim, false)", "clones 2023 = blanket",
        "clones 2021", "Cheu 2019", "MSE exact", "MSE Cheu",
    )  # fmt: skip
    return table(rows, header=header)
