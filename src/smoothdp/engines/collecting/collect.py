"""Collect: run any protocol of the shuffle model on the users of a column, and release it."""

from __future__ import annotations

from typing import Any

from smoothdp.claims.label import Label
from smoothdp.claims.release import Release, library_version
from smoothdp.engines.collecting.level_groups import (
    grouped_strings,
    tree_of_groups,
    words_of_groups,
)
from smoothdp.engines.collecting.marked_rows import MarkedRows, Users, marked_rows
from smoothdp.engines.collecting.split_totals import split_total
from smoothdp.engines.collecting.string_levels import found_strings
from smoothdp.engines.collection import Collected
from smoothdp.engines.job import Run
from smoothdp.engines.randomized_counts import counted_messages
from smoothdp.planning import CollectPlan
from smoothdp.shuffle import Histogram, LowCommunicationHistogram, PrefixTree, SplitSum
from smoothdp.shuffle.paired.paired_protocol import PairedProtocol

_KEY = "as long as nobody else learns the key of the noise"


def collect(
    run: Run,
    protocol: Collected | CollectPlan,
    *,
    key: bytes,
    column: str,
    window: int,
    users: Users = "check",
    n_answered: int | None = None,
    label: object = None,
) -> Release[Any]:
    """Run a protocol on the users of a column, one row of (user, datum) each, and release it.

    Every user is randomised by the protocol's own law, with bits that follow from the key and
    from all that a result depends on (see `randomized_counts`, whose words on windows, retries
    and keys hold here). So the result is the same however the rows are split. What the engine
    leaves out draws no bits that a result depends on: dummies, the order of envelopes, and
    shares of a `SplitSum` that only split a number.

    The law is that of the protocol among users who all follow it; whoever runs the engine sees
    the data, and what leaves a partition on the way is as private as the data.

    Args:
        run: over the columns user and datum, whose rows do not change while it runs.
        protocol: any of `smoothdp.shuffle` that has a `calibrate`, or the plan of `plan_collect`,
            whose recommended protocol is taken. The datum is what ``randomize`` takes: a bit, a
            number in [0, 1], a bin, or a string (a text, bytes, or a row of symbols).
        key, column, window, users, n_answered: as in `randomized_counts`.
        label: a name, or a `smoothdp.claims.label.Label`.

    Returns:
        The estimate, as ``protocol.release`` gives it, with the guarantee and the condition that
        it rests on. Of a plan of strings that has users answer one level each: `GroupedStrings`.

    Raises:
        InvalidData, InvalidParameter, OutOfReach: as `randomized_counts`; OutOfReach also of a plan
            that no protocol fits. Nothing is released then.

    >>> import numpy as np
    >>> import smoothdp as sd
    >>> from smoothdp.engines import run_here
    >>> from smoothdp.engines.keyed_random import new_key
    >>> protocol = sd.shuffle.PairedCount.calibrate(1000, guarantee=sd.ApproxDP(1, delta="1e-6"))
    >>> run = run_here([[np.arange(1000), np.arange(1000) % 2]])
    >>> release = collect(run, protocol, key=new_key(), column="tea", window=0)
    >>> abs(release.value - 500) < 40, release.guarantee.delta
    (True, 1e-06)
    """
    named, chosen = Label.read(label), protocol
    group: LowCommunicationHistogram | None = None
    if isinstance(protocol, CollectPlan):
        chosen = protocol.protocol
        if protocol.task == "strings" and isinstance(chosen, LowCommunicationHistogram):
            group = chosen
            chosen = tree_of_groups(
                group,
                n_users=protocol.n_users,
                n_levels=protocol.recommended.groups,
                honest_share=protocol.honest_share,
            )
    rows: MarkedRows[Any] = marked_rows(
        run, chosen, key=key, column=column, window=window, users=users, n_answered=n_answered
    )
    used = rows.protocol
    if group is None:
        value, stated = _value(run, rows), used
        mechanism, condition = used.describe(), used.condition()
    else:
        value, stated = grouped_strings(run, rows, group), group
        mechanism, condition = words_of_groups(group, used)
    return Release(
        value=value,
        guarantee=stated.guarantee,
        mechanism=mechanism,
        is_private=True,
        library_version=library_version(),
        sources=(stated.source,),
        label=named,
        condition=f"{condition}, {_KEY}",
    )


def _value(run: Run, rows: MarkedRows[Any]) -> Any:
    """Return the estimate of the rows' protocol."""
    used = rows.protocol
    if isinstance(used, PrefixTree):
        return found_strings(run, rows)
    if isinstance(used, SplitSum):
        return used.estimate_from_total(split_total(run, rows))
    messages = counted_messages(run, rows)
    if isinstance(used, PairedProtocol | LowCommunicationHistogram | Histogram):
        return used.estimate_counts(messages)
    return used.estimate_from_total(int(messages[1]))
