"""Users who stay away, are silent or lie: what an analyser counts, refuses and says."""

from __future__ import annotations

import math
import warnings
from typing import Self

from smoothdp.errors import InvalidData, InvalidParameter, PrivacyWarning, explain
from smoothdp.exact.parameters import exact_int
from smoothdp.text import number_up


class Answering:
    """What each protocol says of fewer users than it was made for, and of false ones."""

    n_users: int

    def answered(self, n_answered: int) -> Self:
        """Return the protocol as those who answered ran it: their number, the same noise each.

        Its `estimate`, `error`, `mse` and `profile` are for them. The promise stays only if so
        many honest users keep it.

        Raises:
            InvalidParameter: not a number from 1 to n_users.
        """
        count = exact_int(n_answered, name="n_answered", minimum=1)
        if count > self.n_users:
            raise InvalidParameter(
                explain(
                    f"n_answered of at most n_users={self.n_users}",
                    f"n_answered={count}",
                    "Count each user once",
                )
            )
        return self if count == self.n_users else self._for_users(count)

    @property
    def honest_needed(self) -> int:
        """The fewest honest users with whom the promise is kept; 1 without a promise."""
        return 1

    @property
    def influence_of_one_liar(self) -> float:
        """By how much one user who sends anything can move an estimate; inf if not known.

        One that is not hidden as 0: `hidden_up_to` says what may appear or disappear besides.
        """
        return math.inf

    @property
    def hidden_up_to(self) -> float:
        """The largest estimate that is reported as 0 instead; 0 where nothing is hidden."""
        return 0.0

    def liars_sentence(self, n_liars: int = 1) -> str:
        """Return what so many users who send anything, or nothing, can do."""
        count = exact_int(n_liars, name="n_liars", minimum=1)
        who = "One user who sends anything" if count == 1 else f"{count} users who send anything"
        reach = number_up(count * self.influence_of_one_liar)
        if self.hidden_up_to > 0.0:
            shown = number_up(self.hidden_up_to + count * self.influence_of_one_liar)
            reach += f", and make one of up to {shown} appear or disappear"
        rest = self.n_users - count
        kept = "are enough" if rest >= self.honest_needed else "are not"
        return (
            f"{who} can move an estimate by {reach}. {self._silence(count)} They add no noise for "
            f"certain: the guarantee is profile(n_honest={max(rest, 0)}) then; the promise needs "
            f"{self.honest_needed} honest users, and {max(rest, 0)} {kept}."
        )

    def _for_users(self, n_users: int) -> Self:
        """Return the protocol for fewer users with the same noise each."""
        raise InvalidParameter(
            explain(
                f"all n_users={self.n_users} for {type(self).__name__}",
                f"n_answered={n_users}",
                "Make the protocol for those who answered",
            )
        )

    def _read_tolerated(self, tolerated: int) -> int:
        count = exact_int(tolerated, name="tolerated", minimum=0)
        if count > self.n_users:
            raise InvalidParameter(
                explain(
                    f"tolerated of at most {self.n_users}, those who answered",
                    f"tolerated={count}",
                    "Lower it",
                )
            )
        return count

    def honest_at_most(self, n_messages: int) -> int:  # noqa: ARG002
        """Return how many users can be honest at most if there are so many messages in all.

        Wrong with probability below 1e-12. It does not depend on anybody's datum.
        """
        return self.n_users

    def _those_who_answered(self, n_answered: int | None, tolerated: int) -> tuple[Self, int]:
        """Return the protocol for those who answered and how many of them may be silent."""
        used = self.answered(self.n_users if n_answered is None else n_answered)
        silent = used._read_tolerated(tolerated)
        if n_answered is not None or silent:
            self._require_honest(used.n_users - silent, "users who answered, less those tolerated")
        return used, silent

    def _check_honest(self, used: Self, n_messages: int, silent: int, *, said: bool) -> None:
        """Refuse what the promise cannot bear, warn of silent users; ``said``: warned already."""
        honest = used.honest_at_most(n_messages)
        if honest < used.n_users:
            self._require_honest(honest, "at most whose messages are there")
        if honest < used.n_users - silent and not said:
            count = used.n_users - honest
            warnings.warn(
                f"At least {count} users did not send what the protocol has them send. "
                f"{used._silence(count)}",
                PrivacyWarning,
                stacklevel=3,
            )

    def _silence(self, n_silent: int) -> str:  # noqa: ARG002
        """Return what so many users do to the estimate by sending nothing."""
        return "Users who send nothing are left out."

    def _require_honest(self, found: int, what: str) -> None:
        """Raise InvalidData if so few users cannot keep the promise."""
        if found < self.honest_needed:
            raise InvalidData(
                explain(
                    f"at least {self.honest_needed} honest users, as the promise needs",
                    f"{found} {what}",
                    "Wait for more users; next time, calibrate for fewer than you expect",
                )
            )
