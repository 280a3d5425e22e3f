"""Conditions: a string, or an object of functions such as `{"and": [{"equals": ["@a", 1]}]}`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from whorl.dialects.loom.texts import as_term, expression, quote, scalars_in, text_term
from whorl.source import Mapping, Scalar, Sequence, plain

if TYPE_CHECKING:
    from whorl import ir
    from whorl.dialects.loom.draft import Draft
    from whorl.source import Value

_DEPTH_MAX = 40


def condition_of(draft: Draft, value: Value, *, inverted: bool = False) -> ir.Expression:
    """The expression of a condition; inverted, it is true where the condition is not."""
    if isinstance(value, Scalar):
        text = value.text if isinstance(value.value, str) else f"@{as_term(value)}"
        if text.startswith("@{") and text.endswith("}") and text.find("@{", 2) < 0:
            text = f"@{text[2:-1]}"
        elif not text.startswith("@"):
            text = f"@{text}"
        if inverted:
            return expression(draft, value, f"@not({text[1:]})")
        return expression(draft, value, None if text == value.text else text)
    place = Scalar("", value.span)
    term = _term(draft, value, 0)
    return expression(draft, place, f"@not({term})" if inverted else f"@{term}")


def _term(draft: Draft, value: Value, depth: int) -> str:
    if isinstance(value, Scalar):
        return text_term(value.value) if isinstance(value.value, str) else as_term(value)
    if isinstance(value, Mapping) and len(value) > 0 and depth < _DEPTH_MAX:
        calls = [_call(draft, entry.name, entry.value, depth) for entry in value]
        if all(calls):
            return calls[0] if len(calls) == 1 else f"and({', '.join(calls)})"
    if any("@" in scalar.text for scalar in scalars_in(value)) or depth >= _DEPTH_MAX:
        draft.report(
            "W007",
            "an array or object with expressions cannot stand in a condition",
            value.span,
            label="not a value of a condition",
            help="compute it in a Compose action, and compare its outputs",
        )
    return f"json({quote(json.dumps(plain(value), ensure_ascii=False))})"


def _call(draft: Draft, function: str, value: Value, depth: int) -> str:
    """A call of a function; empty where the value cannot be what a function is given."""
    if isinstance(value, Sequence):
        terms = [_term(draft, item, depth + 1) for item in value]
        if not terms:
            return {"and": "true", "or": "false"}.get(function.lower(), f"{function}()")
        return f"{function}({', '.join(terms)})"
    if isinstance(value, Mapping) or function.lower() in ("not", "empty"):
        return f"{function}({_term(draft, value, depth + 1)})"
    return ""
