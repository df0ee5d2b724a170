"""Bridges to other libraries, one file each; none of them is imported before it is used."""

from smoothdp.interop.autodp import from_autodp, to_autodp
from smoothdp.interop.dp_accounting import ImportedLosses, from_dp_accounting, to_dp_accounting
from smoothdp.interop.dp_events import from_dp_event, to_dp_event
from smoothdp.interop.opendp import from_opendp, to_opendp

__all__ = [
    "ImportedLosses",
    "from_autodp",
    "from_dp_accounting",
    "from_dp_event",
    "from_opendp",
    "to_autodp",
    "to_dp_accounting",
    "to_dp_event",
    "to_opendp",
]
