"""The IR as files of nodes and edges, and a list of what they cannot say."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from whorl.dialects.shodan.writing.adopting import adopt
from whorl.dialects.shodan.writing.workflow import Components, write_file
from whorl.dialects.writing import Ledger, Spot, Written, emit_yaml, read_again
from whorl.dialects.writing.comparing import lose_differences
from whorl.errors import InvalidWorkflow
from whorl.ir import from_json, to_json

if TYPE_CHECKING:
    from whorl import ir

__all__ = ["ShodanWriter"]


class ShodanWriter:
    """Writes graph files."""

    name = "shodan"
    ending = ".yaml"

    def write(self, workflow: ir.Workflow, file: str) -> Written:
        """Writes a workflow and those that it calls into one file."""
        ledger = Ledger()
        if workflow.dialect != self.name:
            workflow = adopt(ledger, workflow)
        components = Components(dict(workflow.workflows))
        text = emit_yaml(write_file(ledger, workflow, components))
        written = Written({file: text} | components.files)
        _check_again(ledger, written, workflow, components)
        return replace(written, losses=tuple(ledger.losses))


def _check_again(
    ledger: Ledger, written: Written, workflow: ir.Workflow, components: Components
) -> None:
    """What was written reads back as what was meant; what does not is a loss."""
    try:
        again = read_again(written, ShodanWriter.name).workflow
    except InvalidWorkflow as fault:
        found = fault.diagnostics[0]
        ledger.lose(Spot(), "the workflow as a whole", f"{found.message} ({found.span})")
        return
    if ledger.losses:
        # What is left out reads back otherwise all over the place.
        return
    keys = {f"{written.main}#{name}": key for key, name in components.names.items()}
    again = from_json(_with_keys(to_json(again), keys))
    lose_differences(ledger, workflow, again)
    called = {keys.get(key, key): one for key, one in again.workflows}
    for key, one in workflow.workflows:
        if key in called:
            lose_differences(ledger, one, called[key], key=key)


def _with_keys(part: Any, keys: dict[str, str]) -> Any:
    """The workflow with the keys of called workflows as they were."""
    if isinstance(part, list):
        return [_with_keys(item, keys) for item in part]
    if not isinstance(part, dict):
        return part
    found = {name: _with_keys(item, keys) for name, item in part.items()}
    if part.get("is") == "Call":
        found["workflow"] = keys.get(part["workflow"], part["workflow"])
    return found
