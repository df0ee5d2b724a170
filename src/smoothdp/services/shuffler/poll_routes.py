"""The poll page that a shuffler serves: files, the question, and published results.

The page is a client as any other: it randomises and seals in the participant's browser, asks the
issuer for tokens, and hands a sealed report in. It is built from `browser/` and asks nothing of
any host but this one and the issuer of the task.
"""

from __future__ import annotations

import asyncio
from importlib.resources import files
from pathlib import Path
from urllib.parse import urlsplit

from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from smoothdp.errors import InvalidParameter
from smoothdp.services.formats.task import Task
from smoothdp.services.shuffler.published_results import PublishedResults

_TYPES = {"poll.js": "text/javascript", "poll.css": "text/css"}


def poll_routes(
    task: Task, question: str, published: Path, *, one_host: bool = False
) -> list[Route]:
    """Return the routes of a task's poll page.

    Args:
        task: what is collected; its issuer's address is where the page asks for card and tokens.
        question: what participants are asked, in their words.
        published: folder of released results (``published`` in the shuffler's directory); made,
            for its owner alone, where it is not there.
        one_host: whether the page says that all services run on one computer.

    Raises:
        InvalidParameter: no question, or a folder that cannot be made.

    >>> import tempfile
    >>> from smoothdp.services.formats.design.task_request import create_task
    >>> from smoothdp.services.formats.signing import SigningKey
    >>> task = create_task("boolean_sum", epsilon="1", delta="1e-6", min_batch=200,
    ...     analyzer_sign_key=SigningKey.generate().public, origin="analyzer.example",
    ...     shuffler_sign_key=SigningKey.generate().public, issuer=None, proof="none")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     routes = poll_routes(task, "Tea?", Path(folder) / "published")
    >>> len(routes)
    4
    """
    if not question.strip():
        raise InvalidParameter(
            expected="a question",
            got=repr(question),
            remedy="Write the question that people see, such as Do you smoke?",
        )
    shown = PublishedResults(published, task)
    name = task.task_id.hex()
    folder = files("smoothdp.services.shuffler") / "poll_page"
    page = (folder / "poll.html").read_bytes()
    assets = {file: (folder / file).read_bytes() for file in _TYPES}
    headers = {
        "content-security-policy": page_policy(task),
        "referrer-policy": "no-referrer",
        "x-content-type-options": "nosniff",
        "cross-origin-opener-policy": "same-origin",
        "cache-control": "no-cache",
    }

    async def poll(_: Request) -> Response:
        return Response(page, media_type="text/html", headers=headers)

    async def asset(request: Request) -> Response:
        file = request.path_params["file"]
        if file not in assets:
            return PlainTextResponse("not here", 404)
        return Response(assets[file], media_type=_TYPES[file], headers=headers)

    async def about(_: Request) -> Response:
        return JSONResponse({"question": question, "one_host": one_host}, headers=headers)

    async def results(_: Request) -> Response:
        found = await asyncio.to_thread(shown.document)
        return Response(found, media_type="application/json", headers=headers)

    return [
        Route(f"/poll/{name}", poll),
        Route(f"/poll/{name}/about", about),
        Route(f"/poll/{name}/results", results),
        Route("/poll-files/{file}", asset),
    ]


def page_policy(task: Task) -> str:
    """Return the page's content security policy: it may ask its own host and the task's issuer.

    No quote, space or semicolon can come from the task: the origin is scheme, host and port. No
    text becomes elements or a script, whatever it holds: the page has no trusted types.

    >>> from types import SimpleNamespace
    >>> issuer = SimpleNamespace(url="https://issuer.example/esa")
    >>> page_policy(SimpleNamespace(issuer=issuer)).split("; ")[3]
    "connect-src 'self' https://issuer.example"
    """
    asked = "'self'" if task.issuer is None else f"'self' {_origin(task.issuer.url)}"
    return (
        f"default-src 'none'; script-src 'self'; style-src 'self'; connect-src {asked}; "
        "img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
        "require-trusted-types-for 'script'; trusted-types 'none'"
    )


def _origin(url: str) -> str:
    try:
        parts = urlsplit(url)
        port = "" if parts.port is None else f":{parts.port}"
    except ValueError:
        parts, port = urlsplit(""), ""
    host = parts.hostname or ""
    if not host.isascii() or not host.replace("-", "").replace(".", "").isalnum():
        raise InvalidParameter(
            expected="an issuer whose address has a host by name, such as https://issuer.example",
            got="another address",
            remedy="Make the task with an issuer that a browser can reach",
        )
    return f"{parts.scheme}://{host}{port}"


def poll_link(url: str, task: Task, pass_secret: str) -> str:
    """Return a participant's link with the pass. What follows # stays in the browser.

    The invitation is never in it: a link, mail or page with both makes its maker a party who
    can break the promise alone.

    >>> from types import SimpleNamespace
    >>> poll_link("https://poll.example/", SimpleNamespace(task_id=b"\\x01"), "a1")
    'https://poll.example/poll/01#a1'
    """
    return f"{url.rstrip('/')}/poll/{task.task_id.hex()}#{pass_secret}"
