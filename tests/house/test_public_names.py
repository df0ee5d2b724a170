"""Public names: sorted, present, documented, with their source."""

from __future__ import annotations

import inspect

import pytest

import smoothdp as sd
from smoothdp.sources import Source, bibtex

pytestmark = pytest.mark.smoke

NEED_NO_SOURCE = {
    "Account",
    "NoiseTable",
    "Collection",
    "ComposedProfile",
    "DataModel",
    "DeltaInterval",
    "ErrorPoint",
    "Measurement",
    "Neighbours",
    "Pair",
    "PrivacyProfile",
    "Release",
    "SampleDesign",
    "SeededRandom",
    "SmoothedDelta",
    "StrataDelta",
    "SystemRandom",
    "TradeoffFunction",
}


def test_all_is_sorted_and_complete() -> None:
    assert sorted(sd.__all__) == dir(sd)
    assert set(sd._HOMES) | sd._ROOMS | {"__version__"} == set(sd.__all__)
    assert len(set(sd.__all__)) == len(sd.__all__)


@pytest.mark.parametrize("name", sorted(sd._HOMES))
def test_name_exists_and_is_documented(name: str) -> None:
    value = getattr(sd, name)
    assert inspect.getdoc(value), f"{name} has no docstring"


@pytest.mark.parametrize("name", sorted(sd._HOMES))
def test_claims_and_mechanisms_name_their_source(name: str) -> None:
    value = getattr(sd, name)
    if not inspect.isclass(value) or issubclass(value, Exception) or name in NEED_NO_SOURCE:
        return
    source = vars(value)["source"]
    assert isinstance(source, Source)
    assert bibtex(source.key).startswith("@")


def test_unknown_name() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = sd.nothing
