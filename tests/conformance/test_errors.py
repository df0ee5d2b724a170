"""Every error says one sentence of three parts, and is the same one after a pickle or a copy."""

from __future__ import annotations

import copy
import pickle

import pytest

import smoothdp.errors
from smoothdp.errors import (
    Explanation,
    InvalidData,
    InvalidParameter,
    MissingExtra,
    SmoothdpError,
)
from smoothdp.exact.balls.work import WorkLimitReached
from smoothdp.queries.windows.column_summary import MoreNeeded

KINDS = [
    kind
    for kind in vars(smoothdp.errors).values()
    if isinstance(kind, type) and issubclass(kind, SmoothdpError) and kind is not MissingExtra
]


@pytest.mark.parametrize("kind", [*KINDS, WorkLimitReached], ids=lambda kind: kind.__name__)
def test_the_sentence(kind: type[SmoothdpError]) -> None:
    error = kind(expected="epsilon > 0", got=-1, remedy="Raise it.")
    assert str(error) == "Expected epsilon > 0; got -1. Raise it."
    assert (error.expected, error.got, error.remedy) == ("epsilon > 0", "-1", "Raise it.")
    assert error.explanation == Explanation("epsilon > 0", "-1", "Raise it.")


ERRORS = [
    *(kind(expected="this", got="that", remedy="Mend it") for kind in KINDS),
    MissingExtra("plotting", "plot"),
    MoreNeeded(7),
]


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
def test_pickles_and_copies(error: SmoothdpError) -> None:
    error.add_note("seen")
    for other in (pickle.loads(pickle.dumps(error)), copy.copy(error), copy.deepcopy(error)):
        assert type(other) is type(error)
        assert str(other) == str(error)
        assert vars(other) == vars(error)


def test_the_same_sentence_as_another_kind() -> None:
    error = InvalidParameter(expected="this", got="that", remedy="Mend it")
    other = error.said_as(InvalidData)
    assert type(other) is InvalidData
    assert str(other) == str(error)


def test_words_without_their_parts_are_refused() -> None:
    with pytest.raises(TypeError):
        InvalidParameter("Something went wrong")  # type: ignore[call-arg]
