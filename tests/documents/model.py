"""A model's server for the documents: it answers what it is asked for, better each time."""

from __future__ import annotations

import json
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from answers import Answering, answering

if TYPE_CHECKING:
    from collections.abc import Iterator

ROMAN = """```python
def roman(n):
    signs = [(1000, "M"), (900, "CM"), (500, "D"), (400, "CD"), (100, "C"), (90, "XC"),
             (50, "L"), (40, "XL"), (10, "X"), (9, "IX"), (5, "V"), (4, "IV"), (1, "I")]
    return next((s + roman(n - v) for v, s in signs if n >= v), "")
```"""


def reply(asked: dict[str, Any], count: int) -> str:
    """Words, or an object of the shape that is asked for: every second one says yes."""
    shape = asked.get("response_format")
    if shape is None:
        prompt = json.dumps(asked["messages"])
        return ROMAN if "solution.py" in prompt else f"Rain on the tin roof, draft {count}."
    values = {
        "boolean": count % 2 == 0,
        "number": 0.95 if count % 2 == 0 else 0.5,
        "string": f"advice {count}",
    }
    fields = shape["json_schema"]["schema"]["properties"]
    answer = {name: values[field["type"]] for name, field in fields.items()}
    # What is urgent calls a service, which is not there.
    return json.dumps(answer | {name: False for name in fields if name == "urgent"})


class Handler(Answering):
    """Speaks as OpenAI's servers do."""

    counts: dict[bool, int]

    def do_GET(self) -> None:  # noqa: N802 - its own name
        self.answer({"object": "list", "data": [{"id": "gpt-5-mini", "object": "model"}]})

    def do_POST(self) -> None:  # noqa: N802 - its own name
        asked = self.asked()
        has_shape = "response_format" in asked
        self.counts[has_shape] = self.counts.get(has_shape, 0) + 1
        self.say(asked["model"], reply(asked, self.counts[has_shape]))


@contextmanager
def served_model() -> Iterator[str]:
    """The address of a server that counts from one."""
    handler = type("Counting", (Handler,), {"counts": {}})
    with answering(handler) as url:
        yield f"{url}/v1"
