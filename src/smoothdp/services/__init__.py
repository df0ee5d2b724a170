"""Serve: the shuffle model as real services. Needs the extra ``serve``.

A client randomises and seals; a shuffler authenticates, stores, mixes and hands over; an
analyser opens, counts and releases. Threat model: ``docs/threats.md``.
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

from smoothdp.services.analyzer.analyzer import Analyzer
from smoothdp.services.analyzer.analyzer_party import AnalyzerParty
from smoothdp.services.analyzer.windows.analyzer_party import WindowAnalyzerParty
from smoothdp.services.check import check_party
from smoothdp.services.client.client import Client
from smoothdp.services.client.collector import fetch_result, look_up_result, read_collector
from smoothdp.services.client.outcomes import OutcomeStore
from smoothdp.services.client.submit import submit
from smoothdp.services.client.windows.inclusion import Standing
from smoothdp.services.client.windows.taking_part import TakenPart, look_up_report, take_part
from smoothdp.services.client.windows.window_results import collector_of
from smoothdp.services.demo.demonstration import ONE_HOST, Demonstration, compare, demonstrate
from smoothdp.services.demo.poll_demo import POLL_MADE_UP, POLL_QUESTION, poll_on_loopback
from smoothdp.services.demo.windows_demo import (
    WINDOWS_ONE_HOST,
    WindowsDemonstration,
    demonstrate_windows,
)
from smoothdp.services.formats.design.agreeing import agree_on_one_host, agree_on_task
from smoothdp.services.formats.party_files import (
    make_keys,
    read_half,
    read_window_task,
    revoke_tokens,
    task_format,
)
from smoothdp.services.issuer.issuer_party import (
    IssuerParty,
    issue_invitations,
    require_hardened,
)
from smoothdp.services.operations.tls import Trust
from smoothdp.services.shuffler.poll_routes import PUBLISHED, poll_link, poll_routes, publish
from smoothdp.services.shuffler.sealing import seal_window
from smoothdp.services.shuffler.shuffler import Shuffler, Upload
from smoothdp.services.shuffler.shuffler_party import ShufflerParty, issue_tokens
from smoothdp.services.shuffler.windows.shuffler_party import WindowShufflerParty, issue_passes
from smoothdp.services.store.storage import SqliteStorage
from smoothdp.services.wire.calls import Outcome, ServiceError, connect
from smoothdp.services.wire.hybrid import PrivateKey, PublicKey
from smoothdp.services.wire.key_files import read_secret, read_task, read_token, write_parties
from smoothdp.services.wire.running import on_loopback, run
from smoothdp.services.wire.task import Task
from smoothdp.services.wire.task_request import create_task
from smoothdp.services.wire.tokens import token_hash
from smoothdp.services.wire.window_state import missing_sentence

__all__ = [
    "ONE_HOST",
    "POLL_MADE_UP",
    "POLL_QUESTION",
    "PUBLISHED",
    "WINDOWS_ONE_HOST",
    "Analyzer",
    "AnalyzerParty",
    "Client",
    "Demonstration",
    "IssuerParty",
    "Outcome",
    "OutcomeStore",
    "PrivateKey",
    "PublicKey",
    "ServiceError",
    "Shuffler",
    "ShufflerParty",
    "SqliteStorage",
    "Standing",
    "TakenPart",
    "Task",
    "Trust",
    "Upload",
    "WindowAnalyzerParty",
    "WindowShufflerParty",
    "WindowsDemonstration",
    "agree_on_one_host",
    "agree_on_task",
    "check_party",
    "collector_of",
    "compare",
    "connect",
    "create_task",
    "demonstrate",
    "demonstrate_windows",
    "fetch_result",
    "issue_invitations",
    "issue_passes",
    "issue_tokens",
    "look_up_report",
    "look_up_result",
    "make_keys",
    "missing_sentence",
    "on_loopback",
    "poll_link",
    "poll_on_loopback",
    "poll_routes",
    "publish",
    "read_collector",
    "read_half",
    "read_secret",
    "read_task",
    "read_token",
    "read_window_task",
    "require_hardened",
    "revoke_tokens",
    "run",
    "seal_window",
    "submit",
    "take_part",
    "task_format",
    "token_hash",
    "write_parties",
]
