"""Parameters of a guarantee that needs noise: what is 0 is refused by every command alike."""

from __future__ import annotations

import click

import smoothdp as sd
from smoothdp.exact.parameters.numbers import exact_real, sign


def read_approximate(epsilon: str | None, delta: str | None) -> sd.ApproxDP:
    """Return the (epsilon, delta) that a protocol keeps."""
    missing = [n for n, v in (("--epsilon", epsilon), ("--delta", delta)) if v is None]
    if epsilon is None or delta is None:
        raise click.UsageError(
            "Expected --epsilon and --delta, which give the guarantee, (epsilon, delta)-DP; got no "
            f"{' and no '.join(missing)}. Give both, such as --epsilon 1 --delta 1e-6."
        )
    require_positive("--epsilon", epsilon)
    return sd.ApproxDP(epsilon, delta=delta)


def require_positive(option: str, text: str | None) -> None:
    """Raise UsageError unless a parameter of a guarantee that needs noise is above 0."""
    if text is not None and sign(exact_real(text, name=option.lstrip("-"))) <= 0:
        raise click.UsageError(
            f"Expected a positive {option}; got {text}. At 0 the output may say "
            "nothing of the data: give a number such as 1."
        )
