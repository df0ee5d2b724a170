"""The committed OpenAPI document: that of the routes, with all that the protocol lists."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from docs_site import openapi

from smoothdp.services.analyzer import analyzer as analyzer_module, window_cards

DOCUMENT: dict[str, Any] = json.loads(openapi.DOCUMENT.read_text(encoding="utf-8"))
TASK = "{task_id}/{window}"
LISTED = {
    # The protocol's own table of paths and answers.
    ("issuer", "get", "/v2/tasks/{task_id}/cards/{window}"): {200, 404},
    ("issuer", "post", f"/v2/tokens/{TASK}"): {
        *(200, 400, 401, 404, 409, 410, 413, 422, 425, 429, 503)
    },
    ("shuffler", "post", f"/v2/reports/{TASK}"): {
        *(202, 400, 401, 403, 404, 409, 410, 413, 425, 429, 503)
    },
    ("shuffler", "get", "/v2/tasks/{task_id}/marks/{window}"): {200, 404, 410},
    ("analyzer", "put", f"/v2/gateway-keys/{TASK}"): {409, 425},
    ("analyzer", "put", f"/v2/issuer-keys/{TASK}"): {409, 425},
    ("analyzer", "get", f"/v2/cards/{TASK}"): {200, 404},
    ("analyzer", "put", f"/v2/cards/{TASK}"): {200, 201, 409},
    ("analyzer", "put", f"/v2/served/{TASK}"): {200, 201, 409},
    ("analyzer", "post", "/v2/clock"): {200},
    ("analyzer", "put", "/v2/batches/{batch_id}"): {200, 201, 409, 425},
    ("analyzer", "put", "/v2/batches/{batch_id}/parts/{part}"): {200, 201, 409, 422},
    ("analyzer", "get", "/v2/tasks/{task_id}/results/{window}"): {200, 202, 403},
}


def operations() -> dict[tuple[str, str, str], dict[str, Any]]:
    return {
        (path.split("/")[1], method, "/" + path.split("/", 2)[2]): operation
        for path, methods in DOCUMENT["paths"].items()
        for method, operation in methods.items()
    }


def test_the_committed_document_is_that_of_the_routes() -> None:
    assert openapi.DOCUMENT.read_text(encoding="utf-8") == openapi.encoded(), (
        "run: python -m docs_site.openapi"
    )


@pytest.mark.parametrize("where", LISTED, ids=lambda where: " ".join(where))
def test_what_the_protocol_lists_is_there(where: tuple[str, str, str]) -> None:
    found = {int(status) for status in operations()[where]["responses"]}
    assert found >= LISTED[where]


def test_every_refusal_of_a_party_is_somewhere() -> None:
    for party, refusals in openapi.problems().items():
        said = {
            int(status)
            for (who, _, _), operation in operations().items()
            if who == party
            for status in operation["responses"]
        }
        assert said >= set(refusals)


def test_every_status_in_the_code_of_the_analyser_is_documented() -> None:
    """The numbers that its functions return, each with the path that calls them."""
    called = {
        "put_key": ("put", f"/v2/gateway-keys/{TASK}"),
        "put_signed": ("put", f"/v2/cards/{TASK}"),
        "put_batch": ("put", "/v2/batches/{batch_id}"),
        "put_part": ("put", "/v2/batches/{batch_id}/parts/{part}"),
        "put_served": ("put", f"/v2/served/{TASK}"),
    }
    seen = set()
    for module in (analyzer_module, window_cards):
        text = Path(str(module.__file__)).read_text(encoding="utf-8")
        for function in re.split(r"\n    def ", text)[1:]:
            name = function.split("(")[0]
            if name not in called:
                continue
            seen.add(name)
            returned = {int(s) for s in re.findall(r"\b([2-5]\d\d)\b", function)}
            documented = operations()[("analyzer", *called[name])]["responses"]
            assert returned <= {int(status) for status in documented}, name
    assert seen == set(called)


def test_it_is_a_document_of_openapi() -> None:
    """Its own rules that matter here: names of the path are parameters, answers have words."""
    assert DOCUMENT["openapi"] == "3.1.0"
    assert DOCUMENT["info"]["version"] == "2"
    for (_, method, path), operation in operations().items():
        named = {p["name"] for p in operation["parameters"]}
        assert named == set(re.findall(r"{(\w+)}", path))
        assert all(p["required"] and p["in"] == "path" for p in operation["parameters"])
        assert all(answer["description"] for answer in operation["responses"].values())
        assert ("requestBody" in operation) == (method in ("put", "post"))
        assert ("401" in operation["responses"]) == ("security" in operation)
        for status, answer in operation["responses"].items():
            refused = "application/problem+json" in answer.get("content", {})
            assert refused == (int(status) >= 400 and (path.find("results") < 0 or status != "403"))


def test_a_route_without_words_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    less = {key: said for key, said in openapi.SAID["issuer"].items() if key[0] == "GET"}
    monkeypatch.setitem(openapi.SAID, "issuer", less)
    with pytest.raises(ValueError, match="/v2/tokens"):
        openapi.document()
