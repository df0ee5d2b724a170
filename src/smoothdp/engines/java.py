"""The Java that Spark would start: looked at first, since Spark's own words are a stack."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

from smoothdp.errors import Explanation

OLDEST = 17
_SECONDS = 60
_VERSION = re.compile(r'version "(?:1\.)?([0-9]+)')


def java_fault() -> Explanation | None:
    """Return what is wrong with the Java that Spark would start, or None.

    Spark takes the Java of JAVA_HOME where that is set, and the one in PATH otherwise.
    """
    home = os.environ.get("JAVA_HOME")
    wanted = f"Java {OLDEST} or later for Spark"
    if home:
        place = f"JAVA_HOME={home}"
        found = shutil.which("java", path=str(Path(home, "bin")))
        remedy = f"Set JAVA_HOME to the folder of a Java {OLDEST}, or unset it"
    else:
        place, found = "PATH", shutil.which("java")
        remedy = f"Install a JRE {OLDEST}, or set JAVA_HOME"
    if found is None:
        return Explanation(wanted, f"no bin/java in {place}" if home else "none", remedy)
    try:
        told = subprocess.run(
            [found, "-version"],
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_SECONDS,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return Explanation(wanted, f"one in {place} that fails: {found} -version", remedy)
    version = version_of(told.stderr + told.stdout)
    if version is not None and version < OLDEST:
        return Explanation(wanted, f"Java {version} in {place}", remedy)
    return None


def version_of(text: str) -> int | None:
    """Return the version that ``java -version`` tells, or None for words that are not known.

    >>> version_of('openjdk version "17.0.15" 2025-04-15'), version_of('java version "1.8.0_451"')
    (17, 8)
    """
    match = _VERSION.search(text)
    return int(match[1]) if match else None
