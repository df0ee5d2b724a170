"""A griffe extension: examples in docstrings are shown as code, as the doctests that they are."""

from __future__ import annotations

import re
from importlib import import_module
from typing import Any

griffe: Any = import_module("griffe")
# From a line that begins with >>> to the next empty line.
_EXAMPLE = re.compile(r"^>>> .*?(?=\n[ \t]*\n|\Z)", re.DOTALL | re.MULTILINE)
# A parameter whose description begins with > would be read as a quotation.
_QUOTED = re.compile(r"^(\s*[\w, ]+: )>", re.MULTILINE)


class Examples(griffe.Extension):  # type: ignore[misc]
    """Put every doctest of a docstring into a fence."""

    def on_object(self, *, obj: Any, **_: Any) -> None:
        """Rewrite the docstring of an object, once."""
        if obj.docstring is not None:
            text = _EXAMPLE.sub(lambda found: f"```python\n{found[0]}\n```", obj.docstring.value)
            obj.docstring.value = _QUOTED.sub(r"\1\\>", text)
