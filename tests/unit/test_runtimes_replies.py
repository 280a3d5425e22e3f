"""What is journaled of replies and faults: what JSON holds, and no words of secure tasks."""

from __future__ import annotations

from typing import Any

import pytest

from whorl.errors import ProviderError
from whorl.interpreter.events import Perform
from whorl.interpreter.frames import is_cut
from whorl.runtimes.journal.sealed_secrets import failed_body, fit

SAID = "SAID"
UNANSWERED = {"calls": 1, "input_tokens": 0, "output_tokens": 0, "cost_usd": 0, "in_doubt": 1}


def _told(perform: Perform, fault: ProviderError) -> dict[str, Any]:
    error: Any = failed_body(perform, fault, {}, lambda value: value)["error"]
    return error  # type: ignore[no-any-return]


def _error(
    code: str, detail: dict[str, Any] | None = None, *, secure: str = "outputs"
) -> dict[str, Any]:
    has_inputs, has_outputs = secure == "inputs", secure == "outputs"
    perform = Perform("a", "http", {}, secure=has_inputs, secure_outputs=has_outputs)
    error = _told(perform, ProviderError(f"it was {SAID}", code=code, detail=detail or {}))
    assert (error["detail"].get("secure") is True) == has_outputs
    return error


@pytest.mark.parametrize(
    ("fault", "is_priced", "usage"),
    [
        # Nothing was sent, so nothing was paid.
        (ProviderError("x", code="P101", answered=False, detail={"unsent": True}), True, None),
        (ProviderError("x", code="P109", detail={"unsent": True}), False, None),
        # It was answered: what has no price costs nothing, of anything else nobody knows.
        (ProviderError("x", code="P109"), False, {"calls": 1, "cost_usd": 0.0}),
        (ProviderError("x", code="P109"), True, {"calls": 1, "cost_usd": None}),
        # It may have been done.
        (ProviderError("x", code="P101", answered=False), False, UNANSWERED),
    ],
)
def test_a_failed_call_costs_what_is_known_of_it(
    fault: ProviderError, is_priced: bool, usage: dict[str, Any] | None
) -> None:
    perform, reserve = Perform("a", "agent", {}), {"calls": 1}

    body = failed_body(perform, fault, reserve, lambda value: value, is_priced=is_priced)  # type: ignore[arg-type]

    assert body.get("usage") == usage


@pytest.mark.parametrize("secure", ["inputs", "outputs"])
@pytest.mark.parametrize(
    "code", ["P101", "P107", "P108", "P110", "P112", "P114", "P116", "P118", "R110", "P104"]
)
def test_a_secure_fault_of_every_kind_keeps_its_message(code: str, secure: str) -> None:
    assert SAID not in _error(code, secure=secure)["message"]
    assert SAID not in _error(code, {"secure": True})["message"]


def test_a_recording_says_what_it_said_and_an_answer_that_a_budget_cut_is_known() -> None:
    hidden = "the command ended with code 3; its message is hidden, since it is secure"
    fault = ProviderError(hidden, code="P109", detail={"secure": True})
    perform = Perform("a", "run", {}, secure=True, secure_outputs=True)
    assert _told(perform, fault)["message"] == hidden

    perform = Perform("a", "ask", {}, secure=True, secure_outputs=True)
    error = _told(perform, ProviderError(f"{SAID} was cut; raise the budget", code="P118"))
    assert SAID not in error["message"]
    assert is_cut(error)


@pytest.mark.parametrize(
    ("code", "detail", "told"),
    [
        ("P104", {}, "it failed, see `whorl help P104`"),
        ("P104", {"status": 418}, "it gave status 418"),
        ("P104", {"status": SAID}, "it failed, see `whorl help P104`"),
        ("P104", {"secure": SAID}, "it failed, see `whorl help P104`"),
        ("P109", {"exit_code": 3}, "the command ended with code 3"),
        ("P104", {"exit_code": 3}, "it failed, see `whorl help P104`"),
    ],
)
def test_what_a_secure_task_said_is_not_shown(code: str, detail: dict[str, Any], told: str) -> None:
    message = _error(code, detail)["message"]

    assert message == f"{told}; its message is hidden, since it is secure"


def test_what_the_other_side_says_is_reported_where_only_inputs_are_secure() -> None:
    detail = {"status": 403, "url": SAID, "body": "not you"}
    error = _error("P104", dict(detail), secure="inputs")

    assert error["message"] == "it gave status 403; its message is hidden, since it is secure"
    assert error["detail"] == {"status": 403, "body": "not you"}
    assert "not you" not in _error("P104", dict(detail))["message"]
    assert _error("P104", dict(detail), secure="no")["message"] == f"it was {SAID}"


def test_a_value_may_be_so_deep() -> None:
    value: Any = 1
    for _ in range(64):
        value = [value]
    assert fit({"value": value}) == {"value": value}

    with pytest.raises(ProviderError, match="levels deep") as caught:
        fit({"value": [value]})
    assert caught.value.code == "P105"


@pytest.mark.parametrize(("number", "beyond"), [(2**63 - 1, 2**63), (-(2**63), -(2**63) - 1)])
def test_a_number_may_be_so_large(number: int, beyond: int) -> None:
    assert fit({"number": number}) == {"number": number}

    with pytest.raises(ProviderError, match="64 bits"):
        fit({"number": beyond})
