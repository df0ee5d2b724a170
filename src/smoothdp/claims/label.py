"""What a release is called, and for what and by whom it was made: words for the ledger."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from smoothdp.errors import InvalidParameter

_LONGEST = 300


@dataclass(frozen=True, slots=True)
class Label:
    """A name, a purpose and who is responsible. Public: it is kept beside the guarantee.

    Raises:
        InvalidParameter: no name, or a text that is longer than 300 characters or of two lines.

    >>> Label("wages 2026", purpose="yearly table", who="A. Noether").words()
    'wages 2026 (yearly table; A. Noether)'
    """

    name: str
    purpose: str = ""
    who: str = ""

    def __post_init__(self) -> None:
        for field in fields(self):
            text = getattr(self, field.name)
            if not isinstance(text, str) or len(text) > _LONGEST or len(text.splitlines()) > 1:
                raise InvalidParameter(
                    expected=f"the {field.name} of a label as one line of at most {_LONGEST} "
                    "characters",
                    got=f"{text!r}"[:80],
                    remedy='Give something such as label="wages 2026"',
                )
        if not self.name.strip():
            raise InvalidParameter(
                expected="a label with a name", got="an empty one", remedy="Give it a name"
            )

    @classmethod
    def read(cls, label: object) -> Label | None:
        """Return a label from itself, its name, or its fields; None without one."""
        if label is None or isinstance(label, Label):
            return label
        if isinstance(label, str):
            return cls(label)
        if isinstance(label, Mapping) and set(label) <= {field.name for field in fields(cls)}:
            return cls(**{"name": "", **label})
        raise InvalidParameter(
            expected="label as a text, or name, purpose and who",
            got=f"label={label!r}"[:80],
            remedy='Give label="wages 2026"',
        )

    def words(self) -> str:
        """Return the label on one line."""
        rest = "; ".join(text for text in (self.purpose, self.who) if text)
        return f"{self.name} ({rest})" if rest else self.name

    def to_dict(self) -> dict[str, Any]:
        """Return what is given, for JSON."""
        texts = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: text for name, text in texts.items() if text}


def with_label(mechanism: object, label: Label | None) -> object:
    """Return what a ledger is charged with: the mechanism, beside its label if it has one."""
    return mechanism if label is None else Labelled(mechanism, label)


@dataclass(frozen=True, slots=True)
class Labelled:
    """A mechanism with the label that a ledger keeps beside it.

    Attributes:
        mechanism: what is charged. label: its name, purpose and who.
    """

    mechanism: object
    label: Label

    def parameters(self) -> dict[str, str]:
        """Return the label as a ledger keeps it."""
        fields = self.label.to_dict()
        return {"label": fields.pop("name"), **fields}
