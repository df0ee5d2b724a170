"""The shuffler: one report a pass and window, opened and checked before it is stored."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Sequence

from smoothdp.services.faults import Reach, pass_by
from smoothdp.services.formats.report import open_report
from smoothdp.services.formats.secrets import check_secret, tag
from smoothdp.services.formats.signing import SigningKey
from smoothdp.services.formats.task import Task
from smoothdp.services.operations.clock_guard import ClockGuard, Verdict
from smoothdp.services.shuffler.windows.gateway_cards import GatewayCards
from smoothdp.services.shuffler.windows.ingest import (
    HELD,
    OpenedReport,
    Taken,
    store_group,
    what_became,
)
from smoothdp.services.shuffler.windows.tables import OPEN
from smoothdp.services.store.erasable_keys import ErasableKeys
from smoothdp.services.store.storage import Storage

MOST_UNSIGNED = 5
"""Reports with a signature that is not good, under one pass and window, that are looked at."""
