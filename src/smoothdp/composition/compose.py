"""`compose`: the privacy profile of several releases together."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal

from smoothdp.composition.accountant import Accountant, is_aligned
from smoothdp.composition.composed_profile import ComposedProfile
from smoothdp.composition.items import common_model, read_items
from smoothdp.composition.nested import unnested
from smoothdp.composition.routes.contour import Progress
from smoothdp.errors import InvalidParameter
from smoothdp.exact.parameters.numbers import Parameter, exact_fraction

# The tolerance of the contour where the caller names none, and the finest that may be named.
_AIM = 1e-5
_FINEST = 1e-12


def compose(
    items: Iterable[Any],
    *,
    tolerance: Parameter | None = None,
    orientation: Literal["common"] | None = None,
    progress: Progress | None = None,
) -> ComposedProfile:
    """Return the privacy profile of all items together, between certified bounds.

    Each item is first replaced by the law that dominates both of its directions; the laws
    then multiply. The bounds enclose delta of the composed dominating pairs: the least delta
    that follows from what the items promise. They hold at any depth, delta = 1e-300 as well.

    The list of guarantees is fixed beforehand. Which mechanism meets the next one may then
    depend on all earlier outputs (the profile dominates adaptive composition; Zhu, Dong,
    Wang 2022, Theorem 10). This is no filter: guarantees that are themselves chosen by
    looking at outputs need a `Ledger`. Smoothed claims (`SmoothedDP`) must not adapt at all
    (proofs/composition-at-a-database#5, #7).

    A composition among the items counts as its own items do, in the way it was made of them:
    the result lies nowhere below it.

    Args:
        items: guarantees, mechanisms and anything else with ``.profile()``, profiles,
            pairs, trade-off functions; or (item, count) with a count >= 1.
        tolerance: relative width of the bracket of delta that is asked for, in
            [1e-12, 1); None (default): as narrow as is quick.
        orientation: for replace_one neighbours. "common" if the first law of every `Pair` and
            trade-off function belongs to one and the same of two neighbours x, x', such as
            all attributes of one person moving the same way. It is not so for releases whose
            worst cases may point different ways, nor for mechanisms on a random sample of the
            records, which may lose in both directions at once: these are never oriented
            (proofs/symmetrised-composition#4, #6).
            None (default): every item in both directions. Under add_remove and zero_out
            neighbours the orientation is common among the items that say which of their laws
            belongs to the database with the record (``Pair(..., first=)``, subsampled
            mechanisms); it is always used there, and all others count in both directions.
        progress: called with (parts done, parts in all) in long sums.

    Raises:
        InvalidParameter: an empty list, an item without a profile, counts that are no
            positive whole numbers, a tolerance out of range.
        IncompatibleClaims: different neighbours, or smoothed claims over different models.
        OutOfReach (from the profile): a tolerance that cannot be met.

    >>> from smoothdp.claims import GaussianDP, PureDP
    >>> composed = compose([(GaussianDP("0.1"), 30), (PureDP("0.05"), 10)])
    >>> lower, upper = composed.delta_bounds(2)
    >>> 0 < lower <= upper <= lower * (1 + 1e-9)
    True
    >>> composed.route
    'contour'
    """
    if orientation not in (None, "common"):
        raise InvalidParameter(
            expected='orientation None or "common"',
            got=f"{orientation!r}",
            remedy="Leave orientation out",
        )
    asked = None
    if tolerance is not None:
        asked = exact_fraction(tolerance, name="tolerance")
        if not _FINEST <= asked < 1:
            raise InvalidParameter(
                expected="1e-12 <= tolerance < 1",
                got=f"tolerance={tolerance}",
                remedy="Name a tolerance such as 1e-6, or leave tolerance out",
            )
    read = read_items(items)
    parts = unnested(read, aligned=is_aligned(orientation, read[0][0].neighbours))
    model = common_model(parts)
    aim = _AIM if asked is None else float(asked)
    accountant = Accountant(parts, orientation, aim, progress, patient=asked is not None)
    return ComposedProfile(accountant, asked, model)
