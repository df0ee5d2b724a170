"""What is seen of a table: pictures, pages and notebooks hold what is published, and no markup."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from typing import Any

import pytest

import smoothdp as sd
from smoothdp.plots import plot_groups, save

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


@pytest.mark.parametrize("window", [None, 1, 5])
def test_words_beside_a_median_say_what_stands_in_its_place(window: int | None) -> None:
    """A window that a rule chooses is no median, and an interval is about that window."""
    pytest.importorskip("matplotlib")
    asked: dict[str, Any] = {
        "by": "k",
        "keys": ["a"],
        "statistics": {
            "middle": ("x", sd.queries.Median((0, 300), window=window)),
            "late": ("x", sd.queries.Quantile("0.9", bounds=(0, 300), window=window)),
        },
        "guarantee": sd.PureDP(1, neighbours="add_remove"),
    }
    data = {"k": ["a"] * 300, "x": list(range(300))}
    bare, barred = (sd.release_table(data, **asked, confidence=c) for c in (None, "0.95"))
    place = "in its place the mean of some values around it"
    for table in (bare, barred):
        for words in table.statistics.values():
            assert (place in words) is (window is None)
            assert ("(mean of" in words) is (window == 5)
    covers = "covers the statistic as described, without its noise, with probability at least 95%"
    assert covers in barred.text()
    assert covers in barred.to_html()
    assert covers in barred.to_dict()["intervals"]
    assert "interval" not in bare.text()
    assert bare.to_dict()["intervals"] is None
