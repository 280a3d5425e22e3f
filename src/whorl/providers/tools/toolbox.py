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
class ToolOffers:
    """What a model is offered, and what stands behind each name that it is told."""

    offers: list[ToolOffer] = field(default_factory=list)
    targets: dict[str, dict[str, Json]] = field(default_factory=dict)
    pins: dict[str, Json] = field(default_factory=dict)

    def add(
        self, wish: str, description: str, schema: dict[str, Json], target: dict[str, Json]
    ) -> None:
        """Adds a tool, by a name that every wire format takes, and that is not taken yet."""
        plain = _UNUSUAL.sub("_", wish)[:NAME_MAX]
        name, number = plain, 1
        while name in self.targets:
            number += 1
            name = f"{plain[: NAME_MAX - 4]}_{number}"
        self.targets[name] = target
        self.offers.append(ToolOffer(name, description, schema))

    def wanted(self, call: ToolCall, call_id: str) -> dict[str, Json]:
        """The call as the machine carries it out, or why it cannot be."""
        target = self.targets.get(call.name)
        if target is None:
            near = did_you_mean(call.name, self.targets) or f"known: {', '.join(self.targets)}"
            return {"id": call_id, "error": f"there is no tool {call.name!r}; {near}"}
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
        self, names: Sequence[Json], run: str, earlier: Mapping[str, str] | None = None
    ) -> ToolOffers:
        """The tools behind the names; servers that are needed are started. Raises ProviderError.

        `earlier` are the hashes of what the model was told before: P122 when one has changed.
        """
        offers = ToolOffers()
        for name in names:
            if not isinstance(name, str):
                raise _unfit(f"holds {name!r:.80}; each is the name of an MCP server or a task")
            server, _, tool = name.partition("/")
            if self._functions.get(name) is not None or name in self._settings.tasks:
                self._add_task(name, offers)
            elif server in self._settings.mcp:
                listed = await self._servers.tools(server, run)
                self._add_server(server, tool, listed, offers)
            else:
                raise _unfit(self._unknown(name))
        count = len(offers.offers)
        if count > OFFERS_MAX:
            raise _unfit(f"stands for {count} tools, and at most {OFFERS_MAX} can be offered")
        for name, pin in (earlier or {}).items():
            if offers.pins.get(name, pin) != pin:
                raise changed(*name.split("/", 1))
        return offers

    def _add_server(
        self, server: str, only: str, listed: list[ListedTool], offers: ToolOffers
    ) -> None:
        chosen = [tool for tool in listed if only in ("", tool.name)]
        if only and not chosen:
            near = did_you_mean(only, [tool.name for tool in listed])
            raise _unfit(f"names {server}/{only}, which that server does not have; {near}")
        for tool in chosen:
            target: dict[str, Json] = {"kind": "tool", "server": server, "tool": tool.name}
            offers.pins[f"{server}/{tool.name}"] = tool.pin
            name = f"{server}__{tool.name}"
            offers.add(name, tool.description, tool.schema, target | {"pin": tool.pin})

    def _add_task(self, task: str, offers: ToolOffers) -> None:
        registered = self._functions.get(task)
        place = self._settings.tasks.get(task, "")
        function = None if registered is None else registered.function
        if function is None and place.startswith("python:"):
            from whorl.providers.use import import_function

            function = import_function(place, self._settings)
        described, schema = f"The task {task!r}.", dict[str, "Json"](type="object")
        if function is not None:
            described, schema = inspect.getdoc(function) or "", schema_of(function)
        offers.add(task, described, schema, {"kind": "use", "task": task})

    def _unknown(self, name: str) -> str:
        near = did_you_mean(
            name, [*self._settings.mcp, *self._settings.tasks, *self._functions.names()]
        )
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


def _unfit(why: str) -> ProviderError:
    return ProviderError(f"input 'tools' of task 'ask' {why}", code="P113")
