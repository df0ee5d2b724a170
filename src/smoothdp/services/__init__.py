"""Serve: the shuffle model as real services. Needs the extra ``serve``.

A client randomises and seals; a shuffler authenticates, stores, mixes and hands over; an
analyser opens, counts and releases. Threat model: ``docs/threats.md``.
"""

from smoothdp.errors import MissingExtra

try:
    import cryptography.hazmat.primitives.hpke  # noqa: F401
    import httpx  # noqa: F401
    import starlette  # noqa: F401
    import uvicorn  # noqa: F401
except ImportError:
    raise MissingExtra("the services (cryptography 47 or later)", "serve") from None

from smoothdp.services.analyzer import Analyzer
from smoothdp.services.calls import ServiceError, connect, fetch_result, look_up_result, submit
from smoothdp.services.client import Client
from smoothdp.services.create import create_task
from smoothdp.services.demo import ONE_HOST, Demonstration, compare, demonstrate
from smoothdp.services.hybrid import PrivateKey, PublicKey
from smoothdp.services.ingest import Outcome
from smoothdp.services.key_files import read_task, read_token, write_parties
from smoothdp.services.outcomes import OutcomeStore
from smoothdp.services.parties import AnalyzerParty, ShufflerParty, issue_tokens, read_collector
from smoothdp.services.running import on_loopback, run
from smoothdp.services.sealing import seal_window
from smoothdp.services.shuffler import Shuffler, Upload
from smoothdp.services.storage import SqliteStorage
from smoothdp.services.task import Task
from smoothdp.services.tokens import token_hash
from smoothdp.services.web_poll import PUBLISHED, poll_link, poll_routes, publish
from smoothdp.services.window_state import missing_sentence

__all__ = [
    "ONE_HOST",
    "PUBLISHED",
    "Analyzer",
    "AnalyzerParty",
    "Client",
    "Demonstration",
    "Outcome",
    "OutcomeStore",
    "PrivateKey",
    "PublicKey",
    "ServiceError",
    "Shuffler",
    "ShufflerParty",
    "SqliteStorage",
    "Task",
    "Upload",
    "compare",
    "connect",
    "create_task",
    "demonstrate",
    "fetch_result",
    "issue_tokens",
    "look_up_result",
    "missing_sentence",
    "on_loopback",
    "poll_link",
    "poll_routes",
    "publish",
    "read_collector",
    "read_task",
    "read_token",
    "run",
    "seal_window",
    "submit",
    "token_hash",
    "write_parties",
]
