"""The accountant: speed, width of brackets and soundness, beside dp_accounting and prv."""

from __future__ import annotations

import contextlib
import math
import random
import time
from collections.abc import Callable
from fractions import Fraction
from importlib import import_module
from typing import Any

import numpy as np

import smoothdp as sd
from benchmarks.timing import measured_seconds
from smoothdp.claims.curves.profile import PrivacyProfile
from smoothdp.claims.excess import log_gaussian_square_excess
from smoothdp.claims.neighbours import Neighbours
from smoothdp.composition.composed_profile import epsilon_root
from smoothdp.composition.laws.law import GaussianLaw, LossLaws, known
from smoothdp.composition.laws.product import Product
from smoothdp.composition.routes.inversion import Inversion
from smoothdp.exact.balls.balls import log_bounds
from smoothdp.exact.parameters.numbers import exact_real
from smoothdp.exact.probabilities.windows import log_binomial_pmf
from smoothdp.training_runs.gaussian_step.subsampled_law import SubsampledGaussianLaw


def timed(call: Callable[[], Any], *, batches: int = 3) -> tuple[float, Any]:
    """Return the least processor time of a few calls, and the last result."""
    times = []
    for _ in range(batches):
        start = time.process_time()
        result = call()
        times.append(time.process_time() - start)
    return min(times), result


def line(what: str, seconds: float, found: str, reach: str, *, is_ours: bool = True) -> None:
    print(f"  {what:<52} {seconds * 1e3:>10.2f} ms  {found:<38} {reach}")
    if is_ours:
        measured_seconds("Composition", what, seconds)


def peer(name: str, call: Callable[[], str]) -> None:
    """Print a peer's result and time; a peer that is absent is said to be so."""
    start = time.process_time()
    try:
        found = call()
    except ImportError:
        print(f"  {name}: not installed, skipped")
        return
    except Exception as error:  # a peer's failure is a result here
        found = f"{type(error).__name__}: {str(error)[:60]}"
    line(name, time.process_time() - start, found, "", is_ours=False)


# ---- 1000 Gaussians -------------------------------------------------------------------


def gaussian_contour() -> Inversion:
    """A fresh general route for 1000 Gaussians of sigma = 40: nothing cached."""
    return Inversion(Product.of([(GaussianLaw(Fraction(1, 1600)), 1000)]), 1e-12)


def gaussians() -> None:
    print("\n1000-fold Gaussian, sigma = 40, by the general route (truth: closed form, balls)")
    square = Fraction(1000, 1600)
    for delta, epsilon in [
        ("1e-2", "1.7"),
        ("1e-6", "3.747"),
        ("1e-12", "5.6"),
        ("1e-50", "11.96"),
        ("1e-100", "16.99"),
        ("1e-300", "29.52"),
    ]:
        seconds, found = timed(lambda e=epsilon: gaussian_contour().log_bounds(float(e)), batches=9)  # type: ignore[misc]
        truth = log_gaussian_square_excess(square, Fraction(epsilon))
        inside = found.lower <= truth.upper and truth.lower <= found.upper
        width = f"width {found.upper - found.lower:.1e}, contains truth: {inside}"
        line(f"delta(epsilon = {epsilon}), about {delta}", seconds, width, "reach 1e-11, 10 ms")

        def both(target: str = delta) -> tuple[float, float]:
            contour, goal = gaussian_contour(), log_bounds(Fraction(target))
            upper = epsilon_root(lambda e: contour.log_bounds(float(e)).upper, goal.lower, side=1)
            lower = epsilon_root(lambda e: contour.log_bounds(float(e)).lower, goal.upper, side=-1)
            return lower, upper

        seconds, ends = timed(both)
        ok = (
            log_gaussian_square_excess(square, exact_real(ends[0], name="e")).upper
            >= log_bounds(Fraction(delta)).lower
            and log_gaussian_square_excess(square, exact_real(ends[1], name="e")).lower
            <= log_bounds(Fraction(delta)).upper
        )
        width = f"width {ends[1] - ends[0]:.1e}, contains truth: {ok}"
        line(f"epsilon(delta = {delta}), both ends", seconds, width, "reach 20 ms")

    def google() -> str:
        pld = import_module("dp_accounting.pld.privacy_loss_distribution")

        whole = pld.from_gaussian_mechanism(40.0, value_discretization_interval=1e-4)
        whole = whole.self_compose(1000)
        found = []
        for epsilon in ("3.747", "5.6", "5.9", "6.5"):
            truth = log_gaussian_square_excess(square, Fraction(epsilon)).upper
            ratio = whole.get_delta_for_epsilon(float(epsilon)) / math.exp(truth)
            found.append(f"{math.exp(truth):.0e}: x{ratio:.4g}")
        return "its delta over the truth at " + ", ".join(found)

    def google_epsilon() -> str:
        pld = import_module("dp_accounting.pld.privacy_loss_distribution")

        whole = pld.from_gaussian_mechanism(40.0, value_discretization_interval=1e-4)
        whole = whole.self_compose(1000)
        found = []
        for delta in (1e-6, 1e-12, 1e-13, 1e-15):
            true = epsilon_root(
                lambda e: log_gaussian_square_excess(square, e).upper, math.log(delta), side=1
            )
            found.append(f"{delta:.0e}: {whole.get_epsilon_for_delta(delta):.6g} (true {true:.6g})")
        return "its epsilon at " + ", ".join(found)

    def microsoft() -> str:
        prv = import_module("prv_accountant")
        variables = import_module("prv_accountant.privacy_random_variables")
        accountant = prv.PRVAccountant(
            prvs=[variables.GaussianMechanism(noise_multiplier=40.0)],
            max_self_compositions=[1000],
            eps_error=0.01,
            delta_error=1e-14,
        )
        low, _, high = accountant.compute_epsilon(delta=1e-13, num_self_compositions=[1000])
        true = epsilon_root(
            lambda e: log_gaussian_square_excess(square, e).upper, math.log(1e-13), side=1
        )
        return f"[{low:.5f}, {high:.5f}] (true {true:.5f})"

    peer("dp_accounting, interval 1e-4, delta", google)
    peer("dp_accounting, interval 1e-4, epsilon", google_epsilon)
    peer("prv-accountant at delta = 1e-13", microsoft)


# ---- atoms ----------------------------------------------------------------------------


def binomial_shift(n: int, *, deviations: float = 30.0) -> sd.Pair:
    """X + 1 against X, X ~ Bin(n, 1/2), within a window; the tails, by Hoeffding, at infinity."""
    reach = min(n // 2, int(deviations * math.sqrt(n) / 2))
    k = np.arange(n // 2 - reach, n // 2 + reach + 1)
    window = log_binomial_pmf(k, n, Fraction(1, 2))
    tail, nothing = -2.0 * reach * reach / n + math.log(2), -math.inf
    log_p = np.concatenate([[nothing], window.log_values, [tail, nothing]])
    log_q = np.concatenate([window.log_values, [nothing], [nothing, tail]])
    return sd.Pair(log_p, log_q, error=float(window.error.max()))


def shifts() -> None:
    print("\n1000-fold shift of Bin(1e5, 1/2) by one")
    pair = binomial_shift(100_000)
    for epsilon, about in (("0.9", "2e-7"), ("2", "4e-25")):
        seconds, found = timed(
            lambda e=epsilon: sd.compose([(pair, 1000)], tolerance="1e-5").log_delta_bounds(  # type: ignore[misc]
                Fraction(e)
            )
        )
        width = f"width {found.upper - found.lower:.1e}"
        line(f"delta(epsilon = {epsilon}), about {about}", seconds, width, "reach 1e-5, 0.7 s")

    def google() -> str:
        pld = import_module("dp_accounting.pld.privacy_loss_distribution")

        x = np.arange(100_002)
        law = log_binomial_pmf(x, 100_000, Fraction(1, 2)).log_values
        lower = dict(enumerate(np.concatenate([[-np.inf], law[:-1]])))
        upper = dict(enumerate(law))
        found = []
        for pessimistic in (True, False):
            whole = pld.from_two_probability_mass_functions(
                upper, lower, pessimistic_estimate=pessimistic, value_discretization_interval=1e-4
            ).self_compose(1000)
            found.append(whole.get_epsilon_for_delta(2e-7))
        return f"epsilon in [{found[1]:.5f}, {found[0]:.5f}]"

    peer("dp_accounting, interval 1e-4, both estimates", google)


# ---- model training -------------------------------------------------------------------


class OneWay:
    """One direction of the Poisson-subsampled Gaussian."""

    def __init__(self, view: str) -> None:
        self.view = view

    def loss_laws(self) -> LossLaws:
        law = SubsampledGaussianLaw(Fraction(1, 100), Fraction(1), self.view)  # type: ignore[arg-type]
        return LossLaws(Neighbours.ADD_REMOVE, known(law))

    def profile(self) -> PrivacyProfile:
        return sd.SubsampledGaussian("0.01", noise_multiplier=1).profile()


def training() -> None:
    print("\nPoisson-subsampled Gaussian, q = 0.01, sigma = 1, 10,000-fold")
    for epsilon in ("4", "8.5", "30"):
        step = sd.SubsampledGaussian("0.01", noise_multiplier=1)
        seconds, found = timed(
            lambda e=epsilon, s=step: sd.compose([(s, 10_000)]).log_delta_bounds(Fraction(e))  # type: ignore[misc]
        )
        width = f"width {found.upper - found.lower:.1e}, ln delta {found.upper:.4f}"
        line(f"both directions, epsilon = {epsilon}", seconds, width, "reach 1e-8, 0.7 s")
    for view in ("mixture", "base"):
        seconds, found = timed(
            lambda v=view: sd.compose([(OneWay(v), 10_000)]).log_delta_bounds(Fraction("8.5"))  # type: ignore[misc]
        )
        width = f"width {found.upper - found.lower:.1e}, delta {math.exp(found.upper):.4g}"
        line(f"{view} first alone, epsilon = 8.5", seconds, width, "")
    composed = sd.compose([(sd.SubsampledGaussian("0.01", noise_multiplier=1), 10_000)])
    start = time.process_time()
    ends = composed.epsilon_bounds("1e-6")
    line("epsilon(1e-6), both ends", time.process_time() - start, f"{ends[0]:.12f}", "")

    def google() -> str:
        pld = import_module("dp_accounting.pld.privacy_loss_distribution")

        whole = pld.from_gaussian_mechanism(
            1.0, sampling_prob=0.01, value_discretization_interval=1e-4
        ).self_compose(10_000)
        return f"delta(8.5) {whole.get_delta_for_epsilon(8.5):.4g}"

    peer("dp_accounting, interval 1e-4", google)


def few_steps() -> None:
    print("\n100 steps of training, q = 0.01")
    for noise in ("1", "2", "5"):
        items = [(sd.SubsampledGaussian("0.01", noise_multiplier=noise), 100)]
        seconds, ends = timed(lambda i=items: sd.compose(i).epsilon_bounds("1e-6"))  # type: ignore[misc]
        width = f"{ends[1]:.9f}, width {ends[1] - ends[0]:.1e}"
        line(f"sigma = {noise}, epsilon(1e-6), both ends", seconds, width, "reach 1e-6, 1 s")
        seconds, found = timed(lambda i=items: sd.compose(i).log_delta_bounds(Fraction(2)))  # type: ignore[misc]
        width = f"width {found.upper - found.lower:.1e}, ln delta {found.upper:.2f}"
        line(f"sigma = {noise}, delta(2)", seconds, width, "")

    def google() -> str:
        pld = import_module("dp_accounting.pld.privacy_loss_distribution")
        found = []
        for noise in (1.0, 2.0, 5.0):
            step = pld.from_gaussian_mechanism(
                noise, sampling_prob=0.01, value_discretization_interval=1e-4
            )
            found.append(f"{step.self_compose(100).get_epsilon_for_delta(1e-6):.6f}")
        return "epsilon(1e-6) " + ", ".join(found)

    peer("dp_accounting, interval 1e-4", google)


# ---- a thousand different mechanisms ---------------------------------------------------


def eight_atoms(rng: np.random.Generator) -> sd.Pair:
    p = rng.dirichlet(np.ones(8) * 20)
    q = p * np.exp(rng.normal(0, 0.1, 8))
    q /= q.sum()
    return sd.Pair(np.log(p), np.log(q))


def thousand() -> None:
    print("\n1000 different mechanisms (laws made anew: symmetrising is part of the time)")
    draw, rng = random.Random(5), np.random.default_rng(5)
    responses = [sd.PureDP(Fraction(draw.randint(10, 200), 1000)) for _ in range(250)]
    gaussians = [sd.GaussianDP(Fraction(draw.randint(5, 60), 1000)) for _ in range(250)]
    shifted = [binomial_shift(draw.randint(2000, 20_000), deviations=10) for _ in range(250)]
    pairs = [eight_atoms(rng) for _ in range(250)]
    more = [sd.PureDP(Fraction(10_000 + 37 * i, 1_000_000)) for i in range(1000)]
    for what, items, reach in (
        ("with Gaussians", [*responses, *gaussians, *shifted, *pairs], "reach 1e-9, 10 s"),
        ("atoms only: responses, shifts, pairs", [*responses, *shifted, *pairs], "reach 1e-4, 5 s"),
        ("1000 randomised responses", more, "reach 1e-4, 5 s"),
    ):
        for epsilon in ("6", "12"):
            seconds, found = timed(
                lambda i=items, e=epsilon: sd.compose(i).log_delta_bounds(Fraction(e)),  # type: ignore[misc]
                batches=1,
            )
            width = f"width {found.upper - found.lower:.1e}, ln delta {found.upper:.3f}"
            line(f"{what}, epsilon = {epsilon}", seconds, width, reach)


# ---- what people ask: ratios to dp_accounting in one run ---------------------------------


def step(rate: str, noise: str, sampling: str = "poisson") -> sd.SubsampledGaussian:
    return sd.SubsampledGaussian(Fraction(rate), noise_multiplier=noise, sampling=sampling)  # type: ignore[arg-type]


def google_epsilon_of(steps: list[tuple[float, float, int]], delta: float) -> float:
    """Its upper end of epsilon for (sigma, rate, count), at its own interval of 1e-4."""
    pld = import_module("dp_accounting.pld.privacy_loss_distribution")
    whole: Any = None
    for sigma, rate, count in steps:
        one = pld.from_gaussian_mechanism(
            sigma, sampling_prob=rate, value_discretization_interval=1e-4
        ).self_compose(count)
        whole = one if whole is None else whole.compose(one)
    return float(whole.get_epsilon_for_delta(delta))


def google_laplace(delta: float) -> float:
    pld = import_module("dp_accounting.pld.privacy_loss_distribution")
    whole: Any = None
    for i in range(1000):
        one = pld.from_laplace_mechanism(40 + i / 10, value_discretization_interval=1e-4)
        whole = one if whole is None else whole.compose(one)
    return float(whole.get_epsilon_for_delta(delta))


def questions() -> None:
    print("\nWhat people ask: both ends certified, beside dp_accounting's one end, in one run")
    mnist, cifar = ("256/60000", "1.1", 3516), ("512/50000", "1.5", 9766)

    def run(rate: str, noise: str, count: int) -> Callable[[], tuple[float, float]]:
        return lambda: sd.compose([(step(rate, noise), count)]).epsilon_bounds("1e-5")

    def sigmas() -> tuple[float, float]:
        items = [(step("1/100", str(Fraction(100 + i, 100))), 10) for i in range(100)]
        return sd.compose(items).epsilon_bounds("1e-6")

    def scales() -> tuple[float, float]:
        items = [sd.LaplaceMechanism(Fraction(400 + i, 10)) for i in range(1000)]
        return sd.compose(items).epsilon_bounds("1e-6")

    def deltas() -> tuple[float, float]:
        whole = sd.compose([(step("256/60000", "1.1"), 3516)])
        return [whole.epsilon_bounds(Fraction(4, 5) ** i / 10**4) for i in range(50)][-1]

    def few(count: int, noise: str) -> Callable[[], tuple[float, float]]:
        return lambda: sd.compose(
            [(step("1/100", noise, "without_replacement"), count)]
        ).epsilon_bounds("1e-6")

    def rare() -> tuple[float, float]:
        return sd.compose([(step("1/1000000", "0.6"), 10**6)]).epsilon_bounds("1e-8")

    rows: list[tuple[str, str, Callable[[], tuple[float, float]], Callable[[], float] | None]] = [
        (
            "MNIST run, epsilon(1e-5)",
            "30 ms",
            run(*mnist),
            lambda: google_epsilon_of([(1.1, 256 / 60000, 3516)], 1e-5),
        ),
        (
            "CIFAR run, epsilon(1e-5)",
            "30 ms",
            run(*cifar),
            lambda: google_epsilon_of([(1.5, 512 / 50000, 9766)], 1e-5),
        ),
        (
            "100 sigmas, 10 steps each, epsilon(1e-6)",
            "1 s",
            sigmas,
            lambda: google_epsilon_of([(1 + i / 100, 0.01, 10) for i in range(100)], 1e-6),
        ),
        ("1000 Laplace scales, epsilon(1e-6)", "1 s", scales, lambda: google_laplace(1e-6)),
        ("50 deltas of the MNIST run", "3 times one", deltas, None),
        *(
            (
                f"{count} steps without replacement, sigma {noise}",
                "0.3 s",
                few(count, noise),
                None,
            )
            for count in (2, 5, 10)
            for noise in ("1", "5")
        ),
        ("q = 1e-6, sigma = .6, 1e6 steps, epsilon(1e-8)", "5 s", rare, None),
    ]
    with contextlib.suppress(ImportError):
        google_epsilon_of([(1.0, 0.5, 1)], 1e-5)
    for what, reach, ours, theirs in rows:
        seconds, ends = timed(ours, batches=2)
        line(what, seconds, f"[{ends[0]:.10f}, {ends[1]:.10f}]", f"reach {reach}")
        if theirs is None:
            continue
        try:
            slow, found = timed(theirs, batches=1)
        except ImportError:
            print("  dp_accounting: not installed, skipped")
            continue
        line("  dp_accounting", slow, f"{found:.10f}", f"x{slow / seconds:.1f}", is_ours=False)

    def calibrated() -> sd.Calibrated:
        def make(noise: float) -> list[Any]:
            rate = Fraction(256, 60000)
            return [(sd.SubsampledGaussian(rate, noise_multiplier=noise), 3516)]

        return sd.calibrate(make, (1, "1e-5"))

    seconds, found = timed(calibrated)
    line("calibrate the MNIST run to (1, 1e-5)", seconds, f"{found.value:.12f}", "reach 0.2 s")


def main() -> None:
    """Print the tables of the accountant."""
    questions()
    gaussians()
    shifts()
    training()
    few_steps()
    thousand()


if __name__ == "__main__":
    main()
