"""Hypothesis draws the same examples in every run, without a deadline and without files."""

from __future__ import annotations

import contextlib

# The smoke subset runs where only the required dependencies and pytest are installed.
with contextlib.suppress(ImportError):
    from hypothesis import settings

    settings.register_profile("fixed", derandomize=True, deadline=None, database=None)
    settings.load_profile("fixed")
