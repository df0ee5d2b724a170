"""Pre-processing: the distributions of the features, from those of the records."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from numbers import Integral

from smoothdp.errors import InvalidParameter
from smoothdp.exact.parameters.numbers import exact_int

Vertices = Sequence[Sequence[Fraction]]
RecordFunction = Callable[[int], int] | Mapping[int, int] | Sequence[int]
"""A function of one record: atom number to atom number, as a function, mapping or list."""


def pushed_vertices(
    vertices: Vertices, record_function: RecordFunction, *, n_atoms: int | None = None
) -> list[list[Fraction]]:
    """Return the distributions of f(X) for X from each vertex (see `DataModel.push`).

    Mixtures of the vertices go to mixtures of these (proofs/smoothed-properties#2).

    Args:
        vertices: distributions over one universe, exactly.
        record_function: for each atom 0, 1, ... the atom it becomes.
        n_atoms: how many atoms the result is over, >= 2; without it, up to the largest that
            occurs.

    Raises:
        InvalidParameter: not a function of one atom: it has another number of values, or
            one that is not an atom number.

    >>> pushed_vertices([(Fraction("0.2"), Fraction("0.3"), Fraction("0.5"))], [0, 1, 1])
    [[Fraction(1, 5), Fraction(4, 5)]]
    """
    images = [
        _read_atom(value, atom)
        for atom, value in enumerate(_values(record_function, len(vertices[0])))
    ]
    size = max(images) + 1 if n_atoms is None else exact_int(n_atoms, name="n_atoms", minimum=2)
    if not max(images) < size or size < 2:
        raise InvalidParameter(
            expected=f"n_atoms above the largest atom, {max(images)}, and at least 2",
            got=f"n_atoms={size}",
            remedy="Raise n_atoms",
        )
    moved = []
    for vertex in vertices:
        masses = [Fraction(0)] * size
        for image, probability in zip(images, vertex, strict=True):
            masses[image] += probability
        moved.append(masses)
    return moved


def _values(record_function: RecordFunction, n_atoms: int) -> list[object]:
    """Return the image of every atom, or refuse what is not a function of one atom."""
    atoms = range(n_atoms)
    if isinstance(record_function, Mapping):
        if set(record_function) != set(atoms):
            raise _not_record_wise(f"a mapping of {sorted(map(str, record_function))}", n_atoms)
        return [record_function[atom] for atom in atoms]
    if callable(record_function):
        try:
            return [record_function(atom) for atom in atoms]
        except (TypeError, IndexError, KeyError, AttributeError) as error:
            raise _not_record_wise(
                f"a function that fails on one atom ({error})", n_atoms
            ) from None
    if isinstance(record_function, str) or not isinstance(record_function, Sequence):
        raise _not_record_wise(repr(record_function), n_atoms)
    if len(record_function) != n_atoms:
        raise _not_record_wise(f"a list of {len(record_function)}", n_atoms)
    return list(record_function)


def _read_atom(value: object, atom: int) -> int:
    if isinstance(value, Integral) and not isinstance(value, bool) and int(value) >= 0:
        return int(value)
    raise InvalidParameter(
        expected="a record function that takes an atom number to an atom number",
        got=f"{value!r} for atom {atom}",
        remedy="Functions of a whole database may spread one record over many and are refused",
    )


def _not_record_wise(got: str, n_atoms: int) -> InvalidParameter:
    return InvalidParameter(
        expected=f"a function of one record: an atom for each of 0, ..., {n_atoms - 1}",
        got=got,
        remedy="Functions of a whole database may spread one record over many and are refused",
    )
