"""What writers share that write several files, and look at what they have written."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from whorl.dialects.writing.again import read_again
from whorl.dialects.writing.comparing import lose_differences
from whorl.dialects.writing.losses import Spot
from whorl.errors import InvalidWorkflow

if TYPE_CHECKING:
    from collections.abc import Iterable

    from whorl import ir
    from whorl.dialects.writing.losses import Ledger
    from whorl.dialects.writing.writer import Written

_UNFIT = re.compile(r"[^\w .-]")


def companion_files(called: Iterable[str], file: str, ending: str) -> dict[str, str]:
    """A file beside the main one for each workflow that is called, by its key.

    A key is whatever a workflow file says: only its last part is used, and only as a name.
    """
    names: dict[str, str] = {}
    taken = {file}
    for key in called:
        last = key.replace("\\", "/").rpartition("/")[2]
        stem = _UNFIT.sub("_", last.rpartition(".")[0] or last).lstrip(".") or "workflow"
        name, count = f"{stem}{ending}", 2
        while name in taken:
            name, count = f"{stem}-{count}{ending}", count + 1
        names[key] = name
        taken.add(name)
    return names


def lose_misread(ledger: Ledger, written: Written, workflow: ir.Workflow) -> None:
    """Reads what was written of a dialect's own workflow: all that it says otherwise is a loss."""
    try:
        again = read_again(written, workflow.dialect).workflow
    except InvalidWorkflow as fault:
        for one in fault.diagnostics:
            ledger.lose(Spot(), one.message, "what is written down cannot be read")
        return
    lose_differences(ledger, workflow, again)
    theirs = dict(again.workflows)
    for key, called in workflow.workflows:
        if key in theirs:
            lose_differences(ledger, called, theirs[key], key=key)
