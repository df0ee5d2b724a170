"""The poll page that a shuffler serves: files, the question, and published results.

The page randomises and seals in the participant's browser; what it sends is an envelope as
any client's. It is built from `browser/` and asks nothing of any other host.
"""

from __future__ import annotations

import asyncio
import json
from importlib.resources import files
from pathlib import Path
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from smoothdp.errors import InvalidParameter
from smoothdp.services.wire.task import Task

PUBLISHED = "published"
"""The folder of results that are shown, one JSON file each, as the collector fetched them."""

_TYPES = {"poll.js": "text/javascript", "poll.css": "text/css"}
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_HEADERS = {
    "content-security-policy": _POLICY,
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "cache-control": "no-cache",
}
_MOST_RESULT_BYTES = 1 << 22


def poll_routes(
    task: Task, question: str, published: Path, *, one_host: bool = False
) -> list[Route]:
    """Return the routes of a task's poll page.

    Args:
        question: what participants are asked, in their words.
        published: folder of released results (`PUBLISHED` in the shuffler's directory); made,
            for its owner alone, where it is not there.
        one_host: whether the page says that both services run on one computer.

    Raises:
        InvalidParameter: no question, or a folder that cannot be made.

    >>> from smoothdp.services import PrivateKey, create_task
    >>> key = PrivateKey.generate().public
    >>> task = create_task(
    ...     "boolean_sum", analyzer_key=key, epsilon="1", delta="1e-6", min_batch=1000
    ... )
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     routes = poll_routes(task, "Tea?", Path(folder) / PUBLISHED)
    >>> len(routes) > 1
    True
    """
    if not question.strip():
        raise InvalidParameter(
            expected="a question",
            got=repr(question),
            remedy="Write the question that people see, such as Do you smoke?",
        )
    _make(published)
    name = task.task_id.hex()
    folder = files("smoothdp.services.shuffler") / "poll_page"
    page = (folder / "poll.html").read_bytes()
    assets = {file: (folder / file).read_bytes() for file in _TYPES}

    async def poll(_: Request) -> Response:
        return Response(page, media_type="text/html", headers=_HEADERS)

    async def asset(request: Request) -> Response:
        file = request.path_params["file"]
        if file not in assets:
            return PlainTextResponse("not here", 404)
        return Response(assets[file], media_type=_TYPES[file], headers=_HEADERS)

    async def about(_: Request) -> Response:
        return JSONResponse({"question": question, "one_host": one_host}, headers=_HEADERS)

    async def results(_: Request) -> Response:
        documents = await asyncio.to_thread(published_results, published, name)
        return JSONResponse(documents, headers=_HEADERS)

    return [
        Route(f"/poll/{name}", poll),
        Route(f"/poll/{name}/about", about),
        Route(f"/poll/{name}/results", results),
        Route("/poll-files/{file}", asset),
    ]


def published_results(folder: Path, task_id: str) -> list[dict[str, Any]]:
    """Return the published results of a task, oldest window first; other files are passed by."""
    documents = []
    for path in folder.glob("*.json"):
        try:
            if path.stat().st_size > _MOST_RESULT_BYTES:
                continue
            document = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            continue
        if (
            isinstance(document, dict)
            and document.get("task_id") == task_id
            and type(document.get("window")) is int
        ):
            documents.append(document)
    return sorted(documents, key=lambda document: document["window"])


def _make(folder: Path) -> None:
    """Make a folder that only its owner reads, unless there is one."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise InvalidParameter(
            expected=f"a folder for results at {folder}",
            got=f"{error.strerror}",
            remedy="Make that folder, where the shuffler may write",
        ) from None


def publish(folder: Path, document: dict[str, Any]) -> Path:
    """Write a released result where the poll page shows it; return the file.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     publish(Path(folder), {"task_id": "00", "window": 7}).name
    '7.json'
    """
    _make(folder)
    path = folder / f"{int(document['window'])}.json"
    before = path.with_suffix(".new")
    before.write_text(json.dumps(document, indent=2), encoding="utf-8")
    before.replace(path)
    return path


def poll_link(url: str, task: Task, token: str) -> str:
    """Return a participant's link. What follows # stays in the browser.

    >>> from smoothdp.services import PrivateKey, create_task
    >>> key = PrivateKey.generate().public
    >>> task = create_task(
    ...     "boolean_sum", analyzer_key=key, epsilon="1", delta="1e-6", min_batch=1000
    ... )
    >>> poll_link("https://poll.example/", task, "a1").endswith("#a1")
    True
    """
    return f"{url.rstrip('/')}/poll/{task.task_id.hex()}#{token}"
