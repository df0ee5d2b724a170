"""What a count costs under each model of trust: root mean square errors, by their formulas.

`python -m benchmarks.collect_peers`; all at delta = 1e-6. The shuffled protocols are made for 9/10
of the users, rivals too: their noise is calibrated for those and paid by all.
"""

from __future__ import annotations

import math

from smoothdp.claims.guarantees.standard import ApproxDP
from smoothdp.paper_bounds import cheu_random_users, clones_random_users
from smoothdp.shuffle import BooleanSum, PairedCount, SplitSum

DELTA = "1e-6"
USERS = [10**power for power in range(3, 10)]
EPSILONS = ["0.5", "1"]


def laplace_rmse(epsilon: str) -> float:
    """Return the error of a trusted curator: one discrete Laplace number."""
    decay = math.exp(-float(epsilon))
    return math.sqrt(2 * decay) / (1 - decay)


def flipped_rmse(n_users: int, random_users: float) -> float:
    """Return the error of flipped bits if so many of the honest nine tenths answer at random."""
    flip = random_users / (2 * (n_users * 9 // 10))
    return math.sqrt(n_users * flip * (1 - flip)) / (1 - 2 * flip) if flip < 1 / 2 else math.inf


def published_messages(n_users: int, *, epsilon: str, modulus_bits: int) -> int:
    """Return the shares of split and mix by its published bound (Balle et al. 2020, Theorem 1).

    m = ceil(2 + (2 sigma + log2 q) / (log2 n - log2 e)) has sums within 2^-sigma of hiding all but
    the total; (1 + e^epsilon) 2^(-sigma - 1) of it is paid in delta.
    """
    honest = n_users * 9 // 10
    sigma = math.log2((1 + math.exp(float(epsilon))) / float(DELTA)) - 1
    spread = math.log2(honest) - math.log2(math.e)
    return math.ceil(2 + (2 * sigma + modulus_bits) / spread)


def our_rmse(n_users: int, *, epsilon: str) -> list[float]:
    """Return the errors of flipped bits, paired counts and split sums of bits."""
    goal = ApproxDP(epsilon, delta=DELTA)
    made: list[BooleanSum | PairedCount | SplitSum] = [
        BooleanSum.calibrate(n_users, guarantee=goal),
        PairedCount.calibrate(n_users, guarantee=goal, most_slots=1000, most_messages=6),
        SplitSum.calibrate(n_users, guarantee=goal, resolution=1),
    ]
    return [math.sqrt(protocol.mse()) for protocol in made]


def main() -> None:
    """Print errors of counts, then messages of split sums."""
    print("One bit a user: root mean square error, in users")
    print(
        f"{'eps':>4} {'n':>6} {'curator':>8} {'Prio3, 2 noisy':>14} {'Cheu 2019':>10} "
        f"{'clones 2023':>11} {'BooleanSum':>10} {'PairedCount':>11} {'SplitSum':>8}"
    )
    for epsilon in EPSILONS:
        for n in USERS:
            honest = n * 9 // 10
            cheu = cheu_random_users(n_users=honest, epsilon=epsilon, delta=DELTA)
            clones = clones_random_users(n_users=honest, epsilon=epsilon, delta=DELTA)
            flipped, paired, split = our_rmse(n, epsilon=epsilon)
            one = laplace_rmse(epsilon)
            print(
                f"{epsilon:>4} {n:6.0e} {one:8.2f} {one * math.sqrt(2):14.2f} "
                f"{flipped_rmse(n, float(cheu)):10.1f} {flipped_rmse(n, float(clones)):11.2f} "
                f"{flipped:10.2f} {paired:11.2f} {split:8.2f}"
            )
    print("\nSplit sums of bits at epsilon = 1: numbers that a user sends")
    print(f"{'n':>6} {'published bound':>15} {'ours':>5}")
    for n in USERS:
        made = SplitSum.calibrate(n, guarantee=ApproxDP(1, delta=DELTA), resolution=1)
        bound = published_messages(n, epsilon="1", modulus_bits=made.modulus_bits)
        print(f"{n:6.0e} {bound:15} {made.n_shares:5}")


if __name__ == "__main__":
    main()
