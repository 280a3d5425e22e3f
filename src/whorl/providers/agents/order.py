"""What an agent is asked to do, read from a task's inputs: checked, and not yet a command."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from whorl.providers.inputs import Inputs
from whorl.providers.models.answers import correction_for
from whorl.providers.texts import clean

if TYPE_CHECKING:
    from whorl.language import Json
    from whorl.providers.task import Request

# A command line holds the system prompt of some programs, and Linux takes 128 KB for one word.
SYSTEM_BYTES_MAX = 100_000

_MODEL = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:/@\[\]-]{0,199}")
_TOOL = re.compile(r"[A-Za-z][A-Za-z0-9_.:*-]{0,99}")
_SESSION = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.:-]{0,199}")
_WORD = re.compile(r"[A-Za-z][A-Za-z_-]{0,49}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """One piece of work for an agent. Nothing in it but `prompt` and `system` can begin with `-`.

    `session` is a conversation to go on with; `wants_session` says that the next step will ask for
    one. `models` are tried in order. `schema` is what the answer must fit.
    """

    agent: str
    prompt: str
    system: str = ""
    models: tuple[str, ...] = ()
    folder: str = ""
    session: str = ""
    wants_session: bool = False
    max_turns: int | None = None
    max_cost_usd: float | None = None
    permission_mode: str = ""
    tools: tuple[str, ...] = ()
    schema: Json = None
    whole: bool = False


def order_of(request: Request) -> Order:
    """Reads a request; raises ProviderError P113 for an input that makes no sense."""
    inputs = Inputs("agent", request.inputs)
    session, prompt = _conversation(request, inputs)
    system = clean(inputs.text("system"))
    if len(system.encode()) > SYSTEM_BYTES_MAX or "\0" in system:
        inputs.refuse("system", f"must have no NUL and at most {SYSTEM_BYTES_MAX:,} bytes")
    return Order(
        agent=inputs.needed("agent"),
        prompt=prompt,
        system=system,
        models=_models(inputs),
        folder=inputs.text("folder"),
        session=session,
        wants_session=inputs.flag("keep_session", default=False) or bool(session),
        max_turns=inputs.count("max_turns"),
        max_cost_usd=cost_limit(inputs),
        permission_mode=_word(inputs, "permission_mode"),
        tools=_tools(inputs),
        schema=request.returns,
        whole=inputs.flag("whole", default=False),
    )


def cost_limit(inputs: Inputs) -> float | None:
    """The most that the work may cost, where the author says so."""
    value = inputs.number("max_cost_usd")
    if value is not None and not 0 < value < 1e6:
        inputs.refuse("max_cost_usd", f"must be a number of dollars above 0, not {value!r}")
    return value


def _conversation(request: Request, inputs: Inputs) -> tuple[str, str]:
    """The session to go on with and the prompt; after an answer that did not fit, a correction."""
    session = request.session or inputs.text("session")
    prompt = clean(inputs.needed("prompt"))
    if isinstance(request.repair, dict):
        repair = Inputs("agent", request.repair)
        correction = correction_for([str(fault) for fault in repair.items("errors")])
        if kept := repair.text("session"):
            session, prompt = kept, correction
        else:
            answer = repair.text("answer")
            prompt = f"{prompt}\n\nYour answer was:\n{answer}\n\n{correction}"
    if session and not _SESSION.fullmatch(session):
        inputs.refuse("session", f"is no name of a session: {session!r:.80}")
    return session, clean(prompt)


def _models(inputs: Inputs) -> tuple[str, ...]:
    given = inputs.get("model")
    found = given if isinstance(given, list) else [given] if given else []
    for model in found:
        if not isinstance(model, str) or not _MODEL.fullmatch(model):
            inputs.refuse("model", f"is no name of a model: {model!r:.80}")
    return tuple(str(model) for model in found)


def _tools(inputs: Inputs) -> tuple[str, ...]:
    for tool in inputs.items("tools"):
        if not isinstance(tool, str) or not _TOOL.fullmatch(tool):
            inputs.refuse("tools", f"holds {tool!r:.80}, which is no name of a tool")
    return tuple(str(tool) for tool in inputs.items("tools"))


def _word(inputs: Inputs, name: str) -> str:
    word = inputs.text(name)
    if word and not _WORD.fullmatch(word):
        inputs.refuse(name, f"must be one word, not {word!r:.80}")
    return word
