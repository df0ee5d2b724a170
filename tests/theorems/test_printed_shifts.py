"""method="paper" is the theorem as printed: every law and guarantee, from the formulas afresh.

The oracle below is typed in from papers 2 and 4 and shares nothing with the library: for a law,
a guarantee and a smoothing it gives the shift s of the printed theorem, or None where the papers
print none (or one that is false).
"""

from __future__ import annotations

import json
from fractions import Fraction
from itertools import product

import pytest
from mpmath import cos, e, exp, expm1, log, mp, mpf, pi, sqrt

import smoothdp as sd
from smoothdp.claims.guarantees.guarantee import Guarantee
from smoothdp.cli import main
from smoothdp.errors import InvalidParameter
from smoothdp.exact.parameters.numbers import Real
from smoothdp.noise import (
    ArsinhNormal,
    Gaussian,
    GeneralizedCauchy,
    Laplace,
    LaplaceLogNormal,
    Log1pNormal,
    NoiseDistribution,
    PolyPlace,
    StudentT,
    UniformLogNormal,
)
from smoothdp.papers.polyplace.figures import deviation_row
from smoothdp.report.paper_deviations import paper_deviation

DIGITS = 60


def m(value: Real | int) -> mpf:
    assert isinstance(value, Fraction | int)
    value = Fraction(value)
    return mpf(value.numerator) / value.denominator


def printed_shift(law: NoiseDistribution, guarantee: Guarantee, t: Fraction) -> mpf | None:
    """Return the s of the printed theorem."""
    given = {name: m(value) for name, value in guarantee.parameters().items()}
    shape = next(iter(law.values().values()), Fraction(0))
    a, u = m(shape), m(t)
    delta = given.get("delta", mpf(0))
    is_pure = "epsilon" in given and delta == 0
    # Proposition 10 and Lemma 9.
    pure = given["epsilon"] if "epsilon" in given else sqrt(2 * given["rho"])
    concentrated = None
    if "rho" in given:
        concentrated = sqrt(2 * given["rho"])
    elif delta > 0:
        big = log(1 / delta)
        concentrated = sqrt(2) * (sqrt(big + given["epsilon"]) - sqrt(big))
    match law:
        case StudentT():
            # Theorem 31: min(x, alpha x^2 / 2) <= alpha rho for all alpha > 1.
            x = max(pure, given["rho"]) if "rho" in given else pure
            return 2 * sqrt(a) / (a + 1) * (x - (a + 1) * u)
        case GeneralizedCauchy():
            return pure / (a + 1) - u
        case PolyPlace():
            return pure / a if u <= pure / a * (1 + mpf(10) ** -50) else None
        case LaplaceLogNormal() | UniformLogNormal() | ArsinhNormal():
            if is_pure and u == 0:
                concentrated = pure
            if concentrated is None:
                return None
            if isinstance(law, ArsinhNormal):
                spent = sqrt(u * (u / a**2 + 1 / a + 2))
                return (concentrated - spent) / (2 / (3 * a) + a / 2)
            constant = exp(3 * a**2 / 2)
            if isinstance(law, UniformLogNormal):
                if shape**2 < 2:
                    return None
                constant *= sqrt(2 / (pi * a**2))
            return (concentrated - u / a) / constant
        case Laplace():
            if u == 0:
                return pure
            if "epsilon" not in given or not 0 < delta < e**-2:
                return None
            return pure - expm1(u) * log(1 / delta) + u
        case Gaussian():
            return concentrated if u == 0 else None
    return None


LAWS: list[NoiseDistribution] = [
    *(LaplaceLogNormal(x) for x in ("0.3", "0.9")),
    *(UniformLogNormal(x) for x in ("0.5", "1.41", "1.42", "1.5", "2")),
    *(ArsinhNormal(x) for x in ("0.4", "1.1547", "2")),
    *(StudentT(x) for x in ("0.7", "1", "3", "6.5")),
    *(GeneralizedCauchy(x) for x in ("1.5", "2", "4", "5.5")),
    *(PolyPlace(x) for x in ("1.5", "5", "10", "30")),
    Laplace(),
    Gaussian(),
    Log1pNormal(1),
]
GUARANTEES: list[Guarantee] = [
    sd.PureDP(1),
    sd.PureDP("0.3"),
    sd.PureDP(6),
    sd.ApproxDP(1, delta="1e-6"),
    sd.ApproxDP("2.5", delta="0.05"),
    sd.ApproxDP(1, delta="0.2"),
    sd.ApproxDP(1, delta=0),
    sd.ZCDP("1/2"),
    sd.ZCDP("0.02"),
    sd.ZCDP(8),
    sd.TruncatedCDP("1/2", omega=5),
    sd.TruncatedCDP(3, omega=2),
]


@pytest.mark.parametrize("t", ["0", "0.01", "0.1", "0.25"])
@pytest.mark.parametrize("guarantee", GUARANTEES, ids=repr)
def test_paper_is_the_theorem_as_printed(guarantee: Guarantee, t: str) -> None:
    with mp.workdps(DIGITS):
        for law in LAWS:
            expected = printed_shift(law, guarantee, Fraction(t))
            # 0 up to the digits that are kept.
            if expected is None or expected <= mpf(10) ** -50:
                with pytest.raises(InvalidParameter):
                    law.calibrate(guarantee, smoothing=t, method="paper")
                continue
            found = law.calibrate(guarantee, smoothing=t, method="paper")
            # Never above the theorem, and below it by less than 64 bits show.
            assert m(found.exact_shift) <= expected * (1 + mpf(10) ** -55), law
            assert m(found.exact_shift) >= expected * (1 - mpf(10) ** -18), law
            assert found.method == "paper"
            assert found.label == "proved"


@pytest.mark.parametrize(
    ("law", "guarantee", "printed", "closed"),
    [
        (StudentT(3), sd.PureDP(1), 1.925, 1.650),
        (StudentT(3), sd.ZCDP("1/2"), 1.925, 1.650),
        (UniformLogNormal("1.5"), sd.ZCDP("1/2"), 16.66, 9.04),
        (GeneralizedCauchy(4), sd.PureDP(1), 10.0, 3.256),
    ],
    ids=repr,
)
def test_printed_and_closed_scales_differ(
    law: NoiseDistribution, guarantee: Guarantee, printed: float, closed: float
) -> None:
    paper = law.calibrate(guarantee, smoothing="0.1", method="paper")
    ours = law.calibrate(guarantee, smoothing="0.1", method="closed_form")
    exact = law.calibrate(guarantee, smoothing="0.1")
    assert paper.noise_scale(1) == pytest.approx(printed, rel=5e-4)
    assert ours.noise_scale(1) == pytest.approx(closed, rel=5e-4)
    assert exact.shift > ours.shift > paper.shift
    assert ours.method == "closed_form"


def test_closed_form_is_never_below_print() -> None:
    for law, guarantee, t in product(LAWS, GUARANTEES, ("0.01", "0.1")):
        try:
            printed = law.calibrate(guarantee, smoothing=t, method="paper")
        except InvalidParameter:
            continue
        ours = law.calibrate(guarantee, smoothing=t, method="closed_form")
        assert ours.exact_shift >= printed.exact_shift


def test_a_false_theorem_gives_nothing_and_says_so() -> None:
    with pytest.raises(InvalidParameter, match=r"section 3\.5 of paper 2 is false") as caught:
        Gaussian().calibrate(sd.TruncatedCDP("1/2", omega=10), smoothing="0.01", method="paper")
    assert 'method="closed_form"' in str(caught.value)


def test_another_method_is_refused_by_name() -> None:
    with pytest.raises(InvalidParameter, match='"exact", "paper" or "closed_form"; got \'best\''):
        StudentT(3).calibrate(sd.PureDP(1), smoothing="0.1", method="best")  # type: ignore[arg-type]


# ---- everything that prints a theorem prints the same ---------------------------------------


def least_printed(family: type[NoiseDistribution], t: str) -> mpf | None:
    """Return the least printed deviation at epsilon = 1 over shapes, by a plain search."""
    is_student = family is StudentT

    def deviation(shape: mpf) -> mpf:
        if is_student:
            return sqrt(shape / (shape - 2))
        return 1 / sqrt(1 + 2 * cos(2 * pi / shape))

    low, high, best = mpf(2 if is_student else 3), mpf(1 / float(t)), None
    for _ in range(6):
        step = (high - low) / 50
        found = []
        for place in range(1, 51):
            shape = low + step * place
            law = family(Fraction(str(shape)))  # type: ignore[call-arg]
            s = printed_shift(law, sd.PureDP(1), Fraction(t))
            if s is not None and s > 0:
                found.append((deviation(shape) / s, shape))
        if not found:
            return None
        best, place = min(found)
        low, high = max(low, place - step), place + step
    return best


@pytest.mark.parametrize("t", ["0.01", "0.1", "0.2"])
def test_command_and_figure_agree(t: str, capsys: pytest.CaptureFixture[str]) -> None:
    main(["noise", "--epsilon", "1", "--smoothing", t, "--json"])
    rows = json.loads(capsys.readouterr().out)["laws"]
    command = {row["family"]: row["paper_standard_deviation"] for row in rows}
    figure = deviation_row(t)
    for family in (StudentT, GeneralizedCauchy):
        name = family.__name__
        least = least_printed(family, t)
        assert least is not None
        assert command[name] == pytest.approx(float(least), rel=1e-5)
        assert figure[f"{name}, paper"] == pytest.approx(float(least), rel=1e-5)
    theorem_8 = figure["PolyPlace, paper"]
    assert command["PolyPlace"] == pytest.approx(theorem_8, rel=1e-9)
    approximate = sd.ApproxDP(1, delta="1e-5")
    laplace = paper_deviation(Laplace, approximate, Fraction(t))
    assert figure["Laplace, paper 2"] == (float("inf") if laplace is None else laplace)
