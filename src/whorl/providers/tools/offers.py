"""The tools that a model is offered, and what stands behind each name that it is told."""

from __future__ import annotations

import inspect
import re
from dataclasses import field
from typing import TYPE_CHECKING

from whorl.errors import ProviderError, did_you_mean
from whorl.lazily import dataclass
from whorl.providers.functions import import_function
from whorl.providers.models.conversation import ToolCall, ToolOffer
from whorl.providers.tools.servers import ListedTool, changed

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from whorl.language import Json
    from whorl.providers.context import Context
    from whorl.providers.functions import Function

OFFERS_MAX = 128
NAME_MAX = 64
_UNUSUAL = re.compile(r"[^a-zA-Z0-9_-]")
_TYPES = {"str": "string", "int": "integer", "float": "number", "bool": "boolean", "list": "array"}


@dataclass(frozen=True, slots=True)
class ToolOffers:
    """What a model is offered, and what stands behind each name that it is told."""

    offers: list[ToolOffer] = field(default_factory=list)
    targets: dict[str, dict[str, Json]] = field(default_factory=dict)
    pins: dict[str, Json] = field(default_factory=dict)

    def add(
        self, wish: str, description: str, schema: dict[str, Json], target: dict[str, Json]
    ) -> None:
        plain = _UNUSUAL.sub("_", wish)[:NAME_MAX]
        name, number = plain, 1
        while name in self.targets:
            number += 1
            name = f"{plain[: NAME_MAX - 4]}_{number}"
        self.targets[name] = target
        self.offers.append(ToolOffer(name, description, schema))

    def extend(self, others: ToolOffers) -> None:
        for offer in others.offers:
            self.add(offer.name, offer.description, offer.schema, others.targets[offer.name])
        self.pins.update(others.pins)

    def wanted(self, call: ToolCall, call_id: str) -> dict[str, Json]:
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


async def offered_tools(
    context: Context, names: Sequence[Json], run: str, earlier: Mapping[str, str]
) -> ToolOffers:
    """The tools behind names; P122 where one is not what `earlier`, if any, has the hash of."""
    offers, settings = ToolOffers(), context.settings
    for name in names:
        if not isinstance(name, str):
            raise _unfit(f"holds {name!r:.80}; each is the name of an MCP server or a task")
        server, _, tool = name.partition("/")
        if context.functions.get(name) is not None or name in settings.tasks:
            _add_task(context, name, offers)
        elif server in settings.mcp:
            _add_server(server, tool, await context.servers.tools(server, run), offers)
        else:
            near = did_you_mean(name, [*settings.mcp, *settings.tasks, *context.functions.names()])
            raise _unfit(
                f"names {name!r}, which is neither an MCP server nor a task; add [mcp.{name}] or "
                f"[tasks] {name} to whorl.toml{'; ' + near if near else ''}"
            )
    count = len(offers.offers)
    if count > OFFERS_MAX:
        raise _unfit(f"means {count} tools, but at most {OFFERS_MAX} can be offered")
    for name, pin in offers.pins.items() if earlier else ():
        if earlier.get(name) != pin:
            raise changed(*name.split("/", 1), is_new=name not in earlier)
    return offers


def _add_server(server: str, only: str, listed: list[ListedTool], offers: ToolOffers) -> None:
    chosen = [tool for tool in listed if only in ("", tool.name)]
    if only and not chosen:
        near = did_you_mean(only, [tool.name for tool in listed])
        raise _unfit(f"names {server}/{only}, which that server does not have; {near}")
    for tool in chosen:
        target: dict[str, Json] = {"kind": "tool", "server": server, "tool": tool.name}
        offers.pins[f"{server}/{tool.name}"] = tool.pin
        name = f"{server}__{tool.name}"
        offers.add(name, tool.description, tool.schema, target | {"pin": tool.pin})


def _add_task(context: Context, task: str, offers: ToolOffers) -> None:
    registered = context.functions.get(task)
    place = context.settings.tasks.get(task, "")
    function = None if registered is None else registered.function
    if function is None and place.startswith("python:"):
        function = import_function(place, context.settings)
    described, schema = f"The task {task!r}.", dict[str, "Json"](type="object")
    if function is not None:
        described, schema = inspect.getdoc(function) or "", schema_of(function)
    offers.add(task, described, schema, {"kind": "use", "task": task})


def schema_of(function: Function) -> dict[str, Json]:
    properties: dict[str, Json] = {}
    required: list[Json] = []
    is_open = False
    for name, parameter in inspect.signature(function).parameters.items():
        if parameter.kind in (parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL):
            is_open = True
            continue
        annotation = parameter.annotation
        written = annotation.__name__ if isinstance(annotation, type) else annotation
        kind = _TYPES.get(written.partition("[")[0]) if isinstance(written, str) else None
        properties[name] = {"type": kind} if kind else {}
        if parameter.default is parameter.empty:
            required.append(name)
    schema: dict[str, Json] = {"type": "object", "properties": properties, "required": required}
    return schema | {"additionalProperties": is_open}


def _unfit(why: str) -> ProviderError:
    return ProviderError(f"input 'tools' of task 'ask' {why}", code="P113")
