"""What is seen of a table: pictures, pages and notebooks hold what is published, and no markup."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from html import unescape
from html.parser import HTMLParser
from typing import Any

import pytest

import smoothdp as sd
from smoothdp.plots import plot_groups, save
from smoothdp.tables.request import TableRequest
from smoothdp.tables.table_check import TableCheck, check_table

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
