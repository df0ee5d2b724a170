"""The epsilon of a delta: nine evaluations that are kept, one at each answer, and never too small.

The truth is an exact table of delta(x), on both sides of each answer.
"""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

import smoothdp as sd
from smoothdp.cli import main
from smoothdp.smoothed.largest_expectation import Question
from smoothdp.smoothed.several_epsilons import least_epsilon

MODELS: dict[str, list[tuple[str, ...]]] = {
    "one law": [("1/5", "3/10", "1/2")],
    "two laws": [("1/5", "3/10", "1/2"), ("2/5", "1/5", "2/5")],
    "two values": [("3/10", "7/10"), ("3/5", "2/5")],
}


def counted(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Every evaluation from now on, by its epsilon."""
    seen: list[float] = []
    plain = Question.at

    def at(self: Question, epsilon: object, **options: object) -> object:
        seen.append(float(epsilon))  # type: ignore[arg-type]
        return plain(self, epsilon, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(Question, "at", at)
    return seen


@pytest.mark.parametrize("name", MODELS)
def test_never_too_small_and_close(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    mechanism, model = sd.SamplingHistogram(30, n_draws=15), sd.DataModel(MODELS[name])
    result = sd.smoothed_delta(mechanism, model, epsilon=1)
    seen = counted(monkeypatch)
    for place, delta in enumerate(["0.06", "0.05", "0.1"]):
        del seen[:]
        found = result.epsilon(delta)
        # Nine knots and one, then one; a delta below the last knot takes a doubling more.
        assert len(seen) <= (11 if place == 0 else 2), seen
        # delta falls with epsilon: the least one lies between one that misses and one that meets.
        missing, meeting = (found - 1e-3) / 1.03, found / (1 - 1e-5)
        below, at_found, above = result.at_epsilons([missing, found, meeting])
        assert below.delta > float(delta) >= above.delta
        assert at_found.lower <= float(delta)


def test_shared_between_results(monkeypatch: pytest.MonkeyPatch) -> None:
    mechanism, model = sd.SamplingHistogram(30, n_draws=15), sd.DataModel(MODELS["one law"])
    result = sd.smoothed_delta(mechanism, model, epsilon=1)
    first = result.epsilon("0.05")
    (other,) = result.at_epsilons(["0.7"])
    seen = counted(monkeypatch)
    assert other.epsilon("0.05") == pytest.approx(first, rel=0.02)
    assert len(seen) == 1


@pytest.mark.parametrize("bumps", [0.0, 0.3])
@pytest.mark.parametrize("depth", [0.5, 3.0, 40.0, 3000.0])
def test_any_convex_curve_with_bumps(depth: float, bumps: float) -> None:
    """Brackets are no smooth curve: what is returned is proved whatever they are."""

    def truth(epsilon: float) -> float:
        return -depth * epsilon - 0.2 * epsilon * math.sqrt(epsilon) * depth

    def log_upper(epsilon: float) -> float:
        return min(0.0, truth(epsilon) + bumps * (1 + math.sin(1e4 * epsilon)) / 2)

    for target in (-0.3, -2.0, -25.0, *((-900.0,) if depth > 1 else ())):
        knots: dict[float, float] = {}
        found = least_epsilon(log_upper, target, (0.5, log_upper(0.5)), knots)
        assert truth(found) <= target
        assert len(knots) <= 20
        again = least_epsilon(log_upper, target, (0.5, log_upper(0.5)), knots)
        assert again == found


@pytest.mark.parametrize("target", [0.8, 0.5, 0.21, 0.05])
def test_a_curve_that_is_its_own_chord(target: float) -> None:
    """delta = .9 - .5 (E - 1), and .001 at least: no chord may promise more than that."""

    def truth(epsilon: float) -> float:
        return max(0.001, 0.9 - 0.5 * math.expm1(min(epsilon, 5.0)))

    for first in (0.3, 0.9, 2.0):
        found = least_epsilon(
            lambda epsilon: math.log(truth(epsilon)), math.log(target), (first, 0.0), {}
        )
        assert truth(found) <= target * (1 + 1e-12)
        # Beyond the bend the curve is no line, and less close.
        assert truth(found) >= target * 0.97 or target < 0.3


def test_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = tmp_path / "units.csv"
    model.write_text("unit,a,b,c\nWest,20,30,50\n")
    command = ["measure", "--model", str(model), "--n", "30", "--n-draws", "15", "--epsilon", "1"]
    main([*command, "--at-delta", "0.05,0.06", "--json"])
    found = json.loads(capsys.readouterr().out)["epsilon_at_delta"]
    result = sd.smoothed_delta(
        sd.SamplingHistogram(30, n_draws=15), sd.DataModel(MODELS["one law"]), epsilon=1
    )
    for delta, epsilon in found.items():
        (there,) = result.at_epsilons([epsilon])
        assert there.lower <= float(delta)
        assert epsilon == pytest.approx(result.epsilon(delta), rel=1e-5)
    main([*command, "--at-delta", "0.05"])
    assert "has smoothed delta at most 0.05 (proved)" in capsys.readouterr().out
