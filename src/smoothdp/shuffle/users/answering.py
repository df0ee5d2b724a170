"""Users who stay away, are silent or lie: what an analyser counts, what it refuses and warns of."""

from __future__ import annotations

import math
import warnings
from fractions import Fraction
from typing import Self

from smoothdp.claims.guarantees.guarantee import Guarantee
from smoothdp.errors import InvalidData, InvalidParameter, PrivacyWarning
from smoothdp.exact.parameters.numbers import exact_int
from smoothdp.shuffle.users.honest_share import least_honest
from smoothdp.text import number_up


class Answering:
    """What each protocol says of fewer users than it was made for, and of false users."""

    n_users: int
    promise: Guarantee | None
    honest_share: Fraction = Fraction(1)
    """The share of the users that `profile` counts on: the others may do anything."""

    @property
    def honest_assumed(self) -> int:
        """m0 = ceil(honest_share n): the honest users that `profile` counts on."""
        return least_honest(self.n_users, self.honest_share)

    def answered(self, n_answered: int) -> Self:
        """Return the protocol as those who answered ran it: their number, the same noise each.

        As many honest users are counted on as before, or all who answered if these are fewer.
        `estimate`, `error`, `mse` and `profile` of the protocol returned are for those who
        answered. The promise stays only if so many honest users keep it.

        Raises:
            InvalidParameter: not a number from 1 to n_users.
        """
        count = exact_int(n_answered, name="n_answered", minimum=1)
        if count > self.n_users:
            raise InvalidParameter(
                expected=f"n_answered of at most n_users={self.n_users}",
                got=f"n_answered={count}",
                remedy="Count each user once",
            )
        return self if count == self.n_users else self._for_users(count)

    @property
    def honest_needed(self) -> int:
        """The fewest honest users with whom the promise is kept; 1 without a promise."""
        return 1

    @property
    def influence_of_one_liar(self) -> float:
        """By how much one user who sends anything can move an estimate; inf if not known.

        If the shuffler lets each user send no more than the `messages_allowed`: messages of one
        user beyond them move the estimate further, and the analyser cannot tell whose messages
        they are. Of an estimate that is not hidden as 0: `hidden_up_to` says which estimates may
        appear or disappear.
        """
        return math.inf

    @property
    def hidden_up_to(self) -> float:
        """The largest estimate that is reported as 0 instead; 0 where nothing is hidden."""
        return 0.0

    def liars_sentence(self, n_liars: int = 1) -> str:
        """Return what so many users who send anything, or nothing, can do.

        Raises:
            InvalidParameter: not a number from 1 to n_users - 1: one user is left to protect.
        """
        count = exact_int(n_liars, name="n_liars", minimum=1)
        if count >= self.n_users:
            raise InvalidParameter(
                expected=f"n_liars below n_users={self.n_users}",
                got=f"n_liars={count}",
                remedy="Leave at least one user to protect",
            )
        who = "One user who sends anything" if count == 1 else f"{count} users who send anything"
        reach = number_up(count * self.influence_of_one_liar)
        if self.hidden_up_to > 0.0:
            shown = number_up(self.hidden_up_to + count * self.influence_of_one_liar)
            reach += f", and make one of up to {shown} appear or disappear"
        most = self.messages_allowed
        limit = "1 message" if most == 1 else f"{most} messages"
        n_left = self.n_users - count
        sufficiency = "are enough" if n_left >= self.honest_needed else "are too few"
        return (
            f"{who} can move an estimate by {reach}, if the shuffler lets each user send no more "
            f"than {limit}, as the protocol has it: what is beyond moves it further. "
            f"{self._silence(count)} They add no noise for "
            f"certain: the guarantee is profile(n_honest={n_left}) then; the promise needs "
            f"{self.honest_needed} honest users, and {n_left} {sufficiency}."
        )

    @property
    def messages_allowed(self) -> int:
        """Messages that the protocol has one user send at most: the shuffler's limit."""
        return 1

    def _for_users(self, n_users: int) -> Self:
        """Return the protocol for fewer users with the same noise each."""
        raise InvalidParameter(
            expected=f"all n_users={self.n_users} for {type(self).__name__}",
            got=f"n_answered={n_users}",
            remedy="Make the protocol for those who answered",
        )

    def _share_among(self, n_users: int) -> Fraction:
        """Return the share of fewer users that are as many honest ones as are counted on."""
        return min(Fraction(1), Fraction(self.honest_assumed, n_users))

    def _kept_by(self, fewer: Self) -> Self:
        """Return the protocol for fewer users, with the promise if they keep it."""
        if self.promise is not None and fewer.n_users >= self.honest_needed:
            object.__setattr__(fewer, "promise", self.promise)
        return fewer

    def _read_tolerated(self, tolerated: int) -> int:
        count = exact_int(tolerated, name="tolerated", minimum=0)
        if count > self.n_users:
            raise InvalidParameter(
                expected=f"tolerated of at most {self.n_users}, those who answered",
                got=f"tolerated={count}",
                remedy="Lower tolerated, or count only users who sent something in n_answered",
            )
        return count

    def honest_at_most(self, n_messages: int) -> int:  # noqa: ARG002
        """Return how many users can be honest at most if there are so many messages in all.

        Wrong with probability below 1e-12. The number does not depend on anybody's datum.
        """
        return self.n_users

    def surplus(self, n_messages: int) -> int:
        """Return how many messages are more than n_users honest users send; 0 if none.

        Wrong with probability below 1e-12. The number does not depend on anybody's datum.
        """
        return max(0, n_messages - self.n_users * self.messages_allowed)

    def honest_despite(self, n_messages: int) -> int:  # noqa: ARG002
        """Return how many users can be honest at most if there are so many messages in all.

        As `honest_at_most`, of too many instead of too few, if no user sends more than the
        `messages_allowed`.
        """
        return self.n_users

    def those_who_answered(self, n_answered: int | None, tolerated: int) -> tuple[Self, int]:
        """Return the protocol for those who answered and how many of them may be silent.

        Raises:
            InvalidParameter: numbers of users outside their domains.
            InvalidData: the promise needs more honest users than answered, less those tolerated.
        """
        used = self.answered(self.n_users if n_answered is None else n_answered)
        silent = used._read_tolerated(tolerated)
        if n_answered is not None or silent:
            self._require_honest(used.n_users - silent, "users who answered, less those tolerated")
        return used, silent

    def _check_honest(
        self, used: Self, n_messages: int, silent: int, *, warned: bool, counted: bool
    ) -> None:
        """Refuse what the promise cannot bear; warn of silent users and of surplus messages.

        Args:
            warned: whether the caller warned already.
            counted: whether the caller said how many answered: if so, too many messages are
                refused as well, if they leave too few honest users.
        """
        extra = used.surplus(n_messages)
        if extra and counted:
            self._require_honest(used.honest_despite(n_messages), "at most who sent no more")
        if extra and not warned:
            warnings.warn(
                f"{extra} messages are more than {used.n_users} users send who follow the "
                "protocol: some were counted more than once, or users sent more than they should, "
                "or more users answered. Estimates are too large, and to a user whose messages "
                "were counted more than once the guarantee is weaker.",
                PrivacyWarning,
                stacklevel=3,
            )
        honest = used.honest_at_most(n_messages)
        if honest < used.n_users:
            self._require_honest(honest, "at most whose messages are there")
        if honest < used.n_users - silent and not warned:
            count = used.n_users - honest
            warnings.warn(
                f"At least {count} users did not send what the protocol has them send. "
                f"{used._silence(count)}",
                PrivacyWarning,
                stacklevel=3,
            )

    def silence_words(self, n_silent: int) -> str:
        """Return what so many users do to the estimate who are counted and send nothing."""
        return self._silence(exact_int(n_silent, name="n_silent", minimum=1))

    def _silence(self, n_silent: int) -> str:  # noqa: ARG002
        """Return what so many users do to the estimate by sending nothing."""
        return "Users who send nothing are left out."

    def _require_honest(self, n_honest: int, who: str) -> None:
        """Raise InvalidData if so few users cannot keep the promise."""
        if n_honest < self.honest_needed:
            raise InvalidData(
                expected=f"at least {self.honest_needed} honest users, as the promise needs",
                got=f"{n_honest} {who}",
                remedy="Wait for more users; next time, calibrate for fewer than you expect",
            )
