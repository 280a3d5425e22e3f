"""What a secure action was given stands in no error of it, whatever it fails of."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from loom_project import Answer, Asked, run_in, web

if TYPE_CHECKING:
    from pathlib import Path

ALLOWED = "[allow]\nprivate_network = true\n"
SECRET = "correct-horse-battery-staple"
# The secret as no file has it, so that finding it means that a value was stored or told.
COMPUTED = "@{concat('correct-horse-', 'battery-staple')}"
NOBODY = "http://127.0.0.1:9"


def call(uri: str, *secure: str, **inputs: Any) -> dict[str, Any]:
    return {
        "type": "Http",
        "inputs": {"method": "GET", "uri": uri, "retryPolicy": {"type": "none"}} | inputs,
        "runtimeConfiguration": {"secureData": {"properties": [*secure]}},
    }


def answer(asked: Asked) -> Answer:
    if asked.path.startswith("/moved"):
        return Answer(302, None, {"location": f"http://127.0.0.1:9/{asked.path}"})
    return Answer(400, {"why": "not so"})


@pytest.mark.parametrize("secure", [("inputs",), ("inputs", "outputs")])
@pytest.mark.parametrize(
    ("uri", "inputs", "code"),
    [
        (f"{NOBODY}/{COMPUTED}", {}, "P101"),
        (f"http://{COMPUTED}.invalid/", {}, "P101"),
        (f"{COMPUTED}://x/", {}, "P107"),
        (f"SERVER/{COMPUTED}", {}, "P104"),
        (f"SERVER/moved/{COMPUTED}", {}, "P101"),
        ("SERVER/", {"authentication": {"type": COMPUTED, "value": COMPUTED}}, "P116"),
        (f"{NOBODY}/", {"authentication": {"type": "Raw", "value": COMPUTED}}, "P101"),
    ],
)
def test_no_fault_tells_what_a_secure_action_was_given(
    tmp_path: Path, uri: str, inputs: dict[str, Any], code: str, secure: tuple[str, ...]
) -> None:
    with web(answer) as server:
        action = call(uri.replace("SERVER", server.url), *secure, **inputs)
        file = {"definition": {"actions": {"Call": action}}, "kind": "Stateful"}
        ran = run_in(tmp_path, file, config=ALLOWED)

    assert ran.document["error"]["cause"]["code"] == code
    told = json.dumps([ran.document, *(event.body for event in ran.events)])
    assert SECRET not in told
    assert SECRET.encode() not in ran.bytes_stored()
