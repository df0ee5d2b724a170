"""What Spark says when it cannot read or start, in one plain line instead of a Java stack."""

from __future__ import annotations

_DAMAGED = "a file that is no Parquet, or a damaged one"
_WORDS = {
    "PATH_NOT_FOUND": "no such file or folder",
    "UNABLE_TO_INFER_SCHEMA": "a folder without Parquet files",
    "FAILED_READ_FILE": _DAMAGED,
    "CANNOT_READ_FILE_FOOTER": _DAMAGED,
    "is not a Parquet file": _DAMAGED,
    "Could not parse Master URL": "a name of a master that Spark does not know",
    "JAVA_GATEWAY_EXITED": "a Java that ended at once (it says above why)",
}


def failure(error: Exception) -> str:
    """Return in one line why Spark failed.

    >>> failure(RuntimeError("[PATH_NOT_FOUND] Path does not exist: file:/a. SQLSTATE: 42K03"))
    'no such file or folder'
    >>> failure(RuntimeError("An error occurred while calling o4.parquet.\\n: a.C: No way"))
    'a.C: No way'
    """
    text = str(error)
    for mark, words in _WORDS.items():
        if mark in text:
            return words
    lines = [line.strip(" \t:.") for line in text.splitlines() if line.strip(" \t:.")]
    if len(lines) > 1 and lines[0].startswith("An error occurred while calling"):
        del lines[0]  # py4j's, which names an object that the user never saw
    return lines[0] if lines else type(error).__name__


def is_damaged(error: Exception) -> bool:
    """Return whether Spark met a file, in the middle of a job, that it cannot read."""
    return failure(error) == _DAMAGED
