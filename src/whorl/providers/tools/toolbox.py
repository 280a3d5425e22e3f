"""The tools that a model is offered: of MCP servers, and tasks of the operator and the program."""

from __future__ import annotations

import inspect
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from whorl.errors import ProviderError, did_you_mean
from whorl.providers.models.conversation import ToolOffer
from whorl.providers.tools.servers import changed

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from whorl.language import Json
    from whorl.providers.functions import Function, Tasks
    from whorl.providers.models.conversation import ToolCall
    from whorl.providers.task import Context
    from whorl.providers.tools.servers import ListedTool

OFFERS_MAX = 128
NAME_MAX = 64

_UNUSUAL = re.compile(r"[^a-zA-Z0-9_-]")
_TYPES = {str: "string", int: "integer", float: "number", bool: "boolean", list: "array"}
_TYPE_NAMES = {kind.__name__: name for kind, name in _TYPES.items()}


@dataclass(frozen=True, slots=True)
class Offered:
    """What a model is offered, and what stands behind each name that it is told."""

    offers: tuple[ToolOffer, ...] = ()
    targets: dict[str, dict[str, Json]] = field(default_factory=dict)
    pins: dict[str, Json] = field(default_factory=dict)

    def wanted(self, call: ToolCall, call_id: str) -> dict[str, Json]:
        """The call as the machine carries it out, or why it cannot be."""
        target = self.targets.get(call.name)
        if target is None:
            known = did_you_mean(call.name, self.targets) or f"known: {', '.join(self.targets)}"
            return {"id": call_id, "error": f"there is no tool {call.name!r}; {known}"}
        if call.fault:
            return {"id": call_id, "error": call.fault}
        inputs = dict(target)
        kind = str(inputs.pop("kind"))
        inputs["arguments" if kind == "tool" else "with"] = call.arguments
        return {"id": call_id, "name": call.name, "kind": kind, "inputs": inputs}


class Toolbox:
    """Finds what the names in `tools` stand for."""

    def __init__(self, context: Context) -> None:
        self._settings = context.settings
        self._functions: Tasks = context.functions
        self._servers = context.servers

    async def offered(
        self, names: Sequence[Json], run: str, told: Mapping[str, str] | None = None
    ) -> Offered:
        """The tools behind the names; servers that are needed are started. Raises ProviderError.

        `told` are the hashes of what the model was told before: P122 when one has changed.
        """
        found = Offered()
        offers: list[ToolOffer] = []
        for name in names:
            if not isinstance(name, str):
                raise _unfit(f"holds {name!r:.80}; each is the name of an MCP server or a task")
            server, _, tool = name.partition("/")
            if self._functions.get(name) is not None or name in self._settings.tasks:
                offers.append(self._task(name, found))
            elif server in self._settings.mcp:
                offers += self._of_server(
                    server, tool, await self._servers.tools(server, run), found
                )
            else:
                raise _unfit(self._unknown(name))
        if len(offers) > OFFERS_MAX:
            raise _unfit(f"stands for {len(offers)} tools, and at most {OFFERS_MAX} can be offered")
        for name, pin in (told or {}).items():
            if found.pins.get(name, pin) != pin:
                raise changed(*name.split("/", 1))
        return Offered(tuple(offers), found.targets, found.pins)

    def _of_server(
        self, server: str, only: str, tools: list[ListedTool], found: Offered
    ) -> list[ToolOffer]:
        chosen = [tool for tool in tools if only in ("", tool.name)]
        if only and not chosen:
            near = did_you_mean(only, [tool.name for tool in tools])
            raise _unfit(f"names {server}/{only}, which that server does not have; {near}")
        offers = []
        for tool in chosen:
            target: dict[str, Json] = {"kind": "tool", "server": server, "tool": tool.name}
            name = _name(f"{server}__{tool.name}", found)
            found.targets[name] = target | {"pin": tool.pin}
            found.pins[f"{server}/{tool.name}"] = tool.pin
            offers.append(ToolOffer(name, tool.description, tool.schema))
        return offers

    def _task(self, task: str, found: Offered) -> ToolOffer:
        registered = self._functions.get(task)
        place = self._settings.tasks.get(task, "")
        function = None if registered is None else registered.function
        if function is None and place.startswith("python:"):
            from whorl.providers.use import import_function

            function = import_function(place, self._settings)
        name = _name(task, found)
        found.targets[name] = {"kind": "use", "task": task}
        if function is None:
            return ToolOffer(name, f"The task {task!r}.", {"type": "object"})
        return ToolOffer(name, inspect.getdoc(function) or "", schema_of(function))

    def _unknown(self, name: str) -> str:
        known = [*self._settings.mcp, *self._settings.tasks, *self._functions.names()]
        near = did_you_mean(name, known)
        return (
            f"names {name!r}, which is neither an MCP server nor a task; add [mcp.{name}] or "
            f"[tasks] {name} to whorl.toml{'; ' + near if near else ''}"
        )


def schema_of(function: Function) -> dict[str, Json]:
    """The arguments of a function, as far as its signature tells."""
    properties: dict[str, Json] = {}
    required: list[Json] = []
    is_open = False
    for name, parameter in inspect.signature(function).parameters.items():
        if parameter.kind in (parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL):
            is_open = True
            continue
        kind = _type_of(parameter.annotation)
        properties[name] = {"type": kind} if kind else {}
        if parameter.default is parameter.empty:
            required.append(name)
    return {
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": is_open,
    }


def _type_of(annotation: object) -> str:
    if isinstance(annotation, str):
        return _TYPE_NAMES.get(annotation.partition("[")[0], "")
    return _TYPES.get(annotation, "") if isinstance(annotation, type) else ""


def _name(wished: str, found: Offered) -> str:
    """A name that every wire format takes, and that is not taken yet."""
    plain = _UNUSUAL.sub("_", wished)[:NAME_MAX]
    name, number = plain, 1
    while name in found.targets:
        number += 1
        name = f"{plain[: NAME_MAX - 4]}_{number}"
    return name


def _unfit(why: str) -> ProviderError:
    return ProviderError(f"input 'tools' of task 'ask' {why}", code="P113")
