"""Private values are sealed: they have no way out but a sampler, and few files may open them."""

from __future__ import annotations

import ast
import copy
import dataclasses
import json
import math
import pickle
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import smoothdp as sd
from smoothdp.claims.open_sealed import opened
from smoothdp.claims.sealed import Sealed, StillSealed

SOURCE = Path(sd.__file__).parent
OPENERS = {
    "mechanisms/fixed/draws.py",
    "mechanisms/quantiles/exponential/draws.py",
    "mechanisms/quantiles/joint/draws.py",
    "mechanisms/quantiles/joint/exponential_draws.py",
    "mechanisms/release/draws.py",
}
"""The samplers. A file that is added here draws with noise from what it opens."""

WAYS_OUT: list[Callable[[Any], object]] = [
    float,
    int,
    bool,
    complex,
    bytes,
    hash,
    round,
    math.floor,
    str,
    len,
    list,
    copy.copy,
    copy.deepcopy,
    pickle.dumps,
    json.dumps,
    Fraction,
    "{}".format,
    "{:.3f}".format,
    "%s".__mod__,
    "%d".__mod__,
    lambda sealed: f"{sealed}",
    lambda sealed: sealed == 1,
    lambda sealed: sealed != 1,
    lambda sealed: sealed < 1,
    lambda sealed: sealed <= 1,
    lambda sealed: sealed + 1,
    lambda sealed: 2 * sealed,
    lambda sealed: -sealed,
    lambda sealed: sealed[0],
    lambda sealed: 3 in sealed,
    lambda sealed: {sealed},
    vars,
]


@pytest.mark.parametrize("content", [13.742, Fraction(1, 3), (1, 2)], ids=repr)
@pytest.mark.parametrize("way", WAYS_OUT, ids=range(len(WAYS_OUT)))
def test_what_is_sealed_has_no_way_out(way: Callable[[Any], object], content: object) -> None:
    with pytest.raises(TypeError) as caught:
        way(Sealed(content))
    assert "13.742" not in str(caught.value)


def test_its_text_is_the_same_for_all_contents() -> None:
    assert repr(Sealed(1)) == repr(Sealed("13.742")) == "Sealed(private)"
    assert issubclass(StillSealed, sd.errors.SmoothdpError)


def test_a_summary_shows_and_stores_nothing_private() -> None:
    query = sd.queries.Median((0, 10), window=1)
    first, second = (
        query.private_summary(data, smoothing=Fraction(1, 10)) for data in ([1, 2, 9], [1, 7, 9])
    )
    assert repr(first) == repr(second)
    assert opened(first.value) == 2
    for way in (dataclasses.asdict, pickle.dumps, copy.deepcopy):
        with pytest.raises(StillSealed):
            way(first)


def imports(text: str) -> set[str]:
    """Return every name that a file imports, with its module."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ImportFrom):
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
    return found


def test_only_the_named_samplers_open() -> None:
    openers, tricks = set(), set()
    for file in SOURCE.rglob("*.py"):
        place = file.relative_to(SOURCE).as_posix()
        text = file.read_text(encoding="utf-8")
        # Whoever imports it writes its name.
        if "open_sealed" in text and any(
            name.startswith("smoothdp.claims.open_sealed") for name in imports(text)
        ):
            openers.add(place)
        if "_Sealed__" in text:
            tricks.add(place)
    assert openers == OPENERS
    assert tricks == {"claims/open_sealed.py"}


def test_a_release_asks_for_nothing_that_is_not_sealed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The methods for public data are not called on the way to a release."""

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a release used a method for public data")

    for name in (
        *("value", "local_sensitivity", "smooth_sensitivity", "log_smooth_sensitivity"),
        *("summary", "sensitivity_curve"),
    ):
        monkeypatch.setattr(sd.queries.Query, name, refuse)
    ages = [float(20 + i % 50) for i in range(1000)]
    for query in (sd.queries.Mean((0, 120)), sd.queries.Median((0, 120))):
        for confidence in (None, "0.9"):
            found = sd.release(ages, query, guarantee=sd.PureDP(1), confidence=confidence)
            assert -1e4 < found.value < 1e4
