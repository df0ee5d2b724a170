"""A charge that was made, and the one release that it pays for."""

from __future__ import annotations

from dataclasses import replace
from types import TracebackType
from typing import Any, NoReturn

from smoothdp.claims.label import Label
from smoothdp.claims.release import Release
from smoothdp.errors import InvalidParameter
from smoothdp.ledger.entry import Entry


class Spending:
    """One charge, already on the disk, and the right to one release.

    Used as ``with ledger.spend(mechanism) as release: result = release(data)``. The charge
    stands whatever happens in the block, even if nothing is released.

    Attributes:
        entry: the charge as it was recorded.
        mechanism: the mechanism that was charged.
        label: what the release is called, if it was given a name.

    >>> import tempfile
    >>> from smoothdp.ledger.ledger import Ledger
    >>> from smoothdp.claims import ApproxDP
    >>> from smoothdp.shuffle import BooleanSum
    >>> protocol = BooleanSum.calibrate(1000, guarantee=ApproxDP(1, delta="1e-6"))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     ledger = Ledger(folder + "/l.db", budget=ApproxDP(2, delta="1e-5"))
    ...     with ledger.spend(protocol) as release:
    ...         total = release([1, 0] * 500).value
    >>> 300 < total < 700
    True
    """

    def __init__(self, mechanism: Any, entry: Entry, label: Label | None = None) -> None:
        self.mechanism = mechanism
        self.entry = entry
        self.label = label
        self._is_open = True

    def __enter__(self) -> Spending:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._is_open = False

    def __call__(self, *data: Any, **options: Any) -> Any:
        """Return ``mechanism.release(*data, **options)``, once.

        Raises:
            InvalidParameter: a second release, one after the block, or a mechanism that does
                not release by itself (then run it inside the block).
        """
        maker = getattr(self.mechanism, "release", None)
        if not callable(maker):
            raise InvalidParameter(
                expected="a mechanism with release()",
                got=f"a {type(self.mechanism).__name__}",
                remedy="The charge stands: run the mechanism yourself, inside the block",
            )
        if not self._is_open:
            raise InvalidParameter(
                expected="one release for one charge",
                got=f"another one for entry {self.entry.number}",
                remedy="Charge another release: ledger.spend(mechanism)",
            )
        self._is_open = False
        released = maker(*data, **options)
        if self.label is None or not isinstance(released, Release):
            return released
        return replace(released, label=self.label)

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        """Refuse to be copied or pickled: a copy would be the right to a second release."""
        raise InvalidParameter(
            expected="one release for one charge",
            got="a copy of the right to it",
            remedy="Charge another release: ledger.spend(mechanism)",
        )

    def __repr__(self) -> str:
        return f"Spending(entry={self.entry.number}, mechanism={self.entry.mechanism!r})"
