"""The version of smoothdp: the one place where it is written; the build reads it here."""

from __future__ import annotations

__version__ = "0.2.0.dev0"
