"""What a workflow needs that workers on several machines do not have by themselves."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whorl.errors import UsageError

if TYPE_CHECKING:
    from whorl.interpreter.plan import Plan
    from whorl.providers.settings import TemporalSettings

# Workers share no disk: these tasks work in a folder.
OF_FOLDERS = frozenset({"run", "agent", "file_glob", "file_read", "file_write"})


def check_runnable(plan: Plan, settings: TemporalSettings) -> None:
    """Refuses a workflow with the line that is missing. Raises UsageError W920."""
    for key, task in plan.tasks.items():
        place = key.partition(":")[2] or key
        has_files = any(name in ("images", "files") for name, _ in task.inputs.entries)
        is_local = task.kind in OF_FOLDERS or (task.kind == "ask" and has_files)
        if is_local and task.kind not in settings.queues:
            raise _refused(
                f"step {place!r} works in a folder ({task.kind}), which workers do not share",
                f'name a queue for it: [runtime.temporal.queues] {task.kind} = "NAME"',
            )
    if plan.is_confidential and not settings.encrypt_with:
        raise _refused(
            "the workflow has secret inputs or outputs, which Temporal would keep readable",
            'set [runtime.temporal] encrypt_with = "env:WHORL_KEY"',
        )


def _refused(words: str, advice: str) -> UsageError:
    return UsageError(words, help=f'{advice}, or run it with [runtime] kind = "local"', code="W920")
