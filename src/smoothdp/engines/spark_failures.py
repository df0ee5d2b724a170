"""What can go wrong with Spark, in one plain line: no Java, a wrong master, what it cannot read.

Java and the master are looked at before Spark starts, since its own words are a Java stack.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

from smoothdp.errors import Explanation, InvalidParameter

OLDEST_JAVA = 17
_SECONDS = 60
_VERSION = re.compile(r'version "(?:1\.)?([0-9]+)')
_COUNT = "[1-9][0-9]*"
_MASTER = re.compile(
    rf"local(\[({_COUNT}|\*)(\s*,\s*{_COUNT})?\])?|local-cluster\[.+\]|yarn|(spark|k8s)://.+"
)
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


# ---- before Spark starts


def java_fault() -> Explanation | None:
    """Return what is wrong with the Java that Spark would start, or None.

    Spark takes the Java of JAVA_HOME where that is set, and the one in PATH otherwise.
    """
    home = os.environ.get("JAVA_HOME")
    wanted = f"Java {OLDEST_JAVA} or later for Spark"
    if home:
        where = f"JAVA_HOME={home}"
        java = shutil.which("java", path=str(Path(home, "bin")))
        remedy = f"Set JAVA_HOME to the folder of a Java {OLDEST_JAVA}, or unset it"
    else:
        where, java = "PATH", shutil.which("java")
        remedy = f"Install a JRE {OLDEST_JAVA}, or set JAVA_HOME"
    if java is None:
        return Explanation(wanted, f"no bin/java in {where}" if home else "none", remedy)
    try:
        told = subprocess.run(
            [java, "-version"],
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_SECONDS,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return Explanation(wanted, f"one in {where} that fails: {java} -version", remedy)
    version = version_of(told.stderr + told.stdout)
    if version is not None and version < OLDEST_JAVA:
        return Explanation(wanted, f"Java {version} in {where}", remedy)
    return None


def version_of(text: str) -> int | None:
    """Return the version that ``java -version`` tells, or None for words that are not known.

    >>> version_of('openjdk version "17.0.15" 2025-04-15'), version_of('java version "1.8.0_451"')
    (17, 8)
    """
    match = _VERSION.search(text)
    return int(match[1]) if match else None


def check_master(master: str) -> str:
    """Return a master of Spark, or raise InvalidParameter.

    >>> check_master("local[2]")
    'local[2]'
    """
    if not isinstance(master, str) or not _MASTER.fullmatch(master):
        raise InvalidParameter(
            expected='a master such as "local", "local[2]" or "local[*]"',
            got=f"master={master!r}",
            remedy="Give the number of cores as a whole number, or * for all of them",
        )
    return master


# ---- what Spark says when it cannot start or read


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
