"""Windows around a rank: their width, and whether there is room."""

from __future__ import annotations

from smoothdp.errors import InvalidData, InvalidParameter
from smoothdp.exact.parameters.numbers import exact_int


def read_window(window: object) -> int | None:
    """Return an odd number of order statistics, or None; raises InvalidParameter otherwise."""
    if window is None:
        return None
    width = exact_int(window, name="window", minimum=1)
    if width % 2 == 0:
        raise InvalidParameter(
            expected="an odd window, centred on a rank",
            got=f"window={width}",
            remedy="Add or drop one",
        )
    return width


def check_room(window: int, room: int, n_records: int) -> None:
    """Refuse a window wider than ``room``, the widest that n records allow."""
    if window > room:
        raise InvalidData(
            expected=f"a window of at most {room} order statistics for n={n_records}",
            got=f"window={window}",
            remedy="Narrow the window",
        )
