"""The command line: one file per command, thin over the library."""

from __future__ import annotations

from smoothdp.cli.main import main

__all__ = ["main"]
