"""Whorl: a workflow engine for AI work that goes round until it is right.

    import whorl

    result = whorl.run_sync("polish.yaml", {"task": "a haiku"})
    print(result.output, result.loops[0].exit_reason)

`Session` starts, watches and steers runs; `build` makes a workflow without a file; `Tasks` holds
Python functions that workflows may use. Nothing heavy is imported until it is used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

__version__ = "0.1.0"

if TYPE_CHECKING:
    from whorl.errors import (
        Cause,
        Diagnostic,
        InvalidWorkflow,
        ProviderError,
        RunFailed,
        Span,
        StoreError,
        UsageError,
        WhorlError,
    )
    from whorl.interfaces.python.session import Run, Session, resume, run, run_sync
    from whorl.interfaces.python.values import (
        Event,
        LoopResult,
        Result,
        Usage,
        Workflow,
        build,
        load,
    )
    from whorl.language import Json
    from whorl.providers.task import Tasks

__all__ = [
    "Cause",
    "Diagnostic",
    "Event",
    "InvalidWorkflow",
    "Json",
    "LoopResult",
    "ProviderError",
    "Result",
    "Run",
    "RunFailed",
    "Session",
    "Span",
    "StoreError",
    "Tasks",
    "Usage",
    "UsageError",
    "WhorlError",
    "Workflow",
    "__version__",
    "build",
    "load",
    "resume",
    "run",
    "run_sync",
]

# Where these names stand; what is light to import comes first.
_MODULES = ("errors", "interfaces.python.values", "interfaces.python.session", "language")

if not TYPE_CHECKING:
    # A type checker that saw it would take every misspelt name for one that exists.
    def __getattr__(name: str) -> object:
        """Imports a public name when it is first used."""
        from importlib import import_module

        for module in _MODULES if name in __all__ else ():
            names = vars(import_module(f"whorl.{module}"))
            if name in names:
                return names[name]
        raise AttributeError(f"module 'whorl' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
