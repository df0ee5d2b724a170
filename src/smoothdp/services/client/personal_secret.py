"""A pass or an invitation in a file, as the person who got it keeps it."""

from __future__ import annotations

import re
from pathlib import Path

from smoothdp.data.refusals import reason
from smoothdp.errors import InvalidData
from smoothdp.services.formats.secrets import SECRET_DIGITS
from smoothdp.services.wire.calls import without_secrets


def read_personal_secret(path: Path) -> str:
    """Return the pass or the invitation in a file.

    Raises:
        InvalidData: no file, or something else in it.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "pass")
    ...     written = path.write_text("0a" * 48)
    ...     read_personal_secret(path)[:4]
    '0a0a'
    """
    try:
        text = path.read_text(encoding="ascii").strip()
        got = "something else" if text else "an empty file"
    except (OSError, ValueError) as error:
        text, got = "", reason(error)
    if not re.fullmatch(f"[0-9a-f]{{{SECRET_DIGITS}}}", text):
        raise InvalidData(
            expected=f"one pass or invitation in the file {without_secrets(str(path))}",
            got=got,
            remedy="smoothdp task tokens prints them",
        )
    return text
