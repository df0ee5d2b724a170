"""What a design is computed from, and what follows: the fields of its result."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from smoothdp.claims.domains import read_epsilon, read_inner_probability
from smoothdp.claims.model.model import DataModel
from smoothdp.design.cells import Stratum, read_strata
from smoothdp.design.facts import DesignFacts, Merge, StratumDesign, sorted_merges
from smoothdp.design.largest_draws import CellsQuestion
from smoothdp.design.model_rate import model_facts
from smoothdp.design.noise_option import noise_options, rates_in_words
from smoothdp.design.sampling_errors import sampling_error
from smoothdp.design.shared_rate import SharedRate, shared_rate
from smoothdp.errors import InvalidParameter
from smoothdp.exact.logspace.log_sums import largest
from smoothdp.exact.parameters.numbers import Parameter, exact_int

Counts = Mapping[str, int] | Sequence[int] | Mapping[str, Mapping[str, int]]
Strata = Mapping[str, str] | Sequence[str]
_LADDER = (2, 5, 10, 50, 100, 500, 1000)


def find_design(
    counts_or_model: Counts | DataModel,
    *,
    epsilon: Parameter,
    delta: Parameter,
    n_records: int | None = None,
    strata: Strata | None = None,
    merge: Iterable[int] | None = None,
    categories: Sequence[str] | None = None,
) -> DesignFacts:
    """Return the fields of a design; the arguments are those of `rate_design`."""
    exact, target = read_epsilon(epsilon), read_inner_probability(delta)
    if isinstance(counts_or_model, DataModel):
        if strata is not None:
            raise InvalidParameter(
                expected="strata with counts",
                got="strata with a model",
                remedy="Leave strata out, or design each stratum by its model",
            )
        return model_facts(
            counts_or_model,
            epsilon=exact,
            target=target,
            n_records=n_records,
            merge=sorted(_read_merge(merge, counts_or_model.n_atoms, default=())),
            categories=categories,
        )
    if categories is not None:
        raise InvalidParameter(
            expected="categories with a model",
            got="categories with counts",
            remedy="Give counts by label: {label: records}",
        )
    read = read_strata(counts_or_model, strata)
    total = sum(one.n_records for one in read)
    if n_records is not None and exact_int(n_records, name="n_records", minimum=2) != total:
        raise InvalidParameter(
            expected=f"n_records={total}, the sum of the counts",
            got=f"n_records={n_records}",
            remedy="Leave n_records out, or correct the counts",
        )
    most = max(len(one.cells) for one in read)
    best = shared_rate(read, epsilon=exact, target=target)
    merges, finer = [], best
    for k in sorted(_read_merge(merge, most, default=_LADDER)):
        finer = shared_rate(
            [one.merged(k) for one in read], epsilon=exact, target=target, finer=finer
        )
        merges.append(_merged(read, k, finer))
    parts = tuple(
        StratumDesign(
            name=one.name,
            n_records=one.n_records,
            n_draws=draws,
            largest_draws=alone.n_draws,
            undecided=alone.undecided,
            log_delta=CellsQuestion(one, exact).delta(draws),
            binding=one.binding,
        )
        for one, alone, draws in zip(best.strata, best.largest, best.draws, strict=True)
    )
    return DesignFacts(
        epsilon=exact,
        target=target,
        n_records=total,
        n_draws=sum(best.draws),
        rate=best.rate,
        log_delta=largest([part.log_delta for part in parts]),
        is_largest=any(not alone.undecided for _, alone in best.deciding),
        binding=best.binding,
        merges=sorted_merges(merges),
        noise=noise_options(
            rates_in_words(best.rate, [(one.n_cells, one.rate) for one in merges]),
            exact,
            [one.n_records for one in read],
        ),
        sampling_errors={
            cell.name: sampling_error(cell.count, n_records=part.n_records, n_draws=part.n_draws)
            for one, part in zip(read, parts, strict=True)
            for cell in one.cells
        },
        cells=tuple(cell for one in read for cell in one.cells),
        strata=parts if len(parts) > 1 or parts[0].name is not None else (),
        undecided=parts[0].undecided if len(parts) == 1 else range(0),
    )


def _merged(strata: Sequence[Stratum], n_cells: int, best: SharedRate) -> Merge:
    """Return what one cell of the so many smallest of each stratum buys (proofs/designer#3)."""
    gone = [
        cell
        for one in strata
        for cell in one.by_size[: min(n_cells, len(one.cells) - 1)]
        if min(n_cells, len(one.cells) - 1) > 1
    ]
    return Merge(
        n_cells=n_cells,
        labels=tuple(cell.name for cell in gone),
        n_merged=sum(cell.count for cell in gone),
        n_draws=sum(best.draws),
        rate=best.rate,
        binding=best.binding,
    )


def _read_merge(
    merge: Iterable[int] | None, n_cells: int, *, default: Sequence[int]
) -> tuple[int, ...]:
    """Return the numbers of cells to merge, or raise InvalidParameter."""
    if merge is None:
        return tuple(k for k in default if k <= max(2, n_cells // 2) and k < n_cells)
    if isinstance(merge, str | bytes) or not isinstance(merge, Iterable):
        raise InvalidParameter(
            expected="merge as whole numbers, such as (10, 50)",
            got=repr(merge),
            remedy="Give a tuple of numbers of cells",
        )
    read = tuple(dict.fromkeys(exact_int(k, name="a number in merge", minimum=2) for k in merge))
    for k in read:
        if k >= n_cells:
            raise InvalidParameter(
                expected=f"merge of fewer than {n_cells} cells, so that two are left",
                got=f"merge={k}",
                remedy="Merge fewer cells",
            )
    return read


def find_again(design: DesignFacts) -> DesignFacts:
    """Return what follows from the cells, or the model, and the target that a design states.

    Raises:
        InvalidParameter, InvalidData: they are no cells, no model or no target.
    """
    source: Counts | DataModel
    named, categories = any(cell.stratum is not None for cell in design.cells), None
    if design.model is not None:
        source, categories = design.model, [cell.label for cell in design.cells]
    elif named:
        strata: dict[str, dict[str, int]] = {}
        for cell in design.cells:
            strata.setdefault(str(cell.stratum), {})[cell.label] = cell.count
        source = strata
    else:
        source = {cell.label: cell.count for cell in design.cells}
    return find_design(
        source,
        epsilon=design.epsilon,
        delta=design.target,
        n_records=design.n_records,
        merge=[one.n_cells for one in design.merges],
        categories=categories,
    )
