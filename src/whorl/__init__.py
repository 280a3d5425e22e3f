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
    from whorl.interfaces.python import (
        Event,
        Json,
        LoopResult,
        Result,
        Run,
        Session,
        Tasks,
        Usage,
        Workflow,
        build,
        load,
        resume,
        run,
        run_sync,
    )

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

if not TYPE_CHECKING:
    # A type checker that saw it would take every misspelt name for one that exists.
    def __getattr__(name: str) -> object:
        """Imports a public name when it is first used."""
        if name not in __all__:
            raise AttributeError(f"module 'whorl' has no attribute {name!r}")
        from whorl import errors

        if hasattr(errors, name):
            return getattr(errors, name)
        from whorl.interfaces import python

        return getattr(python, name)


def __dir__() -> list[str]:
    return sorted(__all__)
