"""The page about a plan: figures for one guarantee, each with what it is, and error bars."""

from __future__ import annotations

import json
import re
from functools import cache

import pytest
from scipy import stats

import smoothdp as sd
from smoothdp.claims import Guarantee
from smoothdp.planning.views.plan_words import verdict_words
from smoothdp.report import html
from tests.checkers.windows import smooth

pytest.importorskip("matplotlib")

BOUNDS = (-60, 1440)
LAW = stats.lognorm(s=1, scale=20)


@cache
def made(query: sd.queries.Query, guarantee: Guarantee, confidence: str | None) -> sd.planning.Plan:
    return sd.plan(
        query,
        guarantee=guarantee,
        n_records=10_000,
        assuming=LAW,
        confidence=confidence,
        covers=None if confidence is None else "window",
    )


def words(text: str) -> str:
    """Return a page without pictures, cells separated by bars."""
    text = re.sub(r"<(svg|style).*?</\1>", "", text, flags=re.DOTALL)
    text = re.sub(r"</t[dh]>", "|", text).replace("&#x27;", "'")
    return re.sub(r"[ \n]*\n[ \n]*", "\n", re.sub(r"<[^>]+>", "", text))


def cell(text: str, name: str) -> float:
    """Return the figure beside a name in a table."""
    found = re.search(rf"^{re.escape(name)}\|([\d.e+-]+)\|", text, re.MULTILINE)
    assert found, name
    return float(found[1])


@pytest.mark.parametrize(
    "guarantee",
    [sd.PureDP(1), pytest.param(sd.ZCDP("0.5"), marks=pytest.mark.slow)],
    ids=repr,
)
def test_plan_theorem_and_bound_are_for_one_guarantee(guarantee: Guarantee) -> None:
    plan = made(sd.queries.Median(BOUNDS), guarantee, "0.95")
    rest = smooth(plan).calibration.guarantee
    assert guarantee.implies(rest) is False
    text = words(html.report_plan(plan).html())
    least = cell(text, "any noise whatever")
    assert least <= cell(text, "this plan")
    assert least <= cell(text, "theorem of the paper")
    assert f"all for {rest!r}" in text
    paper = smooth(plan).calibration.law.calibrate(
        rest, smoothing=smooth(plan).smoothing, method="paper"
    )
    assert cell(text, "theorem of the paper") == float(f"{paper.standard_deviation:.4g}")
    # What has no error bars does not compete.
    assert plan.rivals == ()
    assert "have no error bars: none is compared" in text
    # Without bars the rivals and their figures are on the page, and who wins.
    alone = made(sd.queries.Median(BOUNDS), guarantee, None)
    text = words(html.report_plan(alone).html())
    assert alone.rivals
    for rival in alone.rivals:
        assert f"\n{rival.name}|{rival.error:.4g}|" in text
    assert f"spend all of {guarantee!r} on the value" in text
    assert verdict_words(alone) in text


def test_error_bars_are_on_the_page() -> None:
    plan = made(sd.queries.Median(BOUNDS), sd.PureDP(1), "0.9")
    report = html.report_plan(plan)
    text = words(report.html())
    assert plan.half_width is not None
    assert f"error bars|90% confidence, +- {plan.half_width:.4g} on average" in text
    assert cell(text, "error bars") == float(f"{plan.half_width:.4g}")
    assert "the bars take of the guarantee|a share; the noise of the value keeps PureDP" in text
    assert report.summary["confidence"] == 0.9
    assert report.summary["half_width"] == plan.half_width
    # The bars tell something, too: the curves described are of both together.
    assert "value and error bars, the guarantee" in report.html()
    without = html.report_plan(made(sd.queries.Median(BOUNDS), sd.PureDP(1), None))
    assert "error bars" not in words(without.html())
    assert without.summary["confidence"] is None


def test_errors_say_what_they_are_and_what_was_asked() -> None:
    asked = sd.queries.TrimmedMean("0.05", bounds=BOUNDS)
    plan = sd.plan(
        asked, guarantee=sd.PureDP(1), n_records=10_000, assuming=LAW, may_change_trim=True
    )
    report = html.report_plan(plan)
    text = words(report.html())
    assert f"asked for|{plan.note()}|" in text
    assert report.summary["measured_against"] == "the population's mean"
    assert cell(text, "least") <= cell(text, "release")
    assert cell(text, "sampling") <= cell(text, "release")
    figure = r"([\d.]+)\|"
    row = rf"^the mean of .*t = [\d.]+\|{figure}[\d.]+\|[\d.]+\|{figure}\|$"
    rows = re.findall(row, text, re.M)
    assert len(rows) == sum(other.method == "window" for other in plan.runners_up)
    for other in plan.runners_up:
        assert other.name(plan.n_records) in text
    assert all(float(least) <= float(release) for release, least in rows)


def test_a_release_with_a_weak_delta_is_reported() -> None:
    """The sentence that release prints knows n; the page takes it, and says the same."""
    claim = sd.ApproxDP(4, delta="1/500")
    fields = {
        "value": 1.5,
        "guarantee": claim.sentence(n_records=1000),
        "mechanism": "a median",
        "n_records": 1000,
        "claim": json.loads(claim.to_json()),
    }
    assert claim.sentence(n_records=1000) in words(html.report_release(json.dumps(fields)).html())
    small = sd.ApproxDP(4, delta="1/5000")
    fields |= {"claim": json.loads(small.to_json()), "n_records": 6000}
    fields["guarantee"] = small.sentence(n_records=6000)
    assert "at least 1/n" in words(html.report_release(json.dumps(fields)).html())
    fields["guarantee"] = small.sentence(n_records=6000).replace("e^4", "e^1")
    with pytest.raises(sd.errors.InvalidData):
        html.report_release(json.dumps(fields))
