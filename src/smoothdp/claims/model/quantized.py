"""Quantised normal and Laplace laws on a grid of 2^bits values (Definition 5 of paper 1)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from fractions import Fraction

from smoothdp.errors import InvalidParameter
from smoothdp.exact.balls.normal_cells import laplace_cells, normal_cells
from smoothdp.exact.parameters.numbers import Parameter, exact_fraction, exact_int

_MOST_BITS = 12
# The least probability is kept above about 2^-this: numbers of a few thousand digits.
_DEEPEST = 20_000

Vertices = tuple[tuple[Fraction, ...], ...]


def quantized_values(bits: int = 8) -> tuple[Fraction, ...]:
    """Return the grid: (i - 2^(bits - 1)) / 2^bits for i = 0, ..., 2^bits - 1.

    >>> values = quantized_values(8)
    >>> len(values), float(values[0]), float(values[-1])
    (256, -0.5, 0.49609375)
    """
    size = 1 << _read_bits(bits)
    return tuple(Fraction(2 * i - size, 2 * size) for i in range(size))


def quantized_normal(means: Iterable[Parameter], *, std: Parameter, bits: int = 8) -> Vertices:
    """Return the quantised normal law of each mean, over `quantized_values`.

    As in Definition 5 of paper 1: the value x stands for the cell (x, x + 2^-bits], so values
    are rounded down, and the law is cut to (-1/2, 1/2] and renormalised; nothing is moved
    from the tails into the ends. Probabilities are positive fractions within a relative
    2^-100 of the truth and sum to exactly 1.

    Source: Liu, Wang, Xia, Smoothed Differential Privacy, Definition 5 (Appendix G.1).

    Args:
        means: the means of the laws, at least one.
        std: the standard deviation before quantisation, > 0.
        bits: 1 to 12; the grid has 2^bits values.

    Raises:
        InvalidParameter: a parameter outside these domains, or a std so small beside the
            distance of a mean that a value has probability below about 2^-20000.

    >>> (law,) = quantized_normal([0], std="0.12")
    >>> len(law), sum(law), round(float(min(law)), 8)
    (256, Fraction(1, 1), 2.36e-06)
    """

    def depth(near: Fraction, far: Fraction, scale: Fraction) -> Fraction:
        return (far**2 - near**2) / scale**2

    return _vertices(means, std, bits, normal_cells, depth)


def quantized_laplace(means: Iterable[Parameter], *, std: Parameter, bits: int = 8) -> Vertices:
    """Return the quantised Laplace law of each mean (see `quantized_normal`).

    ``std`` is the standard deviation of the Laplace law; its scale is std / sqrt(2).

    Source: Liu, Wang, Xia, Smoothed Differential Privacy, Appendix G.1.

    >>> (law,) = quantized_laplace([0], std="0.12", bits=1)
    >>> law
    (Fraction(1, 2), Fraction(1, 2))
    """

    def depth(near: Fraction, far: Fraction, scale: Fraction) -> Fraction:
        return 3 * (far - near) / scale

    return _vertices(means, std, bits, laplace_cells, depth)


def _vertices(
    means: Iterable[Parameter],
    std: Parameter,
    bits: int,
    cells: Callable[..., tuple[Fraction, ...]],
    depth: Callable[[Fraction, Fraction, Fraction], Fraction],
) -> Vertices:
    scale = exact_fraction(std, name="std")
    if scale <= 0:
        raise InvalidParameter(
            expected="std > 0", got=f"std={std}", remedy="Give a standard deviation"
        )
    centres = _read_means(means)
    for centre in centres:
        near, far = max(Fraction(0), abs(centre) - Fraction(1, 2)), abs(centre) + Fraction(1, 2)
        if depth(near, far, scale) > _DEEPEST:
            raise InvalidParameter(
                expected="std that leaves every value a probability above 2^-20000",
                got=f"std={std} with mean {float(centre)}",
                remedy="Raise std or move the mean into [-1/2, 1/2]",
            )
    edges = [*quantized_values(bits), Fraction(1, 2)]
    return tuple(cells(edges, mean=centre, std=scale) for centre in centres)


def _read_bits(bits: int) -> int:
    value = exact_int(bits, name="bits", minimum=1)
    if value > _MOST_BITS:
        raise InvalidParameter(
            expected=f"bits <= {_MOST_BITS}", got=f"bits={bits}", remedy="Take a coarser grid"
        )
    return value


def _read_means(means: Iterable[Parameter]) -> tuple[Fraction, ...]:
    if isinstance(means, str | bytes) or not isinstance(means, Iterable):
        raise InvalidParameter(
            expected="means as a list of numbers", got=f"means={means!r}", remedy="Write [0, 0.2]"
        )
    centres = tuple(exact_fraction(mean, name="a mean") for mean in means)
    if not centres:
        raise InvalidParameter(
            expected="at least one mean", got="means=[]", remedy="Write [0, 0.2]"
        )
    return centres
