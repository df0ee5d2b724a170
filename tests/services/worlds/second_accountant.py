"""The numbers of an analyser that was written from the page alone: promise, false users, estimate.

The exact accountant is the library's public one; the rest is sections 3.2 and 7 of the page.
"""

from __future__ import annotations

import math
import warnings
from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from smoothdp import shuffle
from smoothdp.errors import PrivacyWarning
from tests.services.worlds.signs_of_the_page import honest_by_signs, noise_of_a_user

NOTHING, DUMMY = -1, 0xFFFFFFFF
FAILS = "0.05"


class SecondAccountant:
    def __init__(self, task: dict[str, Any]) -> None:
        self.task, self.name = task, str(task["protocol"])
        self.m, self.size = int(task["slots"]), int(task["size"])
        self.epsilon, self.delta = Fraction(task["epsilon"]), Fraction(task["delta"])
        self.noise = Fraction(task["noise"])
        self.parameters = [Fraction(one) for one in task["parameters"]]
        self.gamma = 1 - Fraction(task["honest_share"])
        self.kept: dict[int, bool] = {}
        quotients = (Fraction(task[f"budget_{of}"]) / Fraction(task[of]) for of in SPENT)
        self.paid = math.floor(min(quotients))

    # Section 3.2.
    @cached_property
    def values(self) -> int:
        paired = {"paired_count": 2, "paired_histogram": 2 * self.size}
        if "histogram" in self.name and self.name not in paired:
            return self.size
        if self.name == "split_sum":
            return 1 << int(self.parameters[0])
        return paired.get(self.name, 2)

    @property
    def has_dummies(self) -> bool:
        return self.name not in ("boolean_sum", "real_sum", "split_sum")

    def meaning(self, value: int | None) -> int:
        if value is None:
            return NOTHING
        means = value < self.values or (self.has_dummies and value == DUMMY)
        return value if means else NOTHING

    def protocol(self, users: int) -> Any:
        noise, more = self.noise, self.parameters
        if self.name in ("boolean_sum", "real_sum"):
            flips = 2 * users * noise / 2**64
            if self.name == "boolean_sum":
                return shuffle.BooleanSum(users, expected_random_users=flips)
            return shuffle.RealSum(users, expected_random_users=flips, n_bits=self.m)
        if self.name == "histogram":
            return shuffle.Histogram(users, n_bins=self.size, omission_probability=noise)
        if self.name == "low_communication_histogram":
            return shuffle.LowCommunicationHistogram(
                users,
                n_bins=self.size,
                noise_probability=noise,
                false_positive=more[0],
                n_slots=self.m,
            )
        if self.name == "split_sum":
            return shuffle.SplitSum(
                users,
                noise_epsilon=noise,
                resolution=self.size,
                n_shares=self.m,
                modulus_bits=int(more[0]),
                honest_share=min(Fraction(1), Fraction(int(more[1]), users)),
            )
        paired: dict[str, Any] = {
            "noise_rate": noise,
            "clump_probability": more[0],
            "largest_clump": int(more[1]),
            "n_honest_design": int(more[2]),
            "slots": self.m,
        }
        if self.name == "paired_count":
            return shuffle.PairedCount(users, **paired)
        return shuffle.PairedHistogram(users, n_bins=self.size, **paired)

    # Section 7, release, 2.
    def keeps(self, honest: int) -> bool:
        if honest not in self.kept:
            users = max(honest, int(self.task["min_batch"]))
            self.kept[honest] = honest > 0 and self.delta >= Fraction(
                self.protocol(users).profile(n_honest=honest).delta(self.epsilon)
            )
        return self.kept[honest]

    def false_of(self, among: int) -> int:
        return math.floor(self.gamma * among)

    def holds(self, honest: int) -> bool:
        least = int(self.task["min_batch"])
        least -= self.false_of(least)
        return any(self.keeps(fewer) for fewer in (honest, least, 1) if fewer <= honest)

    # Section 7, release, 3.
    def false_users(self, users: int, tally: Counter[int]) -> int:
        false = -(-tally[NOTHING] // self.m)
        messages = tally.total() - tally[NOTHING] - tally[DUMMY]
        if "paired" in self.name:
            rate, (chance, largest, design) = float(self.noise), map(float, self.parameters)
            law = noise_of_a_user(self.size, int(design), rate, chance, int(largest), self.m - 1)
            honest = honest_by_signs(law, users, messages, tally[NOTHING])
            return max(false, *(users - most for most in honest))
        if "histogram" not in self.name:
            return false
        d, log = self.size, math.log(1e12)
        p = float(1 - self.noise if self.name == "histogram" else self.noise)

        def reach(honest: int) -> float:
            return log / 3 + math.sqrt(log**2 / 9 + 2 * log * honest * d * p * (1 - p))

        def enough(honest: int) -> bool:
            return honest * (1 + d * p) - reach(honest) <= messages

        def few(honest: int) -> bool:
            most = min(honest * (1 + d), honest * (1 + d * p) + reach(honest))
            return messages + tally[NOTHING] <= most + (users - honest) * self.m

        return max(false, users - most_of(enough, users), users - most_of(few, users))

    # Section 3.5.
    def estimate(self, users: int, tally: Counter[int]) -> dict[str, Any]:
        protocol = self.protocol(users)
        sent = sorted((value, n) for value, n in tally.items() if value not in (NOTHING, DUMMY))
        values = np.repeat(*np.array(sent, dtype=np.int64).reshape(-1, 2).T)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PrivacyWarning)
            found = protocol.estimate(protocol.read(values))
        error = protocol.error(FAILS, simultaneous=True)
        if "histogram" in self.name:
            names = self.task["domain"] or [str(one) for one in range(self.size)]
            counts = {names[one]: count for one, count in found.counts.items()}
            return {"counts": counts, "error_of_all_counts": error}
        result = {"sum": found, "error_of_sum": error}
        if self.task["bounds"]:
            low, high = (Fraction(bound) for bound in self.task["bounds"])
            result["mean"] = float(low + (high - low) * Fraction(found) / users)
            result["error_of_mean"] = float((high - low) * Fraction(error) / users)
        return result

    def epsilon_with(self, users: int, honest: int) -> float | None:
        found = float(self.protocol(users).profile(n_honest=honest).epsilon(self.delta))
        return found if math.isfinite(found) else None


SPENT = ("epsilon", "delta")


def most_of(holds: Callable[[int], bool], users: int) -> int:
    return next((honest for honest in range(users, -1, -1) if holds(honest)), 0)
