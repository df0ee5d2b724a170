"""Smoothed delta in words: its figure, and the claim about guesses."""

from __future__ import annotations

import warnings

import smoothdp as sd
from smoothdp.text import lesser, number_up, upper_text

_SOON = 20_000
Mechanism = sd.SamplingHistogram | sd.BernoulliHistogram


def smoothed_text(smoothed: sd.smoothed.SmoothedDelta, mechanism: Mechanism) -> str:
    """Return smoothed delta rounded up, never above ordinary DP beside it, rounded alike.

    Its logarithm may be: that is a float above the rational number.
    """
    return lesser(upper_text(smoothed.log_delta, 8), number_up(mechanism.inclusion(), 8))


def smoothed_sentence(smoothed: sd.smoothed.SmoothedDelta, mechanism: Mechanism) -> str:
    """Return the claim in words, how often a guess is right by smoothed delta at epsilon 0.

    (epsilon, delta) alone says much less: it is taken where that would take long.
    """
    if mechanism.n_records > _SOON:
        return smoothed.guarantee.sentence(delta_at_zero=mechanism.inclusion())
    with warnings.catch_warnings():
        # It was said once, at epsilon.
        warnings.simplefilter("ignore", sd.errors.PrivacyWarning)
        at_zero = sd.smoothed_delta(mechanism, smoothed.guarantee.model, epsilon=0)
    return smoothed.guarantee.sentence(delta_at_zero=at_zero.exact_delta)
