"""Serve: the shuffle model as real services. Needs the extra ``serve``.

A client randomises and seals; an issuer signs its slots blindly, once per person; a shuffler
authenticates, stores, mixes and hands over; an analyser opens, counts and releases. Threat
model: ``docs/threats.md``.
"""

from smoothdp.errors import MissingExtra

try:
    import cryptography.hazmat.primitives.hpke  # noqa: F401
    import httpx  # noqa: F401
    import prometheus_client  # noqa: F401
    import starlette  # noqa: F401
    import uvicorn  # noqa: F401
except ImportError:
    raise MissingExtra("the services (cryptography 47 or later)", "serve") from None

from smoothdp.services.analyzer.analyzer_party import AnalyzerParty
from smoothdp.services.check import check_party
from smoothdp.services.client.collector import WindowRefused, fetch_result, read_collector
from smoothdp.services.client.inclusion import Standing
from smoothdp.services.client.personal_secret import read_personal_secret
from smoothdp.services.client.taking_part import TakenPart, look_up_report, take_part
from smoothdp.services.demo.compare import compare
from smoothdp.services.demo.demonstration import ONE_HOST, Demonstration, demonstrate
from smoothdp.services.demo.poll_demo import POLL_MADE_UP, POLL_QUESTION, poll_on_loopback
from smoothdp.services.formats.card import Card
from smoothdp.services.formats.design.agreeing import agree_on_one_host, agree_on_task
from smoothdp.services.formats.party_files import make_keys, read_half, read_task, revoke_tokens
from smoothdp.services.formats.task import Task
from smoothdp.services.issuer.issuer_party import IssuerParty, issue_invitations, require_hardened
from smoothdp.services.operations.tls import Trust
from smoothdp.services.shuffler.poll_routes import poll_link, poll_routes
from smoothdp.services.shuffler.published_results import PUBLISHED, publish
from smoothdp.services.shuffler.shuffler_party import ShufflerParty, issue_passes
from smoothdp.services.wire.calls import ServiceError, connect
from smoothdp.services.wire.hybrid import PrivateKey, PublicKey
from smoothdp.services.wire.running import on_loopback, run
from smoothdp.services.wire.window_state import missing_sentence

__all__ = [
    "ONE_HOST",
    "POLL_MADE_UP",
    "POLL_QUESTION",
    "PUBLISHED",
    "AnalyzerParty",
    "Card",
    "Demonstration",
    "IssuerParty",
    "PrivateKey",
    "PublicKey",
    "ServiceError",
    "ShufflerParty",
    "Standing",
    "TakenPart",
    "Task",
    "Trust",
    "WindowRefused",
    "agree_on_one_host",
    "agree_on_task",
    "check_party",
    "compare",
    "connect",
    "demonstrate",
    "fetch_result",
    "issue_invitations",
    "issue_passes",
    "look_up_report",
    "make_keys",
    "missing_sentence",
    "on_loopback",
    "poll_link",
    "poll_on_loopback",
    "poll_routes",
    "publish",
    "read_collector",
    "read_half",
    "read_personal_secret",
    "read_task",
    "require_hardened",
    "revoke_tokens",
    "run",
    "take_part",
]
