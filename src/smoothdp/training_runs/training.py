"""`training`: what a training run costs, by how it samples."""

from __future__ import annotations

from smoothdp.claims.neighbours import Neighbours
from smoothdp.exact.parameters.numbers import Parameter
from smoothdp.training_runs.settings import Sampling, read_settings
from smoothdp.training_runs.training_run import TrainingRun


def training(
    *,
    n_records: int,
    batch: Parameter,
    noise: Parameter,
    sampling: Sampling,
    epochs: Parameter | None = None,
    steps: int | None = None,
    max_batch: int | None = None,
    bands: int | None = None,
    participations: int | None = None,
    choices: int | None = None,
    column_norm: Parameter = 1,
    neighbours: Neighbours | str | None = None,
) -> TrainingRun:
    """Return a training run (DP-SGD, DP-FTRL) as an item of the accountant.

    Each step clips one vector a record to the clipping norm, sums them over a batch and adds
    normal noise. What it costs depends on how batches are drawn, by large factors: `sampling` has
    no default, and must be what the trainer does. Check its loader, not its documentation.

    "poisson": each record by its own coin, with probability batch / n_records.
    "truncated_poisson": the same, and of more than ``max_batch`` a uniform ``max_batch`` are used.
    "fixed", "fixed_with_replacement": exactly ``batch`` records, drawn anew for each step.
    "balls_in_bins": each record joins one step of each epoch, drawn uniformly for each record by
    itself, and anew for each epoch; with ``choices`` = k, a uniform k of the steps of an epoch.
    "shuffled": batches cut from a shuffled list; no amplification is counted.
    "banded", "ftrl": correlated noise by a matrix mechanism.

    The figures hold under the conditions that `TrainingRun.conditions` lists: mainly that nobody
    learns who is in a batch, nor its size where that is random; that the coins depend on neither
    data nor outputs; and that nothing is divided by the size that a batch turned out to have.

    Args:
        n_records: of the data. Under add_remove neighbours a number that is declared; with
            "truncated_poisson" it must bound the true number.
        batch: records in a batch; on average where the size is random.
        noise: standard deviation of the noise over the clipping norm, > 0 (Opacus:
            noise_multiplier), under any neighbours: replace_one doubles the shift inside.
        sampling: see above.
        epochs, steps: one of them; steps = ceil(epochs n_records / batch). Where passes over the
            data count, those of a loader that drops a smaller last batch are, if steps are given.
        max_batch: for "truncated_poisson".
        bands: of the matrix C, for "banded", and for "ftrl" if records take part repeatedly.
        participations: for "ftrl": at most so many steps use one record; None: as many as passes
            over the data are begun.
        choices: for "balls_in_bins": the steps that each record joins in an epoch.
        column_norm: the largest norm of a column of C, for "banded" and "ftrl".
        neighbours: None (default) is add_remove; replace_one for "fixed" and
            "fixed_with_replacement"; zero_out for "shuffled" and "ftrl".

    Returns:
        a frozen `TrainingRun` with ``.profile()``, ``.directed("remove" | "add")``,
        ``.neighbours``, ``.ends``, ``.conditions`` and ``.sentence()``; compose it with releases
        that are about the same neighbours.

    Raises:
        InvalidParameter: a number outside its domain, a sampling that is none of these (there is
            no default), a setting that the sampling has no use for.
        IncompatibleClaims: neighbours that the sampling is not analysed for.

    >>> import smoothdp as sd
    >>> run = sd.training(n_records=60_000, batch=256, epochs=15, noise="1.1", sampling="poisson")
    >>> lower, upper = run.profile().epsilon_bounds("1e-5")
    >>> run.steps, round(lower, 8), round(upper, 8)
    (3516, 1.13387472, 1.13387472)
    """
    run = TrainingRun(
        read_settings(
            n_records=n_records,
            batch=batch,
            epochs=epochs,
            steps=steps,
            noise=noise,
            sampling=sampling,
            max_batch=max_batch,
            bands=bands,
            participations=participations,
            choices=choices,
            column_norm=column_norm,
            neighbours=neighbours,
        )
    )
    # What does not fit is refused here, not where the profile is first asked.
    _ = run.scheme
    return run
