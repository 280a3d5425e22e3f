"""The operator's `[agents.NAME]`, read."""

from __future__ import annotations

from typing import Any

import pytest

from whorl.errors import UsageError
from whorl.providers.agents.settings import agents_from


@pytest.mark.parametrize(
    ("table", "code", "words"),
    [
        ({"programme": "claude"}, "W901", "did you mean 'program'?"),
        ({"kind": "parrot"}, "W902", "kind must be one of"),
        ({"kind": "text"}, "W902", "needs a program"),
        ({"program": ["claude"]}, "W902", "program must be a text"),
        ({"program": "claude", "flags": "--x"}, "W902", "flags must be a list"),
        ({"program": "claude", "flags": [1]}, "W902", "flags must be texts"),
        ({"program": "claude", "skip_permissions": "yes"}, "W902", "true or false"),
        ({"program": "claude", "timeout_s": 0}, "W902", "timeout_s must be"),
        ({"program": "claude", "env": {"A=B": "x"}}, "W902", "env.A=B"),
        ({"program": "claude", "env": {"A": "env:B"}}, "W902", "'B', which was not read"),
        ("claude", "W902", "must be a table"),
    ],
)
def test_a_wrong_configuration_is_named(table: Any, code: str, words: str) -> None:
    with pytest.raises(UsageError) as caught:
        agents_from({"mine": table})

    assert caught.value.code == code
    assert words in f"{caught.value} {caught.value.help}"
