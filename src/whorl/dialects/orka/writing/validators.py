"""Validators: their prompt is made of an introduction, the work, a strictness and a form."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from whorl import ir
from whorl.dialects.orka.validators import (
    _BEFORE,
    _INTRODUCTION,
    _STRICTNESS,
    _TEMPERATURE,
    USUAL_PRESET,
    _form,
)
from whorl.dialects.orka.values import literal

if TYPE_CHECKING:
    from whorl.dialects.orka.writing.page import Here

    Inputs = dict[str, ir.Value]

_TARGET = re.compile(r"orka_content_before\((\"(?:[^\"\\]|\\.)*\")\)")


def write_validator(here: Here, inputs: Inputs, context: str, scored: str | None) -> dict[str, Any]:
    """The fields of a validator; `scored` is the agent that the loop takes for its target."""
    prompt = inputs.pop("prompt", None)
    if list(inputs)[-1:] == ["temperature"] and inputs["temperature"] == ir.Constant(_TEMPERATURE):
        del inputs["temperature"]
    source = prompt.source if isinstance(prompt, ir.Expression) else ""
    found = _TARGET.search(source)
    target = json.loads(found[1]) if found else ""
    kind = "loop_validator" if scored is None or scored == target else "plan_validator"
    fields: dict[str, Any] = {"type": kind}
    if context != ("loop_convergence" if kind == "loop_validator" else "graphscout"):
        fields["scoring_context"] = context
    for preset, words in _STRICTNESS.items():
        end = f"\n{_BEFORE.format(target=literal(target))}\n{words}\n{_form(context)}"
        if source.endswith(end):
            if preset != USUAL_PRESET:
                fields["scoring_preset"] = preset
            fields |= {"evaluation_target": target} if target else {}
            return fields | _introduction(source.removesuffix(end), target)
    here.lose("the prompt of a validator", "it is not made of the usual parts")
    return fields


def _introduction(head: str, target: str) -> dict[str, Any]:
    shown = f"{{{{ orka_content({literal(target)}) }}}}"
    if head == _INTRODUCTION.replace("{content}", shown):
        return {}
    # What the reader puts after a text without templates is put there again.
    bare = head.removesuffix(f"\n\n{shown}")
    is_plain = bare != head and "{{" not in bare and "{%" not in bare
    return {"custom_prompt": bare if is_plain else head.replace(shown, "{content}")}
