"""After a count is drawn nothing is refused, at whatever smoothing a calibration gives up."""

from __future__ import annotations

from fractions import Fraction

import pytest

import smoothdp as sd
from smoothdp.errors import InvalidParameter, OutOfReach
from smoothdp.mechanisms import ExponentialQuantile, SmoothNoise
from smoothdp.mechanisms.private_size import bought_size
from smoothdp.mechanisms.private_size.bought_size import BoughtSize
from smoothdp.mechanisms.private_size.tried import TRIED_SIZES, check_some_size, mechanism_near
from smoothdp.mechanisms.release.request import ReleaseRequest
from smoothdp.tables.table_mechanism import TableMechanism

PURE = sd.PureDP(1, neighbours="add_remove")
ROWS = {"g": ["a"] * 400, "x": [float(i % 7) for i in range(400)]}


def refuse(size: Fraction) -> None:
    raise OutOfReach(expected="less work", got=f"{size}", remedy="Take less")


def test_a_smaller_tried_guess_stands_in() -> None:
    def make(size: Fraction) -> Fraction:
        if size == 400:
            refuse(size)
        return size

    assert mechanism_near(make, Fraction(400)) == 1
    assert mechanism_near(make, Fraction(5000)) == 5000
    with pytest.raises(OutOfReach, match="got 7"):
        mechanism_near(refuse, Fraction(7))
    with pytest.raises(OutOfReach):
        check_some_size(refuse)


def test_a_bought_size_never_refuses_afterwards(monkeypatch: pytest.MonkeyPatch) -> None:
    made = BoughtSize.mechanism

    def picky(self: BoughtSize, n_guess: Fraction) -> SmoothNoise | ExponentialQuantile:
        if n_guess not in TRIED_SIZES:
            refuse(n_guess)
        return made(self, n_guess)

    monkeypatch.setattr(BoughtSize, "mechanism", picky)
    request = ReleaseRequest.read(sd.queries.Median((0, 10)), guarantee=PURE)
    released = BoughtSize(request).release(ROWS["x"], rng=sd.SeededRandom(1))
    assert "low end of a count" in released.mechanism
    assert bought_size.low_end(400, 15.0) not in TRIED_SIZES


def test_a_table_never_refuses_afterwards(monkeypatch: pytest.MonkeyPatch) -> None:
    made = TableMechanism.statistic

    def picky(self: TableMechanism, statistic: object, n_guess: Fraction | None) -> object:
        if n_guess not in TRIED_SIZES:
            refuse(n_guess or Fraction(0))
        return made(self, statistic, n_guess)  # type: ignore[arg-type]

    monkeypatch.setattr(TableMechanism, "statistic", picky)
    asked = {
        "by": "g",
        "keys": ["a", "b"],
        "statistics": {"median": ("x", sd.queries.Median((0, 10)))},
        "guarantee": PURE,
    }
    table = sd.release_table(ROWS, **asked, rng=sd.SeededRandom(1))  # type: ignore[arg-type]
    assert len(table.groups) == 2
    # A public guess is tried itself, before the data.
    with pytest.raises(OutOfReach, match="got 77"):
        sd.release_table({}, **asked, n_guess=77)  # type: ignore[arg-type]


@pytest.mark.parametrize("rho", ["0.9", "2"])
def test_concentrated_claims_beyond_the_fits(rho: str) -> None:
    guarantee = sd.ZCDP(rho, neighbours="add_remove")
    released = sd.release(
        ROWS["x"], sd.queries.Median((0, 10)), guarantee=guarantee, rng=sd.SeededRandom(1)
    )
    assert released.guarantee == guarantee
    with pytest.raises(InvalidParameter):
        sd.release(ROWS["x"], sd.queries.Median((0, 10)), guarantee=sd.ZCDP(0))
