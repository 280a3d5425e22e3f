"""Agents that ask a model, by the form of their answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whorl import ir
from whorl.dialects.orka.asking import _BINARY, _STRUCTURE
from whorl.dialects.orka.writing.calls import Called, called
from whorl.dialects.orka.writing.structures import instructed, structured
from whorl.dialects.orka.writing.texts import write_text, write_value
from whorl.dialects.orka.writing.validators import write_validator

if TYPE_CHECKING:
    from whorl.dialects.orka.writing.page import Here
    from whorl.language import Json

    Inputs = dict[str, ir.Value]

_MODEL = ("model", "provider", "model_url", "temperature", "max_tokens")
_MORE = " The structure of memory_object: "


def write_ask(here: Here, node: ir.Task, scored: str | None) -> dict[str, Any]:
    """The fields of an agent; `scored` is what the loop around it scores by, if it says so."""
    inputs = {key: value for key, value in node.inputs.entries if isinstance(key, str)}
    inputs = dict(here.defaults) | inputs
    shape = called(node.shape)
    if shape.function == "orka_validation":
        fields = write_validator(here, inputs, str(shape.arguments[1]), scored)
        return fields | _models(here, inputs, "llm_model") | _rest(here, inputs)
    fields = _answer(here, node, shape, inputs)
    prompt = write_text(here, inputs.pop("prompt", ir.Constant("")))
    fields = {"type": fields.pop("type"), "prompt": prompt} | fields
    return fields | _models(here, inputs, "model") | _rest(here, inputs)


def _answer(here: Here, node: ir.Task, shape: Called, inputs: Inputs) -> dict[str, Any]:
    """The type of the agent, and what its answer shall be."""
    match shape:
        case Called("orka_binary"):
            return {"type": "openai-binary"} | _system(here, inputs, _BINARY)
        case Called("orka_category", (_, options)):
            told = f"Answer with exactly one of these categories, and with nothing else: {options}"
            told = told.replace("'", "")
            return {"type": "openai-classification", "options": options} | _system(
                here, inputs, told
            )
        case Called("orka_structured", (_, empty)) if empty:
            return {"type": "validate_and_structure"} | _structure(here, inputs)
        case Called("orka_structured"):
            return {"type": "openai-answer"} | _described(here, inputs)
    if node.shape is not None:
        here.lose("a result of another form", "an agent gives what the model says")
    fields: dict[str, Any] = {"type": "openai-answer"}
    if node.returns is not None:
        wanted = structured(_open(here, node.returns), is_strict=True)
        if wanted is None:
            here.lose("'returns' of the task", "an answer has fields of plain types, one required")
        else:
            fields["structured_output"] = wanted
    return fields | _system(here, inputs, "")


def _open(here: Here, schema: Json) -> Json:
    """A schema without a word about other fields, of which there is none here."""
    if not isinstance(schema, dict) or schema.get("additionalProperties") is not False:
        return schema
    here.lose("that an answer has no other fields", "what else it holds is kept there")
    return {name: part for name, part in schema.items() if name != "additionalProperties"}


def _described(here: Here, inputs: Inputs) -> dict[str, Any]:
    """Fields that the model is told of."""
    before, told = _parted(inputs.pop("system", ir.Constant("")))
    wanted = instructed(told)
    if wanted is None:
        here.lose("the fields of the answer", "they are not told in the usual words")
        return {}
    return {"structured_output": wanted} | _system_prompt(here, before)


def _structure(here: Here, inputs: Inputs) -> dict[str, Any]:
    before, told = _parted(inputs.pop("system", ir.Constant("")))
    if told == _STRUCTURE:
        return _system_prompt(here, before)
    if told.startswith(_STRUCTURE + _MORE):
        wanted = told.removeprefix(_STRUCTURE + _MORE)
        return {"store_structure": wanted} | _system_prompt(here, before)
    here.lose("what the model is told of its answer", "it is not told in the usual words")
    return {}


def _parted(system: ir.Value) -> tuple[ir.Value | None, str]:
    """What an author told the model, and the last paragraph, which the reader added."""
    if isinstance(system, ir.Expression):
        before, mark, told = system.source.rpartition("\n\n")
        return (ir.Expression(system.syntax, before, system.library) if mark else None), told
    text = str(system.value) if isinstance(system, ir.Constant) else ""
    before, mark, told = text.rpartition("\n\n")
    return (ir.Constant(before) if mark else None), told


def _system(here: Here, inputs: Inputs, told: str) -> dict[str, Any]:
    system = inputs.pop("system", None)
    if not told:
        return _system_prompt(here, system)
    before, last = _parted(system or ir.Constant(""))
    if last != told:
        here.lose("what the model is told of its answer", "it is not told in the usual words")
    return _system_prompt(here, before)


def _system_prompt(here: Here, system: ir.Value | None) -> dict[str, Any]:
    return {} if system is None else {"system_prompt": write_text(here, system)}


def _models(here: Here, inputs: Inputs, model: str) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name in _MODEL:
        if name in inputs:
            found[model if name == "model" else name] = write_value(here, inputs.pop(name))
    return found


def _rest(here: Here, inputs: Inputs) -> dict[str, Any]:
    for name in inputs:
        here.lose(f"the input {name!r} of a question", "an agent has no field for it")
    return {}
