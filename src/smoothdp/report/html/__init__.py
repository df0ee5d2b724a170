"""Pages of HTML that stand alone: about a plan, a release, public counts, a model, a protocol.

None of them is made from private data: a plan and a protocol know none, a release is what was
published, and counts and models are public.
"""

from smoothdp.report.html.counts import report_counts
from smoothdp.report.html.model import report_model
from smoothdp.report.html.page import HtmlReport
from smoothdp.report.html.plan import report_plan
from smoothdp.report.html.protocol import PROTOCOLS, report_protocol
from smoothdp.report.html.release import report_release

__all__ = [
    "PROTOCOLS",
    "HtmlReport",
    "report_counts",
    "report_model",
    "report_plan",
    "report_protocol",
    "report_release",
]
