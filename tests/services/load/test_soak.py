"""Twenty minutes of three parties under faults lose nothing and count nothing twice.

For hours: ``python -m benchmarks.services --soak 240``.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.services.load.soak import ROLES, soak


@pytest.mark.slow
def test_twenty_minutes_with_faults(tmp_path: Path) -> None:
    minutes = float(os.environ.get("SMOOTHDP_SOAK_MINUTES", "20"))
    done = soak(tmp_path, minutes=minutes, say=print)
    print(done.summary())
    assert done.wrong == []
    assert done.counted >= done.acknowledged > 0
    # There were faults to survive: of each kind, at each party.
    if minutes >= 5:
        assert all(done.kills[role] > 0 for role in ROLES)
        assert done.locks > 0
        assert done.lost_answers > 0
        assert max(done.most_memory.values()) < 400
