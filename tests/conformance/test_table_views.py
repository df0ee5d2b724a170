"""What is seen of a table: pictures, pages and notebooks hold what is published, and no markup."""

from __future__ import annotations

import json
import math
import re
from dataclasses import replace
from fractions import Fraction
from html import unescape
from html.parser import HTMLParser
from typing import Any

import pytest

import smoothdp as sd
from smoothdp.plots import plot_groups, save
from smoothdp.queries.private_size.padded_window import PaddedWindow
from smoothdp.tables.request import TableRequest
from smoothdp.tables.table_check import TableCheck, check_table
from smoothdp.tables.table_mechanism import TableMechanism

HOSTILE = ("<script>alert(1)</script>", '"><img src=x onerror=y>', "$\\frac{a}$", "&amp;", "a\nb")


class Tags(HTMLParser):
    """Collects tags and attributes."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen += [tag, *(name for name, _ in attrs)]


def hostile(**more: Any) -> Any:
    names = [f"{i}{text}" for i, text in enumerate(HOSTILE)]
    data = {names[0]: names * 30, "x": [float(i) for i in range(150)]}
    asked: dict[str, Any] = {
        "by": names[0],
        "keys": names,
        "counts": True,
        "confidence": "0.9",
        "statistics": {names[1]: ("x", sd.queries.Median((0, 200)))},
        "guarantee": sd.PureDP(4, neighbours="add_remove"),
        "rng": sd.SeededRandom(2),
        "label": {"name": "<b>name</b>", "purpose": "<i>", "who": "</table>"},
    }
    return sd.release_table(data, **{**asked, **more})


def tags(html: str) -> set[str]:
    parser = Tags()
    parser.feed(html)
    return set(parser.seen)


def test_nothing_in_a_page_is_markup_of_the_data() -> None:
    pytest.importorskip("matplotlib")
    table = hostile()
    for html in (table._repr_html_(), table.to_html()):
        assert not {"script", "img", "onerror", "b", "i"} & tags(html)
        assert "&lt;script&gt;" in html
    assert "NOT PRIVATE" in table.to_html()


@pytest.mark.parametrize(
    "make",
    [
        lambda: sd.PureDP(1),
        lambda: sd.ApproxDP(1, delta="1e-6").profile(),
        lambda: sd.compose([(sd.ZCDP("0.1"), 3)]),
        lambda: sd.release(range(99), sd.queries.Median((0, 99)), guarantee=sd.PureDP(9)),
        lambda: sd.release(
            range(999),
            sd.queries.Median((0, 999)),
            guarantee=sd.PureDP(9),
            confidence="0.9",
            label="<b>",
        ),
        lambda: sd.plan(sd.queries.Median((0, 9)), guarantee=sd.PureDP(1), n_records=99),
        lambda: sd.SmoothedDP(1, delta="1e-6", model=sd.DataModel([("1/2", "1/2")])),
    ],
    ids=["claim", "profile", "composition", "release", "interval", "plan", "smoothed"],
)
def test_notebooks_see_a_view(make: Any) -> None:
    value = make()
    html = value._repr_html_()
    assert {"table", "pre"} & tags(html)
    assert not {"b", "script"} & tags(html)
    assert len(re.sub("<[^>]*>", "", html)) > 30


def test_a_view_of_a_release_holds_the_release_alone() -> None:
    value = sd.release(range(99), sd.queries.Median((0, 99)), guarantee=sd.PureDP(9))
    assert f"{value.value:.10g}" in value._repr_html_()
    assert "adding" not in value._repr_html_()


def test_long_tables_are_cut_with_words() -> None:
    keys = [f"k{i}" for i in range(1100)]
    table = sd.release_table(
        {"k": ["k1"], "x": [1.0]},
        by="k",
        keys=keys,
        counts=True,
        statistics={},
        guarantee=sd.PureDP(1, neighbours="add_remove"),
        rng=sd.SeededRandom(1),
    )
    assert "and 1050 more rows" in table._repr_html_()
    assert len(json.loads(table.to_json())["columns"]["k"]) == 1100
    pytest.importorskip("matplotlib")
    assert "The first 1000 of 1100 rows" in table.to_html()
    axes = table.plot()
    assert len(axes.get_yticklabels()) == 40
    assert "of 1100 groups the 20 largest and 20 smallest" in axes.get_title()


def test_pictures(tmp_path: Any) -> None:
    pytest.importorskip("matplotlib")
    table = hostile()
    axes = table.plot()
    save(axes, tmp_path / "groups.svg")
    drawn = [label.get_text() for label in axes.get_yticklabels()]
    values = {key[0]: row["1" + HOSTILE[1]].value for key, row in table.groups.items()}
    order = sorted(values, key=values.__getitem__)
    assert [name.split()[0][:5] for name in drawn] == [key.split()[0][:5] for key in order]
    # A line for each interval, from low to high.
    assert len(axes.get_lines()) == len(values)
    assert table.plot("n").get_xlabel().startswith("n: number of rows")
    with pytest.raises(sd.errors.InvalidParameter, match="one of 'n'"):
        table.plot("nothing")
    with pytest.raises(sd.errors.InvalidParameter, match="at least one group"):
        plot_groups([], [], title="", x_label="")


def shops(**more: Any) -> Any:
    """Return a table whose unit is a person: 300 persons with two rows each, in 3 shops."""
    data = {
        "shop": [f"shop {i % 3}" for i in range(600)],
        "who": [i // 2 for i in range(600)],
        "x": [float(i % 50) for i in range(600)],
    }
    return sd.release_table(data, **{**SHOPS, "rng": sd.SeededRandom(2), **more})


SHOPS: dict[str, Any] = {
    "by": "shop",
    "keys": "private",
    "counts": True,
    "confidence": "0.9",
    "person": sd.Person("who", rows=2, groups=2),
    "statistics": {"middle": ("x", sd.queries.Median((0, 60)))},
    "guarantee": sd.ApproxDP(2, delta="1e-6", neighbours="add_remove"),
}


def seen(html: str) -> str:
    """Return the words of a page."""
    return unescape(re.sub(r"\s+", " ", re.sub("<[^>]*>", " ", html)))


def check(**more: Any) -> TableCheck:
    return check_table(TableRequest.read(**{**SHOPS, **more}))


@pytest.mark.parametrize("keys", ["private", ["shop 0", "shop 1"]], ids=["private", "public"])
def test_a_promise_about_a_person_is_said_of_a_person(keys: Any) -> None:
    """Wherever the promise stands: never of one row, never widened, with the ids and the caps."""
    pytest.importorskip("matplotlib")
    table, checked = replace(shops(keys=keys), is_private=True), check(keys=keys)
    said = {
        "check": checked.text(),
        "json": checked.to_dict()["guarantee"],
        "page": seen(table.to_html()),
        "text": table.text(),
        "notebook": seen(table._repr_html_()),
    }
    for place, words in said.items():
        assert "one row" not in words, place
        assert "A row is in one group" not in words, place
        assert "5 rows" not in words, place
        for part in ("one person's rows", "'who'", "at most 2 rows of each person"):
            assert part in words, (place, part)
    assert checked.to_dict()["person"]["column"] == "who"
    assert "costs one person" in said["check"]
    counted = "number of rows that are kept" if keys != "private" else "number of persons with rows"
    assert counted in said["check"]
    assert f"n: {counted}" in said["text"]


def test_a_promise_about_a_row_is_said_of_a_row() -> None:
    pytest.importorskip("matplotlib")
    page = seen(shops(person=None).to_html())
    assert "A row is in one group at most" in page
    assert "For someone with 5 rows" in page
    assert "adding or removing one row" in check(person=None).text()


def test_private_keys_are_an_output() -> None:
    pytest.importorskip("matplotlib")
    table = shops()
    page = seen(table.to_html())
    asked, _, rest = page.partition("Fixed before the data were read")[2].partition("What is pub")
    assert "rare ones are hidden" in asked
    assert "groups private keys by geometric noise" in asked
    assert "groups 3" not in asked
    assert "That 3 groups are shown is an output too" in rest
    assert "rare ones are hidden" in table.text()
    assert "rare ones are hidden" in table.to_dict()["selection"]
    public = shops(keys=["shop 0", "shop 1"])
    assert public.to_dict()["selection"] == ""
    page = seen(public.to_html())
    assert "groups 2 public ones, by shop" in page
    assert "an output too" not in page


PLAIN = "the median of the kept rows, whatever the rows are, not sampling error"
WINDOW = "not the plain median, nor sampling error"
STATISTICS: dict[str, Any] = {
    "middle": ("x", sd.queries.Median((0, 60))),
    "plain": ("x", sd.queries.Median((0, 60), window=1)),
    "tenth": ("x", sd.queries.Quantile("0.9", bounds=(0, 60))),
    "trimmed": ("x", sd.queries.TrimmedMean("0.1", bounds=(0, 60))),
    "total": ("x", sd.queries.Sum((0, 60))),
    "skewed": ("x", sd.queries.SkewedMean((0, 60))),
}


@pytest.mark.parametrize("guess", [None, 40, 5000, {"shop 0": 9, "shop 1": 12}])
@pytest.mark.parametrize("confidence", [None, "0.9"])
def test_the_words_of_a_median_name_its_window(guess: Any, confidence: Any) -> None:
    """The width in the words is the widest that the mechanism gives a group."""
    asked = {
        **SHOPS,
        "keys": ["shop 0", "shop 1"],
        "statistics": STATISTICS,
        "n_guess": guess,
        "confidence": confidence,
    }
    request = TableRequest.read(**asked)
    mechanism = TableMechanism.of(request)
    sizes = list(guess.values()) if isinstance(guess, dict) else [guess or 10**12]
    words = {one.name: request.words(one) for one in request.statistics}
    for place, name in ((0, "middle"), (2, "tenth")):
        tried = [*sizes, 1] if guess is None else sizes
        made = [mechanism.statistic(request.statistics[place], Fraction(n)) for n in tried]
        windows = [one.query for one in made if hasattr(one, "query")]
        assert ("drawn by ranks" in words[name]) is (len(windows) < len(made))
        if not windows:
            assert words[name].endswith("drawn by ranks; values clamped to [0, 60]")
            continue
        widths = {query.width for query in windows if isinstance(query, PaddedWindow)}
        is_open = guess is None or len(widths) > 1
        assert f"mean of {float(max(widths)):.4g} rank" in words[name]
        assert ("fewer in small groups" in words[name]) is is_open
        assert "in place of the" in words[name]
    assert words["plain"].startswith("median of 'x'; beyond")
    assert "as many as 80% of a guess of n" in words["trimmed"]


def test_what_intervals_cover_is_said() -> None:
    pytest.importorskip("matplotlib")
    asked = {"keys": ["shop 0", "shop 1"], "statistics": STATISTICS}
    table, checked = shops(**asked), check(**asked)
    for words in (table.text(), seen(table.to_html()), checked.text()):
        assert PLAIN in words
        assert WINDOW not in words
        assert "the number of rows that are kept, not sampling error" in words
    covers = table.to_dict()["covers"]
    assert list(covers) == ["n", *STATISTICS]
    assert covers == checked.to_dict()["covers"] == table.covers
    assert covers["middle"] == covers["plain"] == PLAIN
    assert covers["tenth"].startswith("the 0.9-quantile of the kept rows, whatever")
    windows = shops(covers="window", **asked)
    assert windows.covers["middle"] == f"the mean of that window of the kept rows, {WINDOW}"
    assert windows.covers["plain"] == PLAIN
    with pytest.raises(sd.errors.InvalidParameter, match='"quantile" or "window"'):
        shops(covers="population", **asked)
    assert "clipped at the height that was released first" in covers["skewed"]
    assert "not their trimmed mean" in covers["trimmed"]
    counted = {"with x": ("x", sd.queries.Count()), "sum": ("x", sd.queries.Sum((0, 9), grid=1))}
    of_column = shops(keys=["shop 0"], statistics=counted).covers
    assert of_column["with x"] == "the number of kept rows with a number in 'x', not sampling error"
    assert of_column["sum"].startswith("the sum of the values of the kept rows, each clamped to")
    assert "kept" not in shops(person=None, **asked).covers["middle"]
    without = shops(confidence=None, **asked)
    assert without.to_dict()["covers"] == {}
    assert "covers" not in without.text()


@pytest.mark.parametrize(
    "promise", [sd.PureDP(2, neighbours="add_remove"), sd.ZCDP("0.1", neighbours="add_remove")]
)
def test_counts_have_the_least_interval_of_their_noise(promise: sd.Guarantee) -> None:
    """Against sums of the noise's own weights, one by one."""
    asked = {"keys": ["shop 0", "shop 1", "none"], "person": None, "guarantee": promise}
    table = shops(**asked)
    if isinstance(promise, sd.PureDP):  # a tenth of epsilon
        weights = {z: math.exp(-abs(z) / 5) for z in range(-900, 901)}
    else:  # sigma^2 = 1 / (2 rho / 10)
        weights = {z: math.exp(-z * z / 100) for z in range(-900, 901)}
    total = sum(weights.values())
    reach = next(z for z in range(900) if sum(weights[i] for i in range(-z, z + 1)) >= 0.9 * total)
    for cells in table.groups.values():
        count = cells["n"].value
        assert cells["n"].interval == (max(0, count - reach), max(0, count + reach))
    columns = table.columns()
    assert {"n low", "n high"} < set(columns)
    assert columns["n high"][0] == columns["n"][0] + reach


def test_counts_of_private_keys_have_no_interval() -> None:
    pytest.importorskip("matplotlib")
    table = shops()
    assert "n low" not in table.columns()
    for words in (table.text(), seen(table.to_html()), table.covers["n"], check().text()):
        assert "no interval: a count that comes with a private key" in words


def test_no_result_takes_the_place_of_an_end() -> None:
    query = ("x", sd.queries.Median((0, 60)))
    for statistics in ({"n low": query}, {"a": query, "a high": query}):
        with pytest.raises(sd.errors.InvalidParameter, match="interval ends there"):
            shops(statistics=statistics)
        assert shops(statistics=statistics, confidence=None).groups


def test_a_page_contradicts_nothing_and_cites_what_is_published() -> None:
    pytest.importorskip("matplotlib")
    page = seen(shops(keys=["shop 0", "shop 1"]).page(command="smoothdp table").html())
    for words in ("whoever wrote", "vouches", "{own}", "n.d.", "N by group", "the same file"):
        assert words not in page
    assert "In no publication; it rests on: proofs/tables#1" in page
    assert "By group: n, from" in page
    assert "By shop: n, middle, with noise." in page
    assert "run again, it writes another table" in page
    assert "no command draws them again" in page
    assert "@book{dwork-roth" in page or "@article{dwork-roth" in page
    poll = sd.report.report_plan(
        sd.plan(sd.queries.Median((0, 9)), guarantee=sd.PureDP(1), n_records=99)
    )
    assert "the same command writes the same file" in seen(poll.html())
