"""Pre-processing: the model of the features, from the model of the records."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from numbers import Integral

from smoothdp.errors import InvalidParameter, explain
from smoothdp.exact.parameters.numbers import exact_int
from smoothdp.privacy.model import DataModel

RecordFunction = Callable[[int], int] | Mapping[int, int] | Sequence[int]
"""A function of one record: atom number to atom number, as a function, mapping or list."""


def push(
    model: DataModel, record_function: RecordFunction, *, n_atoms: int | None = None
) -> DataModel:
    """Return the model of f(X) for X from the model: f(pi) for every vertex pi.

    Smoothed DP of M over f(Pi) is smoothed DP of M after f over Pi, if f acts on each record
    by itself (Proposition 6 of paper 1, which leaves that out: f(x) = (x1, ..., x1) copies
    one record n times, and is refused here by its type). f must be fixed without the data.

    Source: Liu, Wang, Xia, Proposition 6, corrected.

    Args:
        record_function: for each atom 0, ..., model.n_atoms - 1 the atom it becomes.
        n_atoms: how many atoms the result is over, >= 2; without it, up to the largest that
            occurs. An atom that no record becomes has probability 0, which makes smoothed
            delta that of ordinary DP: name none.

    Raises:
        InvalidParameter: not a function of one atom: it has another number of values, or
            one that is not an atom number.

    >>> push(DataModel([("0.2", "0.3", "0.5")]), [0, 1, 1]).vertices
    ((Fraction(1, 5), Fraction(4, 5)),)
    """
    if not isinstance(model, DataModel):
        raise InvalidParameter(
            explain("model as a DataModel", f"{model!r}", "Build one with DataModel(vertices)")
        )
    images = [_read_atom(value, atom) for atom, value in enumerate(_values(record_function, model))]
    size = max(images) + 1 if n_atoms is None else exact_int(n_atoms, name="n_atoms", minimum=2)
    if not max(images) < size or size < 2:
        raise InvalidParameter(
            explain(
                f"n_atoms above the largest atom, {max(images)}, and at least 2",
                f"n_atoms={size}",
                "Raise n_atoms",
            )
        )
    vertices = []
    for vertex in model.vertices:
        pushed = [Fraction(0)] * size
        for image, probability in zip(images, vertex, strict=True):
            pushed[image] += probability
        vertices.append(pushed)
    return DataModel(vertices)


def _values(record_function: RecordFunction, model: DataModel) -> list[object]:
    """Return the image of every atom, or refuse what is not a function of one atom."""
    atoms = range(model.n_atoms)
    if isinstance(record_function, Mapping):
        if set(record_function) != set(atoms):
            raise _not_record_wise(f"a mapping of {sorted(map(str, record_function))}", model)
        return [record_function[atom] for atom in atoms]
    if callable(record_function):
        try:
            return [record_function(atom) for atom in atoms]
        except (TypeError, IndexError, KeyError, AttributeError) as error:
            raise _not_record_wise(f"a function that fails on one atom ({error})", model) from None
    if isinstance(record_function, str) or not isinstance(record_function, Sequence):
        raise _not_record_wise(repr(record_function), model)
    if len(record_function) != model.n_atoms:
        raise _not_record_wise(f"a list of {len(record_function)}", model)
    return list(record_function)


def _read_atom(value: object, atom: int) -> int:
    if isinstance(value, Integral) and not isinstance(value, bool) and int(value) >= 0:
        return int(value)
    raise InvalidParameter(
        explain(
            "a record function that takes an atom number to an atom number",
            f"{value!r} for atom {atom}",
            "Functions of a whole database may spread one record over many and are refused",
        )
    )


def _not_record_wise(got: str, model: DataModel) -> InvalidParameter:
    return InvalidParameter(
        explain(
            f"a function of one record: an atom for each of 0, ..., {model.n_atoms - 1}",
            got,
            "Functions of a whole database may spread one record over many and are refused",
        )
    )
