"""What is refused is private too: no error has a value of the data, or where it stands.

A secret stands at place 137 of 1000 records, each of a kind that some reader refuses. It must not
be in the message, nor in that of any exception that it came from, shown or not.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import smoothdp as sd
from smoothdp.cli import main

PLACE, SIZE = 137, 1000
SECRETS: list[Any] = [
    *(13.741963, -86420.25, 7531e300, 8642013579, -7531902468, 2**70 + 86420, "Jane 86420"),
    *(b"86420", Fraction(86420, 7531), Decimal("86420.7531"), 8642 + 7531j, (86420,), [86420]),
    *({86420: 1}, float("nan"), float("inf"), None, True, np.float64(86420.7531)),
]
MARKS = ("86420", "7531", "13.74", "Jane", "nan", "-inf", "8642013579")
PROMISE = sd.ApproxDP(1, delta="1e-6")


def hidden(secret: object) -> list[Any]:
    data: list[Any] = [1] * SIZE
    data[PLACE] = secret
    return data


def as_array(data: list[Any]) -> Any:
    """Return an array where numpy makes one of one dimension, else the list."""
    try:
        array = np.array(data)
    except (ValueError, TypeError, OverflowError):
        return data
    return array if array.ndim == 1 else data


BOOLEAN = sd.shuffle.BooleanSum(SIZE, expected_random_users=200)
REAL = sd.shuffle.RealSum(SIZE, expected_random_users=200, n_bits=3)
COUNT = sd.shuffle.ZeroPreservingCount(SIZE, omission_probability="1/2")
HISTOGRAM = sd.shuffle.Histogram(SIZE, n_bins=4, omission_probability="1/2")
PAIRED = sd.shuffle.PairedCount(
    SIZE, noise_rate=1, clump_probability="1/9", largest_clump=1, slots=99
)
PAIRED_BINS = sd.shuffle.PairedHistogram(
    SIZE, n_bins=4, noise_rate=1, clump_probability="1/9", largest_clump=1, slots=99
)
SAMPLED = sd.SamplingHistogram(SIZE, n_draws=10)
MEAN = sd.queries.Mean((0, 10))

READERS: dict[str, Callable[[Any], object]] = {
    "value": MEAN.value,
    "sensitivity": lambda x: sd.queries.Median((0, 10)).smooth_sensitivity(x, smoothing=1),
    "release": lambda x: sd.release(x, MEAN, guarantee=sd.PureDP(1)),
    "share": lambda x: sd.report.collect_share(x, guarantee=PROMISE),
    "mean": lambda x: sd.report.collect_mean(x, bounds=(0, 10), guarantee=PROMISE),
    "histogram": lambda x: sd.report.collect_histogram(x, domain=[1, 2], guarantee=PROMISE),  # type: ignore[list-item]
    "boolean sum": BOOLEAN.release,
    "real sum": REAL.release,
    "count": COUNT.release,
    "bins": HISTOGRAM.release,
    "signs": PAIRED.release,
    "signs of bins": PAIRED_BINS.release,
    "one sign": lambda x: PAIRED.randomize(x[PLACE]),
    "one sign of a bin": lambda x: PAIRED_BINS.randomize(x[PLACE]),
    "true signs": lambda x: PAIRED.release(counts=x[PLACE]),
    "one bit": lambda x: BOOLEAN.randomize(x[PLACE]),
    "one number": lambda x: REAL.randomize(x[PLACE]),
    "one bin": lambda x: HISTOGRAM.randomize(x[PLACE]),
    "one count": lambda x: COUNT.randomize(x[PLACE]),
    "true ones": lambda x: BOOLEAN.release(counts=x[PLACE]),
    "true pair": lambda x: BOOLEAN.release(counts=(1, x[PLACE])),
    "true count": lambda x: COUNT.release(counts=x[PLACE]),
    "true bins": lambda x: HISTOGRAM.release(counts=[1, 1, 1, x[PLACE]]),
    "true sums": lambda x: REAL.release(counts=[(0.5, x[PLACE])]),
    "true numbers": lambda x: REAL.release(counts=[(x[PLACE], SIZE)]),
    "records": lambda x: SAMPLED.release(x, universe=[1, 2]),
    "counts": lambda x: SAMPLED.delta(x, epsilon=1),
    "counts released": lambda x: SAMPLED.release(counts=x),
    "average": lambda x: sd.SamplingAverage(SIZE, n_draws=9, universe=range(4)).release(x),
}


def chain(error: BaseException) -> list[BaseException]:
    """Return an exception and all that it came from, also where that is not shown."""
    found, left = [], [error]
    while left:
        one = left.pop()
        if one not in found:
            found.append(one)
            left += [e for e in (one.__cause__, one.__context__) if e is not None]
    return found


@pytest.mark.parametrize("reader", READERS)
def test_no_error_quotes_the_data(reader: str) -> None:
    refused = 0
    for secret in SECRETS:
        for data in (hidden(secret), as_array(hidden(secret))):
            with warnings.catch_warnings(record=True) as said:
                warnings.simplefilter("always")
                try:
                    READERS[reader](data)
                except Exception as error:
                    refused += 1
                    shown = [str(one) for one in chain(error)]
                    if not isinstance(error, sd.errors.SmoothdpError):
                        raise
                else:
                    continue
            for text in [*shown, *(str(one.message) for one in said)]:
                assert not any(mark in text for mark in MARKS), (secret, text)
                assert str(PLACE) not in text, (secret, text)
    assert refused > 3


@pytest.mark.parametrize(
    "text",
    [
        "v,w\n" + "1,2\n" * PLACE + "86420x,2\n" + "1,2\n" * 9,
        "v,w\n" + "1,2\n" * PLACE + "86420,7531,1\n" + "1,2\n" * 9,
        "v,w\n" + "1,2\n" * PLACE + ",7531\n" + "1,2\n" * 9,
        "v,w\n" + "1,2\n" * PLACE + '"86420"x,7531\n' + "1,2\n" * 9,
        "v,w\n" + "1,2\n" * PLACE + '"86420,7531\n' + "1,2\n" * 9,
        "v,w\n" + "1,2\n" * PLACE + "inf,7531\n" + "1,2\n" * 9,
        "v,w\n" + "1,2\n" * PLACE + "8_6420,7531\n" + "1,2\n" * 9,
        "86420,Jane\n" + "1,2\n" * PLACE,
    ],
)
@pytest.mark.parametrize(
    "command",
    [
        ["release", "--statistic", "mean", "--bounds", "0", "9", "--epsilon", "1"],
        ["collect", "--epsilon", "1", "--delta", "1e-6", "--bounds", "0", "9"],
        ["collect", "--epsilon", "1", "--delta", "1e-6"],
        ["collect", "--epsilon", "1", "--delta", "1e-6", "--domain", "domain.txt"],
        ["measure", "--n-draws", "9", "--epsilon", "1", "--universe", "1,2"],
    ],
)
def test_no_command_quotes_the_file(
    text: str,
    command: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("secret.csv").write_text(text)
    Path("domain.txt").write_text("1\n2\n")
    with pytest.raises(SystemExit) as stopped:
        main([command[0], "secret.csv", "--column", "v", *command[1:]])
    shown = capsys.readouterr()
    assert (stopped.value.code, shown.out, shown.err.count("\n")) == (2, "", 1)
    assert not any(mark in shown.err for mark in MARKS), shown.err
    # Rows are counted from 0, from 1, and with the header.
    assert not any(str(PLACE + k) in shown.err for k in (0, 1, 2)), shown.err


@pytest.mark.parametrize("name", ["86420.5", "Jane Doe"])
def test_a_private_column_is_measured_without_its_values_and_counts(
    name: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Every way out; with --public both are there, so that the test can see them."""
    monkeypatch.chdir(tmp_path)
    Path("secret.csv").write_text("v\n" + f"{name}\n" * 317 + "Zwicky\n" * 683)
    command = ["measure", "secret.csv", "--column", "v", "--n-draws", "400", "--epsilon", "0.1"]
    ways = (["--plot", "picture.svg"], ["--json"], ["--universe", f"{name},Zwicky,none"])
    for more in ways:
        main([*command, *more])
        shown = capsys.readouterr()
        drawn = Path("picture.svg").read_text() if "--plot" in more else ""
        for secret in (name, "Zwicky", "317", "683"):
            assert secret not in shown.out + shown.err
            assert secret not in drawn.split("<metadata>")[0]
        assert "as private as the data" in shown.out
        main([*command, *more, "--public"])
        shown = capsys.readouterr()
        assert name in shown.out
        assert "317" in shown.out
        assert "declared public" in shown.out
    assert "not shown" not in shown.out
