"""Whorl: a workflow engine for AI work that repeats steps until the result is right.

    import whorl

    result = whorl.run_sync("polish.yaml", {"task": "a haiku"})
    print(result.output, result.loops[0].exit_reason)

`Session` starts, watches and steers runs; `build` makes a workflow without a file; `edit` changes
the text of one; `Tasks` holds Python functions that workflows may use. Heavy modules are
imported when they are first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

__version__ = "0.2.0"

if TYPE_CHECKING:
    from whorl.errors import (
        Cause,
        CodeChanged,
        Diagnostic,
        EditRefused,
        InvalidWorkflow,
        LimitReached,
        ProviderError,
        RequestFailed,
        RunFailed,
        Span,
        StoreError,
        UsageError,
        WhorlError,
    )
    from whorl.interfaces.python.events import (
        ApprovalGiven,
        ApprovalRequested,
        IterationFinished,
        IterationStarted,
        LoopFinished,
        RunFinished,
        RunStarted,
        RunWaiting,
        StepFailed,
        StepFinished,
        StepStarted,
        StreamEvent,
        Token,
        Warned,
    )
    from whorl.interfaces.python.loading import build, load
    from whorl.interfaces.python.runs import Run
    from whorl.interfaces.python.session import Session, resume, run, run_sync
    from whorl.interfaces.python.values import (
        Event,
        Iteration,
        LoopResult,
        Record,
        Result,
        Secret,
        Usage,
        Workflow,
    )
    from whorl.interfaces.python.writing.loops import Loop, Turn, loop
    from whorl.interfaces.python.writing.requests import (
        CommandResult,
        Decision,
        HttpReply,
        Limits,
        Retry,
        agent,
        approve,
        ask,
        command,
        http,
        judge,
        now,
        random,
        sleep,
        tool,
        uuid,
        value,
    )
    from whorl.interfaces.python.writing.workflows import (
        Step,
        WorkflowFunction,
        each,
        step,
        workflow,
    )
    from whorl.language import Json
    from whorl.providers.functions import Call, Tasks, current_call
    from whorl.wings.editor.files import edit
    from whorl.wings.experiments.python import Experiment, what_if

__all__ = [
    "ApprovalGiven",
    "ApprovalRequested",
    "Call",
    "Cause",
    "CodeChanged",
    "CommandResult",
    "Decision",
    "Diagnostic",
    "EditRefused",
    "Event",
    "Experiment",
    "HttpReply",
    "InvalidWorkflow",
    "Iteration",
    "IterationFinished",
    "IterationStarted",
    "Json",
    "LimitReached",
    "Limits",
    "Loop",
    "LoopFinished",
    "LoopResult",
    "ProviderError",
    "Record",
    "RequestFailed",
    "Result",
    "Retry",
    "Run",
    "RunFailed",
    "RunFinished",
    "RunStarted",
    "RunWaiting",
    "Secret",
    "Session",
    "Span",
    "Step",
    "StepFailed",
    "StepFinished",
    "StepStarted",
    "StoreError",
    "StreamEvent",
    "Tasks",
    "Token",
    "Turn",
    "Usage",
    "UsageError",
    "Warned",
    "WhorlError",
    "Workflow",
    "WorkflowFunction",
    "__version__",
    "agent",
    "approve",
    "ask",
    "build",
    "command",
    "current_call",
    "each",
    "edit",
    "http",
    "judge",
    "load",
    "loop",
    "now",
    "random",
    "resume",
    "run",
    "run_sync",
    "sleep",
    "step",
    "tool",
    "uuid",
    "value",
    "what_if",
    "workflow",
]

# The modules of these names; what is light to import comes first.
_PYTHON = "values loading writing.workflows writing.loops writing.requests events runs session"
_OURS = (f"interfaces.python.{name}" for name in _PYTHON.split())
_MODULES = ("errors", *_OURS, "providers.functions", "providers.task", "language")

if not TYPE_CHECKING:
    # A type checker that saw it would take every misspelt name for one that exists.
    def __getattr__(name: str) -> object:
        """Imports a public name when it is first used."""
        from importlib import import_module

        from whorl.plugins import wings

        added = (wing.names[name].removeprefix("whorl.") for wing in wings() if name in wing.names)
        for module in (*added, *_MODULES) if name in __all__ else ():
            names = vars(import_module(f"whorl.{module}"))
            if name in names:
                return names[name]
        raise AttributeError(f"module 'whorl' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
