"""What definitions of Logic Apps are given and answered: the least that they read.

Lists are empty, texts are short, and what a schema describes is made by it.
"""

from __future__ import annotations

import json
import re
from base64 import b64encode
from typing import Any

_READ = re.compile(
    r"(triggerBody|triggerOutputs|body|outputs)\((?:'([^']+)')?\)"
    r"((?:\??(?:\['[^']+'\]|\.[A-Za-z_]\w*))*)"
)
_KEY = re.compile(r"\['([^']+)'\]|\.([A-Za-z_]\w*)")
# Who reads a text, by what stands before it, and which.
_TEXTS = {"json(": "{}", "int(": "1", "xml(": "<a/>", "base64ToString(": "MQ=="}
# Who reads a list, by what stands before it.
_LISTS = re.compile(r"(?:length|first|last|join|take|skip|union|reverse)\($")
_DATES = re.compile("date|time|created|modified|since|start|end", re.IGNORECASE)
_SAMPLES: dict[str, Any] = {"string": "1", "integer": 1, "number": 1, "boolean": False}
DEPTH_MAX = 12
_DAYS = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]
_ZONE = {"inputTimeZone": "UTC", "startTime": "2024-01-01T00:00:00", "days": _DAYS}
_APIS = ("shared_sharepointonline", "shared_office365", "shared_approvals")
_CONNECTED = {name: {"connectionId": "c"} for name in _APIS}
_TOKENS = {"$ConnectionKey": "k", "$connections": _CONNECTED}
_RECURRENCE = {"interval": 1, "frequency": "Day", "endTime": "2090-01-01T00:00:00Z", "count": 9}
_ODATA = {"odataTopDefault": 10, "loopLimit": 2, "odata-api-key": "x"}
_SHARED = {f"sharepoint-{name}": "x" for name in ("site-url", "folder-path", "file-name")}
_BLOB = {"azure-blob-name": "x", "azure-container-name": "x"}
# What some files need beside: values of a kind, by their numbers. First what a run is given, then
# what actions are answered.
GIVEN: dict[str, dict[str, Any]] = {
    "010": {"body": {"incidentUpdates": {"comments": []}}},
    "036": {"body": {"Content": "<a xmlns='urn:a'/>"}},
    "047": {"body": {"Product": "SKU101", "Quantity": 1}},
    "067": {"queries": {"keyVaults": "[/s/1/r/2/p/3/v/4]", "op": "get"}},
    "081": {"body": {"object": {"properties": {"Alerts": []}}}},
    "087": {"body": {"jobRecurrence": _RECURRENCE}},
    "090": {"body": _ZONE},
    "091": {"body": _ZONE | {"hours": 1, "minutes": 1}},
    "105": {f"{name}_#workflowname#": value for name, value in (_ODATA | _SHARED).items()},
    "106": {f"{name}_#workflowname#": value for name, value in (_ODATA | _BLOB).items()},
    "112": {"headers": {"Correlation-Context": "x-ms-client-object-id=1,2"}},
    "129": {
        "body": {"rfcServerContext": {"FunctionName": "Z_GET_ORDERS_ANALYSIS"}, "content": "<a/>"},
        "ValidationRules": "rules.csv",
        "EmailTo": "a@example.com",
    },
    "135": {"headers": {"X-MS-APIM-Tokens": b64encode(json.dumps(_TOKENS).encode()).decode()}},
}
ANSWERED: dict[str, dict[str, Any]] = {
    "102": {"Get_Organization_Users": {"value": []}},
    "106": {"Get_total_count_of_SAP_Sales_Orders": {"@odata.count": 0}},
    "115": {"Get_blob_content": '{"lastRun": "x", "lastRunEpoch": 1}'},
    "119": {"Get_blob_content": "[]"},
    "127": {"Get_blob_content": "[]"},
    "129": {
        "Analyze_data": {"choices": [{"message": {"content": "It is so."}}]},
        "Format_markdown_to_html": {"html": "<p>"},
    },
}


def sample(schema: Any, name: str = "", depth: int = 0) -> Any:
    """A value that fits a schema."""
    if not isinstance(schema, dict) or depth > DEPTH_MAX:
        return None
    kind = schema.get("type", "object" if "properties" in schema else "string")
    kind = kind[0] if isinstance(kind, list) else kind
    if kind == "object":
        fields = schema.get("properties") or {}
        return {key: sample(part, key, depth + 1) for key, part in fields.items()}
    if kind == "array":
        items = schema.get("items")
        return [sample(items, name, depth + 1)] if schema.get("minItems") else []
    return _leaf(name) if kind == "string" else _SAMPLES.get(kind)


def _leaf(name: str) -> str:
    return "2024-01-01T00:00:00Z" if _DATES.search(name) else "1"


def merged(value: Any, other: Any) -> Any:
    """An object with the values of another one put into it."""
    if not isinstance(value, dict) or not isinstance(other, dict):
        return other
    both = {key: merged(value.get(key), part) for key, part in other.items()}
    return value | both


class Answers:
    """What each action of a definition is answered, by name, and what its run is given."""

    def __init__(self, definition: Any, number: str) -> None:
        self._own = ANSWERED.get(number, {})
        self.body: dict[str, Any] = {}
        self.headers: dict[str, Any] = {}
        self._bodies: dict[str, dict[str, Any]] = {}
        # What is read as a whole.
        self._whole: dict[str, Any] = {}
        self._look(definition, "")

    def given(self, number: str) -> dict[str, Any]:
        return merged({"body": self.body, "headers": self.headers}, GIVEN.get(number, {}))

    def of(self, action: str) -> Any:
        if action in self._own:
            return self._own[action]
        made = self._bodies.get(action.lower(), {})
        return {"value": []} | made if made else self._whole.get(action.lower(), {"value": []})

    def _look(self, value: Any, key: str) -> None:
        if isinstance(value, list):
            for item in value:
                self._look(item, key)
        elif isinstance(value, str):
            self._read(value, is_list=key in ("foreach", "from"))
        elif isinstance(value, dict):
            inputs = value.get("inputs")
            if isinstance(inputs, dict) and isinstance(inputs.get("schema"), dict):
                self._describe(inputs)
            for name, part in value.items():
                self._look(part, name)

    def _describe(self, inputs: dict[str, Any]) -> None:
        made = sample(inputs["schema"])
        read = _READ.search(str(inputs.get("content", "@triggerBody()")))
        if isinstance(made, dict) and read is not None and not read[3]:
            self._root(read[1], read[2]).update(made)

    def _root(self, function: str, action: str) -> dict[str, Any]:
        if function.startswith("trigger"):
            return self.body
        return self._bodies.setdefault((action or "").lower(), {})

    def _read(self, text: str, *, is_list: bool) -> None:
        for read in _READ.finditer(text):
            keys = [quoted or dotted for quoted, dotted in _KEY.findall(read[3])]
            tree = self._root(read[1], read[2])
            if read[1] in ("outputs", "triggerOutputs") and keys:
                part = keys.pop(0)
                tree = self.headers if part == "headers" else tree if part == "body" else {}
            is_whole = is_list and text.strip() in (f"@{read[0]}", f"@{{{read[0]}}}")
            is_last = is_whole or _LISTS.search(text[: read.start()]) is not None
            before = re.search(r"\w+\($", text[: read.start()])
            if not keys and read[2]:
                whole = [] if is_last else _TEXTS.get(before[0] if before else "")
                if whole is not None:
                    self._whole.setdefault(read[2].lower(), whole)
            for at, key in enumerate(keys):
                is_leaf = at == len(keys) - 1
                made: Any = ([] if is_last else _leaf(key)) if is_leaf else {}
                if is_leaf and is_last and not isinstance(tree.get(key), dict | list):
                    tree[key] = made
                inner = tree.setdefault(key, made)
                if not is_leaf and isinstance(inner, str):
                    inner = tree[key] = {}
                if not isinstance(inner, dict):
                    break
                tree = inner
