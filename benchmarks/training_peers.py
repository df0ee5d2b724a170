"""What a training run costs, by each accountant that can be installed: numbers, and seconds.

`python -m benchmarks.training_peers`; with `--all` also allocations that take a peer minutes. The
peers are of the extra `peers`. Ours is a bracket that is certified on both sides; theirs is what
each calls its upper end.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import Any

import smoothdp as sd

POISSON: list[tuple[str, int, int, int, str, str]] = [
    ("MNIST, 15 epochs", 60_000, 256, 3516, "1.1", "1e-5"),
    ("CIFAR, 100 epochs", 50_000, 512, 9766, "1.5", "1e-5"),
    ("a million records, 10 epochs", 1_000_000, 1000, 10_000, "0.8", "1e-7"),
]
ALLOCATED: list[tuple[int, int, str, str, bool]] = [
    (100, 1, "1", "1e-6", False),
    (1000, 1, "0.5", "1e-5", False),
    (1000, 1, "2", "1e-6", True),
    (234, 15, "1.1", "1e-5", True),
]
"""Steps of an epoch, epochs, noise, delta, and whether a peer takes minutes."""


def timed(call: Callable[[], Any]) -> tuple[Any, float]:
    """Return what a call returns, and its processor seconds; a peer that is missing says so."""
    start = time.process_time()
    try:
        found = call()
    except ImportError as error:
        return f"{error.name} is not installed", 0.0
    return found, time.process_time() - start


def ours(batch: int, records: int, noise: str, delta: str, **run: Any) -> tuple[float, float]:
    """Return both ends of epsilon of a run."""
    whole = sd.compose([sd.training(n_records=records, batch=batch, noise=noise, **run)])
    return whole.epsilon_bounds(delta)


def google_pld(rate: float, noise: float, steps: int, delta: float) -> float:
    """Return the epsilon of dp_accounting's privacy loss distributions, at its interval 1e-4."""
    pld = import_module("dp_accounting.pld.privacy_loss_distribution")
    one = pld.from_gaussian_mechanism(noise, sampling_prob=rate, value_discretization_interval=1e-4)
    return float(one.self_compose(steps).get_epsilon_for_delta(delta))


def google_rdp(rate: float, noise: float, steps: int, delta: float) -> float:
    """Return the epsilon of dp_accounting's Renyi accountant."""
    accounting = import_module("dp_accounting")
    rdp = import_module("dp_accounting.rdp")
    step = accounting.PoissonSampledDpEvent(rate, accounting.GaussianDpEvent(noise))
    accountant = rdp.RdpAccountant()
    accountant.compose(step, steps)
    return float(accountant.get_epsilon(delta))


def microsoft(rate: float, noise: float, steps: int, delta: float) -> float:
    """Return the upper end of prv-accountant, asked for an error of .01."""
    prv = import_module("prv_accountant")
    laws = import_module("prv_accountant.privacy_random_variables")
    law = laws.PoissonSubsampledGaussianMechanism(sampling_probability=rate, noise_multiplier=noise)
    accountant = prv.PRVAccountant(
        prvs=[law], max_self_compositions=[steps], eps_error=0.01, delta_error=delta / 1000
    )
    return float(accountant.compute_epsilon(delta=delta, num_self_compositions=[steps])[2])


def allocation(steps: int, epochs: int, noise: float, delta: float) -> tuple[float, float]:
    """Return the ends of PLD_accounting for a record in one step of each epoch."""
    api = import_module("PLD_accounting.random_allocation_api")
    upper, lower = api.gaussian_allocation_epsilon_range(
        delta=delta, sigma=noise, num_steps=steps, num_epochs=epochs
    )
    return float(lower), float(upper)


def shown(found: Any) -> str:
    """Return an end or a bracket with six digits, a word as it is."""
    if isinstance(found, tuple):
        return f"[{found[0]:.6f}, {found[1]:.6f}]"
    return found if isinstance(found, str) else f"{found:.6f}"


def line(who: str, call: Callable[[], Any]) -> None:
    """Print what an accountant finds, and its processor seconds."""
    found, seconds = timed(call)
    print(f"    {who:22} {shown(found):>22} {seconds:8.3f}")


PEERS: list[tuple[str, Callable[[float, float, int, float], float]]] = [
    ("dp_accounting, PLD", google_pld),
    ("dp_accounting, RDP", google_rdp),
    ("prv-accountant", microsoft),
]


def main() -> None:
    """Print Poisson runs beside three accountants, allocations beside one."""
    print("Poisson sampling: epsilon (processor seconds)")
    for name, records, batch, steps, noise, delta in POISSON:
        print(f"  {name}: batches of {batch} of {records:,}, {steps} steps, noise {noise}, {delta}")
        run = partial(ours, batch, records, noise, delta, steps=steps, sampling="poisson")
        line("smoothdp, both ends", run)
        for who, peer in PEERS:
            line(who, partial(peer, batch / records, float(noise), steps, float(delta)))
    print("\nBalls in bins (random allocation): both ends of epsilon (processor seconds)")
    for steps, epochs, noise, delta, is_slow in ALLOCATED:
        if is_slow and "--all" not in sys.argv:
            continue
        print(f"  {steps} steps an epoch, {epochs} epochs, noise {noise}, {delta}")
        how: dict[str, Any] = {"epochs": epochs, "sampling": "balls_in_bins"}
        line("smoothdp", partial(ours, 256, steps * 256, noise, delta, **how))
        line("PLD_accounting", partial(allocation, steps, epochs, float(noise), float(delta)))


if __name__ == "__main__":
    main()
