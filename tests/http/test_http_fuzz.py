"""Whatever is sent, nothing breaks and every answer has the shape that is documented (T11)."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from requests import Session
from served import TOKEN, Client

from campaign import IS_CAMPAIGN, requests
from threats import tally
from waiting import PATIENCE_S, wait_until
from whorl.interfaces.http.app import build_app, document

if TYPE_CHECKING:
    from collections.abc import Callable

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import schemathesis
    from schemathesis import GenerationMode
    from schemathesis.checks import (
        content_type_conformance,
        negative_data_rejection,
        not_a_server_error,
        response_headers_conformance,
        response_schema_conformance,
        status_code_conformance,
        unsupported_method,
    )

pytestmark = [pytest.mark.filterwarnings("ignore"), pytest.mark.threat(row="T11")]

API = document(build_app())
# It never ends; its shape is tested with the streams.
STREAMS = {"/api/changes"}
OPERATIONS = [
    (path, method.upper())
    for path, operations in API["paths"].items()
    for method in operations
    if path not in STREAMS
]
CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    unsupported_method,
]
SETTINGS: dict[str, Any] = {
    "deadline": None,
    "database": None,
    "derandomize": not IS_CAMPAIGN,
    "suppress_health_check": list(HealthCheck),
}


@pytest.fixture(scope="module")
def known(shared: Client) -> list[str]:
    """Runs in several states, so that requests find something."""
    runs = [
        shared.start("polish.yaml", inputs={"task": "x"}),
        shared.start("gated.yaml"),
        shared.start("failing.yaml"),
        shared.start("big.yaml"),
    ]
    for run in runs:
        shared.wait(run)
    return runs


def fuzz(client: Client, known: list[str], operation: tuple[str, str], examples: int) -> None:
    path, method = operation
    schema = schemathesis.openapi.from_dict(API)
    found = schema[path][method]
    strategies = [
        found.as_strategy(generation_mode=mode, path_parameters=chosen)
        for mode in (GenerationMode.POSITIVE, GenerationMode.NEGATIVE)
        for chosen in ([{"run": run} for run in known] if "{run}" in path else [None])
    ]
    if "{run}" in path:
        strategies.append(found.as_strategy(generation_mode=GenerationMode.POSITIVE))
    headers = {"Authorization": f"Bearer {TOKEN}"}
    parameters = API["paths"][path][method.lower()].get("parameters", [])
    declared = {one["name"] for one in parameters if one["in"] == "query"}

    session = Session()
    session.trust_env = False  # looking for proxies takes a tenth of a request

    @settings(max_examples=examples, **SETTINGS)
    @given(case=st.one_of(strategies))
    def check(case: Any) -> None:
        answer = case.call(
            base_url=client.address, headers=headers, timeout=PATIENCE_S, session=session
        )
        tally("made-up requests")
        # What is wrong in a query may be lost on the way (a list without items is no text), so
        # that is looked for in what was sent.
        # A body that is too large is refused before anybody looks into it.
        is_looked_at = method == "POST" and answer.status_code != 413
        more = [negative_data_rejection] if is_looked_at else []
        case.validate_response(answer, checks=[*CHECKS, *more], headers=headers)
        assert "Traceback" not in answer.text
        sent = parse_qs(urlsplit(answer.request.url).query, keep_blank_values=True)
        is_sound = set(sent) <= declared and all(len(values) == 1 for values in sent.values())
        assert answer.status_code >= 400 or is_sound

    check()


@pytest.mark.sample(64)
@pytest.mark.campaign
@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda pair: " ".join(reversed(pair)))
def test_every_operation_holds_its_contract(
    shared: Client, known: list[str], operation: tuple[str, str]
) -> None:
    fuzz(shared, known, operation, requests(30, 800))


def test_every_operation_needs_the_token(shared: Client) -> None:
    schema = schemathesis.openapi.from_dict(API)
    for path, method in OPERATIONS:
        found = schema[path][method]
        names = ("run", "name", "workflow", "trigger", "at", "schedule")
        parameters = {"number": 1, "ref": "1.a"} | dict.fromkeys(names, "a")
        chosen = {name: parameters[name] for name in parameters if f"{{{name}}}" in path}
        case = found.Case(path_parameters=chosen)
        for headers in ({}, {"Authorization": "Basic abc"}):
            answer = case.call(base_url=shared.address, headers=headers, timeout=PATIENCE_S)
            assert answer.status_code in (401, 429), (path, method)
            case.validate_response(answer, checks=[response_schema_conformance], headers=headers)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=12,
)


def test_any_inputs_are_taken_or_refused(shared: Client) -> None:
    runs: set[str] = set()

    @settings(max_examples=40, **SETTINGS)
    @given(task=JSON, more=st.dictionaries(st.text(max_size=8), JSON, max_size=2))
    def check(task: Any, more: dict[str, Any]) -> None:
        import json

        body = json.dumps({"workflow": "polish.yaml", "inputs": {"task": task} | more})
        headers = {"Content-Type": "application/json"}
        answer = shared.http.post("/api/runs", content=body.encode(), headers=headers)
        assert answer.status_code in (201, 400), answer.text
        if answer.status_code == 201:
            runs.add(answer.json()["run"])

    check()
    _settled(runs, shared.get)


def _settled(runs: set[str], get: Callable[..., Any]) -> None:
    for run in runs:
        wait_until(lambda run=run: get(f"/runs/{run}")["status"] != "running")  # type: ignore[misc]
