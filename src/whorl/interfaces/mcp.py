"""Workflows as MCP tools: any MCP client starts runs, and fetches the results of long ones later.

Every workflow is a tool whose arguments are its inputs. A call waits a while for the run; if that
is not enough, it answers with the run's id, and `whorl_result` gives the result when it is there.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import mcp_types as types
from mcp.server import Server
from mcp.server.stdio import stdio_server

from whorl import __version__
from whorl.errors import UsageError, WhorlError
from whorl.interfaces.advice import advised
from whorl.interfaces.formatting import written
from whorl.interfaces.python.session import Session
from whorl.lazily import dataclass
from whorl.runtimes.journal.journal import RunId
from whorl.runtimes.sqlite.listing import TRY

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from mcp.server import ServerRequestContext

    from whorl.interfaces.python.runs import Run
    from whorl.interfaces.python.values import Workflow
    from whorl.services.project import Project


WAIT_S = 20.0
WAIT_MAX_S = 300.0
_SIGNALS = (signal.SIGTERM, signal.SIGINT)
_TYPES = {"file": "string", "list": "array", "files": "array"}
_TYPES |= {name: name for name in ("string", "number", "integer", "boolean")}
# What a client receives beside the output of a run that succeeded with a mark.
_WARNINGS = {
    "limit": "! limit: a loop ended at its limit before its condition was met",
    "budget": "! budget: a loop ended because of the budget before its condition was met",
    "warning": "! warning: a text was cut, left out or not clear; the result's warnings say which",
}


def _tool(
    name: str, words: str, properties: dict[str, Any], required: list[str], *, is_open: bool = False
) -> types.Tool:
    schema: dict[str, Any] = {"type": "object", "properties": properties, "required": required}
    schema |= {"additionalProperties": is_open}
    return types.Tool(name=name, description=words, input_schema=schema)


_RUN = {"type": "string", "description": "the run's id, as the call of the workflow gave it"}
_WAIT = {"type": "number", "description": "how long to wait for it", "default": WAIT_S}
_LATER = "The result of a run that was still running when its workflow's call answered."
_RESULT = _tool("whorl_result", _LATER, {"run": _RUN, "wait_s": _WAIT}, ["run"])
_CANCEL = _tool("whorl_cancel", "Cancels a run.", {"run": _RUN}, ["run"])


class ServedSession(Session):
    """A session whose runs any server of the project may resume."""

    _origin = "server"

    def served(self, given: dict[str, Any], workflows: Iterable[Workflow]) -> Run[Any]:
        """Returns a run of these workflows by its whole id; refuses the ids of all other runs."""
        wanted = str(given.get("run", ""))
        known = [(each.name, str(Path(each.file).resolve())) for each in workflows]
        with suppress(UsageError):
            row = self._opened().store.run(RunId(wanted))
            if (row.name, row.file) in known and not row.key.startswith(TRY):
                return self.run(row.id)
        words = f"no run of these workflows has the id {wanted[:80]!r}"
        raise UsageError(words, help="give the whole id, as the call gave it", code="W902")

    async def take_up(self, run: Run[Any]) -> None:
        """Resumes a run whose server is gone, or whose client left."""
        opened = self._opened()
        if opened.store.run(RunId(run.id)).origin == self._origin:
            await opened.driving.take_up(RunId(run.id))


@dataclass(frozen=True, slots=True)
class WorkflowTools:
    """The tools of a server: the workflows by name, and those that fetch and cancel runs."""

    session: ServedSession
    workflows: Mapping[str, Workflow]
    wait_s: float

    async def list_tools(
        self, context: ServerRequestContext[Any], page: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        tools = [_workflow_tool(name, workflow) for name, workflow in self.workflows.items()]
        return types.ListToolsResult(tools=[*tools, _RESULT, _CANCEL])

    async def call_tool(
        self, context: ServerRequestContext[Any], call: types.CallToolRequestParams
    ) -> types.CallToolResult:
        """Starts a run, or fetches or cancels one. Our own errors are answers, not crashes."""
        given: dict[str, Any] = dict(call.arguments or {})
        try:
            seconds = self.wait_s
            if call.name == _RESULT.name:
                run = self.session.served(given, self.workflows.values())
                seconds = _seconds(given.get("wait_s", seconds))
                await self.session.take_up(run)
            elif call.name == _CANCEL.name:
                run = self.session.served(given, self.workflows.values())
                await run.cancel()
            elif call.name in self.workflows:
                run = await self.session.start(self.workflows[call.name], given)
            else:
                raise UsageError(f"there is no tool {call.name!r}")
            return await self._answer(run, seconds)
        except WhorlError as fault:
            document = {"error": str(fault)}
            document |= {name: getattr(fault, name, "") for name in ("code", "help")}
            return _reply(str(fault), document, is_error=True)

    async def _answer(self, run: Run[Any], seconds: float) -> types.CallToolResult:
        waiting = asyncio.create_task(run.result())
        done, _ = await asyncio.wait({waiting}, timeout=seconds)
        if not done:
            waiting.cancel()
            text = f"run {run.id} is still running; fetch its result with {_RESULT.name}"
            return _reply(text, {"run": run.id, "status": "running"})
        result = waiting.result()
        names = ("path", "iterations", "exit_reason")
        document = {
            "run": result.run,
            "status": result.status,
            "mark": run.mark,
            "output": result.output,
            "outputs": result.outputs,
            "loops": [{name: getattr(loop, name) for name in names} for loop in result.loops],
            "cost_usd": result.usage.cost_usd,
            "error": result.error,
        }
        if result.status == "succeeded":
            text = written(result.output)
            if len(result.outputs) != 1:
                parts = (f"{name}:\n{written(value)}" for name, value in result.outputs.items())
                text = "\n\n".join(parts)
            return _reply(text, document, beside=_WARNINGS.get(run.mark or "", ""))
        words = advised(result.error) if result.error else f"run {run.id} is {result.status}"
        return _reply(words, document, is_error=result.status == "failed")


def tool_name(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9_-]+", "_", name)[:64] or "workflow"


async def serve_stdio(project: Project, workflows: Mapping[str, Workflow], wait_s: float) -> None:
    """Serves workflows on standard input and output until the client goes away."""
    async with ServedSession.of_project(project) as session:
        _leave_on_signals(session)
        tools = WorkflowTools(session, workflows, wait_s)
        server: Server[Any] = Server(
            "whorl",
            version=__version__,
            instructions="Each tool runs a workflow. A long run answers with its id: fetch its "
            "result with whorl_result.",
            on_list_tools=tools.list_tools,
            on_call_tool=tools.call_tool,
        )
        async with stdio_server() as (read, write):
            await server.run(read, write, server.create_initialization_options())


def _leave_on_signals(session: ServedSession) -> None:
    """On a signal, lets calls end and then ends the process; a second signal ends it at once.

    The thread that reads standard input cannot be asked to end.
    """
    loop = asyncio.get_running_loop()
    leaving: list[asyncio.Task[None]] = []

    async def leave(number: int) -> None:
        await session.__aexit__()
        os.kill(os.getpid(), number)

    def begin(number: int) -> None:
        for one in _SIGNALS:
            loop.remove_signal_handler(one)
            signal.signal(one, signal.SIG_DFL)
        leaving.append(loop.create_task(leave(number)))

    for number in _SIGNALS:
        loop.add_signal_handler(number, begin, number)


def _workflow_tool(name: str, workflow: Workflow) -> types.Tool:
    words = workflow.ir.description or f"Runs the workflow {workflow.name!r}."
    ports = workflow.ir.inputs
    properties = {}
    for port in ports:
        default = None if port.secret else port.default
        fields = (_TYPES.get(port.type), port.description or None, default, port.secret or None)
        named = zip(("type", "description", "default", "writeOnly"), fields, strict=True)
        properties[port.name] = {key: value for key, value in named if value is not None}
    required = [port.name for port in ports if port.required and port.default is None]
    return _tool(name, words, properties, required, is_open=workflow.ir.open_inputs)


def _seconds(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or value < 0:
        raise UsageError(f"wait_s must be a number of seconds, not {value!r}")
    return min(float(value), WAIT_MAX_S)


def _reply(
    text: str, document: dict[str, Any], *, beside: str = "", is_error: bool = False
) -> types.CallToolResult:
    """Returns an answer; `beside` is a part of its own, so that the output stays whole."""
    whole = json.loads(json.dumps(document))
    parts = [text, beside] if beside else [text]
    content: list[types.ContentBlock] = [types.TextContent(type="text", text=p) for p in parts]
    return types.CallToolResult(content=content, structured_content=whole, is_error=is_error)
