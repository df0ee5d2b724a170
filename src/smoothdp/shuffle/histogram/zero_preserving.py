"""What the protocols with omitted noise bits share: parameters, noise, sentences."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from smoothdp.errors import InvalidParameter, OutOfReach
from smoothdp.exact.parameters.numbers import Parameter, exact_fraction, exact_int, exact_text
from smoothdp.exact.random.entropy import Entropy
from smoothdp.exact.random.random_words import WORD_BITS, random_words
from smoothdp.exact.random.samplers import bernoulli
from smoothdp.shuffle.accounting.exchange_sum import LARGEST_TRIALS
from smoothdp.shuffle.protocol import read_users
from smoothdp.text import upper_text
from smoothdp.types import BoolArray

LARGEST_EXPLICIT = 10**7
"""Bins for which messages, or the shuffled counts of all bins, are formed."""


def read_zero_preserving_users(n_users: object) -> int:
    """Return the number of users, at most 2^31 - 2, or raise InvalidParameter."""
    return read_users(n_users, most=LARGEST_TRIALS)


def read_omission(value: Parameter, *, name: str = "omission_probability") -> Fraction:
    """Return gamma in (0, 1/2], exactly, or raise InvalidParameter."""
    gamma = exact_fraction(value, name=name)
    if not 0 < gamma <= Fraction(1, 2):
        raise InvalidParameter(
            expected=f"0 < {name} <= 1/2",
            got=f"{name}={exact_text(gamma)}",
            remedy=f"Give {name}, 1 - p of paper 3; calibrate() finds it for a guarantee",
        )
    return gamma


def read_tolerated(tolerated: object, n_users: int, gamma: Fraction) -> int:
    """Return how many silent users are allowed for, at most n gamma, or raise InvalidParameter.

    Beyond n gamma an empty bin is listed as often as not.
    """
    count = exact_int(tolerated, name="tolerated", minimum=0)
    if count > n_users * gamma:
        raise InvalidParameter(
            expected=f"tolerated of at most n gamma = {float(n_users * gamma):.6g}",
            got=f"tolerated={count}",
            remedy=(
                "Count those who sent nothing as absent (n_answered=), or use "
                "LowCommunicationHistogram, which they hardly touch"
            ),
        )
    return count


def silence_sentence(lowered: str, n_silent: int, *, can_be: bool, can_tolerate: bool) -> str:
    """Return what users do who send nothing, or their own message without noise.

    Args:
        lowered: what silent users lower, in words. n_silent: how many users are silent.
        can_be: whether the promise is kept without them: else no analysis is advised.
        can_tolerate: whether so many may be tolerated.
    """
    who = "One who sends nothing" if n_silent == 1 else f"{n_silent} who send nothing"
    verb = "lowers" if n_silent == 1 else "lower"
    hide = "hides" if n_silent == 1 else "hide"
    advice = "the promise cannot bear so many, and analyze refuses them"
    if can_be:
        advice = "count the absent out (n_answered=)"
        if can_tolerate:
            advice += f", or allow for {'it' if n_silent == 1 else 'them'} (tolerated={n_silent})"
    return (
        f"{who}, counted among those who answered, {verb} {lowered} by {n_silent}, and {hide} a "
        f"true count up to {n_silent} larger than noise alone: {advice}."
    )


def read_bins(n_bins: object) -> int:
    """Return the size of the domain, of any magnitude, or raise InvalidParameter."""
    return exact_int(n_bins, name="n_bins", minimum=1)


def require_explicit(n_bins: int, formed: str) -> None:
    """Raise OutOfReach if something would be formed for each of too many bins."""
    if n_bins > LARGEST_EXPLICIT:
        raise OutOfReach(
            expected=f"at most {LARGEST_EXPLICIT} bins for {formed}",
            got=f"n_bins={n_bins}",
            remedy="Use release or simulate: their result costs nothing for empty bins",
        )


def bernoulli_array(probability: Fraction, count: int, rng: Entropy) -> BoolArray:
    """Return independent bits that are True with a rational probability, exactly."""
    scaled = probability * (1 << WORD_BITS)
    threshold = int(scaled)
    if threshold >= 1 << WORD_BITS:
        return np.ones(count, dtype=np.bool_)
    words = random_words(count, rng)
    bits: BoolArray = words < np.uint64(threshold)
    for index in np.flatnonzero(words == np.uint64(threshold)).tolist():
        bits[index] = bernoulli(scaled - threshold, rng)
    return bits


def collusion_sentence(log_delta: float) -> str:
    """Return what is left if the shuffler and the analyser work together."""
    return (
        "If the shuffler and the analyser collude, nothing remains: they see each user's own "
        f"messages, whose delta is {upper_text(log_delta)} at every epsilon. The guarantee needs "
        "a shuffler that keeps who sent what to itself."
    )
