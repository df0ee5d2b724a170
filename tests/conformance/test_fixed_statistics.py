"""Counts, sums, means and variances as they are asked for: words, refusals, units, labels."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import smoothdp as sd
from smoothdp.claims.label import Label
from smoothdp.errors import IncompatibleClaims, InvalidData, InvalidParameter, SmoothdpError
from smoothdp.exact.random.entropy import Entropy, SeededRandom
from smoothdp.mechanisms.additive.whole_laws import DiscreteGaussianLaw, WholeLaw
from smoothdp.mechanisms.fixed import sum_noise
from smoothdp.queries import ClampedMean, Count, FixedStatistic, Mean, SkewedMean, Sum, Variance
from smoothdp.tables import release_table

PRIVATE = sd.PureDP(1, neighbours="add_remove")
PUBLIC = sd.PureDP(1)
EVERY: list[FixedStatistic] = [
    Count(),
    Sum((0, 50)),
    Sum((-5, 50), grid="0.01"),
    ClampedMean((0, 50)),
    Variance((0, 50)),
    SkewedMean((0, 50)),
]
ROWS = [1.0, 7.5, 50.0, 99.0]


@pytest.mark.parametrize("query", EVERY, ids=repr)
@pytest.mark.parametrize(
    "rows",
    [[], [None], [math.nan, math.inf, -math.inf], ["x", 10**400, True], [1, 2.5]],
    ids=str,
)
def test_no_row_is_refused(query: FixedStatistic, rows: list[object]) -> None:
    assert math.isfinite(sd.release(rows, query, guarantee=PRIVATE).value)


@pytest.mark.parametrize("query", EVERY, ids=repr)
@pytest.mark.parametrize(
    ("option", "got"),
    [
        ({"smoothing": "0.1"}, "smoothing=1/10"),
        ({"noise": sd.noise.StudentT(3)}, "StudentT"),
        ({"n_guess": 100}, "n_guess=100"),
        ({"n_share": "0.1"}, "n_share"),
        ({"confidence": "0.9", "covers": "population"}, "population"),
        ({"guarantee": sd.GaussianDP(0, neighbours="add_remove")}, "mu=0"),
        ({"guarantee": sd.PureDP(0, neighbours="add_remove")}, "epsilon=0"),
        ({"round_to": 0}, "round_to=0"),
    ],
    ids=str,
)
def test_what_they_do_not_take(query: FixedStatistic, option: dict[str, Any], got: str) -> None:
    with pytest.raises(SmoothdpError) as refusal:
        sd.release(ROWS, query, **{"guarantee": PRIVATE, **option})
    assert got in str(refusal.value)


def test_a_query_is_no_smooth_sensitivity() -> None:
    for query in EVERY:
        assert not hasattr(query, "smooth_sensitivity")
        with pytest.raises(SmoothdpError):
            sd.plan(query, guarantee=PUBLIC, n_records=10)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("make", "got"),
    [
        (lambda: Sum((0, 1), grid=2), "grid=2"),
        (lambda: Sum((0.2, 0.7), grid=1), "grid=1"),
        (lambda: Sum((0, 1), grid=0), "grid=0"),
        (lambda: Sum((0, 1), grid="1e-40"), "1e-40"),
        (lambda: Sum((1, 0)), "(1, 0)"),
        (lambda: ClampedMean((0, math.inf)), "inf"),
        (lambda: Variance(3), "3"),
    ],
)
def test_bad_parameters(make: Any, got: str) -> None:
    with pytest.raises(InvalidParameter) as refusal:
        make()
    assert got in str(refusal.value)


def test_where_a_record_is_replaced() -> None:
    """n is public: no count; a sum moves by the width, two and three sums twice as far."""
    with pytest.raises(IncompatibleClaims, match="public where one is replaced"):
        sd.release(ROWS, Count(), guarantee=PUBLIC)
    with pytest.raises(IncompatibleClaims, match="more than one multiple"):
        sd.release(ROWS, Sum((1, "1.5"), grid=1), guarantee=PUBLIC)
    words = {
        type(query).__name__: sd.release(ROWS, query, guarantee=PUBLIC).mechanism
        for query in (Sum((10, 50), grid=1), ClampedMean((0, 50)), Variance((0, 50)))
    }
    assert "scale 40" in words["Sum"]
    assert "scale 2 on each" in words["ClampedMean"]
    assert "scale 2 on each" in words["Variance"]
    rho = sd.release(ROWS, ClampedMean((0, 50)), guarantee=sd.ZCDP("1/2")).mechanism
    assert "variance 2 on each" in rho
    with pytest.raises(InvalidData):
        sd.release([1.0, None], Sum((0, 1)), guarantee=PUBLIC)


def test_where_one_is_added_or_removed() -> None:
    words = {
        type(query).__name__: sd.release(ROWS, query, guarantee=PRIVATE).mechanism
        for query in (Sum((10, 50), grid=1), ClampedMean((0, 50)), Variance((0, 50)))
    }
    assert "scale 50" in words["Sum"]
    assert "scale 1 on each" in words["ClampedMean"]
    assert "scale 1 on each" in words["Variance"]


def test_the_variance_of_gaussian_noise_is_that_of_the_squared_distance() -> None:
    """sigma^2 = D^2 / (2 rho), D the Euclidean distance of neighbours in the sums."""
    promise = sd.ZCDP("1/8", neighbours="add_remove")
    for query, distance in (
        (Sum((0, 10), grid=1), 10),
        (Sum((10, 50), grid=1), 50),
        (ClampedMean((0, 50)), ClampedMean.parts),
        (Variance((0, 50)), Variance.parts**2),
    ):
        law = sum_noise.SumNoise(query, promise).law
        assert law == DiscreteGaussianLaw(Fraction(4 * distance**2))
    replaced = sum_noise.SumNoise(ClampedMean((0, 50)), sd.ZCDP("1/8")).law
    # One row goes and another comes: (m - m', m' - m), of square 2 G^2 at most.
    assert replaced == DiscreteGaussianLaw(Fraction(8 * ClampedMean.parts**2))


def test_a_mean_is_two_sums_where_n_is_private() -> None:
    same = [
        sd.release(ROWS, query, guarantee=PRIVATE, rng=SeededRandom(3))
        for query in (Mean((0, 50)), ClampedMean((0, 50)))
    ]
    assert same[0] == same[1]
    assert "two sums" not in sd.release(ROWS, Mean((0, 50)), guarantee=PUBLIC).mechanism


def test_whole_numbers_and_steps() -> None:
    count = sd.release(ROWS, Count(), guarantee=PRIVATE).value
    assert isinstance(count, int)
    assert isinstance(sd.release(ROWS, Sum((0, 9), grid=1), guarantee=PRIVATE).value, int)
    released = sd.release(ROWS, Sum((0, 9)), guarantee=PRIVATE, round_to="0.5")
    assert (2 * released.value) == int(2 * released.value)
    assert "rounded to a multiple of 1/2" in released.mechanism
    ten = sd.release(ROWS, Count(), guarantee=PRIVATE, round_to=10, rng=SeededRandom(1))
    assert ten.value % 10 == 0
    assert isinstance(ten.value, int)


@pytest.mark.parametrize("kind", ["list", "array", "text", "masked", "dates", "objects"])
def test_what_is_counted(kind: str) -> None:
    """Every row of a column that holds a value, of whatever type."""
    columns: dict[str, Any] = {
        "list": [1, None, 2.0, math.nan, "x"],
        "array": np.array([1.0, math.nan, 2.0, 3.0]),
        "text": np.array(["a", "", "b"]),
        "masked": np.ma.masked_array([1, 2, 3, 4], [False, False, False, True]),
        "dates": np.array(["2026-01-01", "NaT", "2026-01-02", "2026-01-03"], "datetime64[D]"),
        "objects": np.array([None, 1, "x", 2], object),
    }
    assert Count().value(columns[kind]) == 3
    with pytest.raises(InvalidData, match="one column"):
        Count().value(5)
    with pytest.raises(InvalidData, match="2 dimensions"):
        Count().value([[1, 2], [3, 4]] if kind == "x" else np.zeros((2, 2)))


def test_values_of_public_data() -> None:
    assert Sum((0, 50), grid=1).value(ROWS) == 1 + 8 + 50 + 50
    assert ClampedMean((0, 50)).value(ROWS) == pytest.approx(108.5 / 4, abs=1e-7)
    assert Variance((0, 50)).value(ROWS) == pytest.approx(np.var(np.minimum(ROWS, 50)), rel=1e-5)
    for query, empty in ((Count(), 0), (Sum((0, 5)), 0), (ClampedMean((2, 4)), 3)):
        assert query.value([]) == empty
    assert Variance((0, 8)).value([]) == 8
    big = np.full(3, 2**61)
    assert Sum((0, 2**40), grid=1).value(big) == 3 * 2**40


@pytest.mark.parametrize("query", EVERY[:4], ids=repr)
@pytest.mark.parametrize("drawn", [(3, 4), (-3, 1)])
def test_nothing_but_the_noisy_sums_leaves(
    query: FixedStatistic, drawn: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the noisy sums arranged, releases of any data are the same in every field."""

    def arranged(sums: object, law: WholeLaw, rng: Entropy) -> tuple[int, ...]:
        del law, rng
        assert repr(sums) == "Sealed(private)"
        return drawn[: 2 if isinstance(query, ClampedMean) else 1]

    monkeypatch.setattr(sum_noise, "noisy_sums", arranged)
    released = {
        repr(sd.release(rows, query, guarantee=PRIVATE, confidence="0.9"))
        for rows in ([], ROWS, [math.nan], list(range(1000)))
    }
    assert len(released) == 1


def test_labels(tmp_path: Path) -> None:
    label = Label("wages 2026", purpose="yearly table", who="A. Noether")
    ledger = sd.Ledger(tmp_path / "l.db", budget=sd.PureDP(9, neighbours="add_remove"))
    released = sd.release(ROWS, Count(), guarantee=PRIVATE, label=label, ledger=ledger)
    assert released.label == label
    assert released.sentence().startswith("wages 2026 (yearly table; A. Noether): How much")
    (entry,) = ledger.entries()
    told = json.loads(json.dumps(entry.to_dict()))["parameters"]
    assert told["label"] == "wages 2026"
    assert (told["purpose"], told["who"]) == ("yearly table", "A. Noether")
    smooth = sd.release(ROWS * 50, sd.queries.Median((0, 50)), guarantee=sd.PureDP(1), label="ages")
    assert smooth.label == Label("ages")
    bars = sd.release(
        ROWS * 500, sd.queries.Median((0, 50)), guarantee=sd.PureDP(1), confidence=0.9, label="b"
    )
    assert bars.label == Label("b")
    assert sd.release(ROWS, Count(), guarantee=PRIVATE).label is None


def test_tables_take_them() -> None:
    rows = {"g": ["a", "b"] * 200 + ["c"], "x": [*(float(k % 9) for k in range(400)), None]}
    table = release_table(
        rows,
        by="g",
        keys=["a", "b", "c", "d"],
        statistics={
            "rows": (None, Count()),
            "known": ("x", Count()),
            "total": ("x", Sum((0, 10), grid=1)),
            "mean": ("x", Mean((0, 10))),
            "skewed": ("x", SkewedMean((0, 10))),
            "median": ("x", sd.queries.Median((0, 10))),
        },
        guarantee=sd.PureDP(100, neighbours="add_remove"),
        confidence="0.9",
        rng=SeededRandom(1),
    )
    columns = table.columns()
    assert columns["rows"] == [200, 200, 1, 0]
    assert columns["known"] == [200, 200, 0, 0]
    assert columns["mean"][0] == pytest.approx(4, abs=0.3)
    assert columns["total low"][0] <= columns["total"][0] <= columns["total high"][0]
    assert "of 'x'" in table.statistics["mean"]
    with pytest.raises(InvalidParameter):
        release_table(
            rows, by="g", keys=["a"], statistics={"x": (None, Sum((0, 1)))}, guarantee=PRIVATE
        )
    variance = {"v": ("x", Variance((0, 10)))}
    asked = {"v": ("x", Variance((0, 10)), {"confidence": "0.9"})}
    with pytest.raises(InvalidParameter, match="error bars"):
        release_table(rows, by="g", keys=["a"], statistics=asked, guarantee=PRIVATE)
    made = release_table(
        rows, by="g", keys=["a"], statistics=variance, guarantee=PRIVATE, confidence="0.9"
    )
    assert 0 <= made.columns()["v"][0] <= 25
    assert "v low" not in made.columns()
    assert made.covers["v"].startswith("no interval: none is proved for the variance")


def test_private_values_are_not_shown() -> None:
    for made in (
        sd.LaplaceMechanism(1),
        sd.GaussianMechanism(1),
        sd.DiscreteLaplaceMechanism(1),
        sd.DiscreteGaussianMechanism(1),
    ):
        for secret in ("my secret", math.nan, [123456], None, True, 1j):
            with pytest.raises(InvalidData) as refusal:
                made.release(secret)  # type: ignore[arg-type]
            assert "secret" not in str(refusal.value)
            assert "123456" not in str(refusal.value)
        released = made.release(12)
        assert released.guarantee == made.guarantee
        assert "12" not in released.mechanism
    exact = sd.LaplaceMechanism("1e-6").release(Fraction(1, 3), rng=SeededRandom(1)).value
    assert exact == pytest.approx(1 / 3, abs=1e-4)
    assert isinstance(sd.GaussianMechanism(10).release(np.float64(2.5)).value, float)


@pytest.mark.parametrize("rows", [[], [1e308] * 9, [5.0]], ids=str)
def test_extremes_are_released_or_refused_beforehand(rows: list[float]) -> None:
    """Sums beyond floats, tiny guarantees: nothing depends on the rows."""
    huge = 2.0**1021
    tiny = sd.PureDP("1e-200", neighbours="add_remove")
    for claim in (PRIVATE, tiny, sd.ZCDP("1e-200", neighbours="add_remove")):
        for query in (Count(), Sum((0, huge)), Mean((-huge, huge)), Sum((0, 2.0**-900))):
            released: Any = sd.release(rows, query, guarantee=claim, confidence="0.9")
            assert abs(released.value) < math.inf or isinstance(released.value, int)
            assert released.interval[0] <= released.interval[1]
    with pytest.raises(InvalidParameter, match="3e-11"):
        sd.release(rows, SkewedMean((0, 1)), guarantee=tiny)
    with pytest.raises(InvalidParameter, match="1e12"):
        sd.release(rows, sd.queries.Median((0, 1)), guarantee=PRIVATE, n_guess=1e13)
