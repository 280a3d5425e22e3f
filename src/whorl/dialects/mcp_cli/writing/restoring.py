"""Workflows that were read from files of mcp-cli, as such files again.

The reader makes calls, shapes and functions of its own of what a file says; here they are taken
back. Whether that gave the same workflow is seen by reading it again.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from whorl import ir
from whorl.dialects.mcp_cli.execution import TURNS, WORKERS
from whorl.dialects.mcp_cli.writing.restored_calls import file_stem, given_to
from whorl.dialects.mcp_cli.writing.restored_loops import restore_each, restore_refine
from whorl.dialects.mcp_cli.writing.restored_texts import restore_condition, restore_text
from whorl.dialects.writing import duration_text
from whorl.language import LanguageError, parse, tree
from whorl.language.printing import CannotSay

if TYPE_CHECKING:
    from collections.abc import Iterator

_ERRORS = {"go_on": "continue", "cancel": "cancel_all", "halt": "halt"}


def restore_documents(workflow: ir.Workflow, file: str) -> dict[str, dict[str, Any]]:
    """The files of a workflow of mcp-cli, by name; raises CannotSay."""
    documents = {file: _Restoring(workflow).document()}
    for key, called in workflow.workflows:
        if called.dialect != "mcp-cli" or key == file:
            raise CannotSay(f"the workflow {key!r}", "it is of another dialect")
        documents[key] = _Restoring(called).document()
    return documents


@dataclass(slots=True)
class _Restoring:
    workflow: ir.Workflow
    execution: dict[str, Any] = field(default_factory=dict)

    def document(self) -> dict[str, Any]:
        try:
            return self._document()
        except (LanguageError, AssertionError) as fault:
            raise CannotSay("a part of the workflow", str(fault)) from None

    def _document(self) -> dict[str, Any]:
        workflow = self.workflow
        found: dict[str, Any] = {"$schema": "workflow/v2.0", "name": workflow.name}
        if workflow.description:
            found["description"] = workflow.description
        self._read_execution()
        if self.execution:
            found["execution"] = self.execution
        env = _env(workflow)
        if env:
            found["env"] = env
        found["steps"] = list(self._steps())
        return found

    def _read_execution(self) -> None:
        body = self.workflow.body
        for node in body.nodes:
            if isinstance(node, ir.Loop) and isinstance(node.until, ir.Judge):
                self.execution |= _judge_model(node.until)
        if body.concurrency is not None:
            self.execution["parallel"] = True
            if body.concurrency != WORKERS:
                self.execution["max_workers"] = body.concurrency
            if body.on_failure != "halt":
                self.execution["on_error"] = _ERRORS[body.on_failure]

    def _steps(self) -> Iterator[dict[str, Any]]:
        before = ""
        for node in self.workflow.body.nodes:
            step = {"name": node.name} | self._work(node) | self._shared(node)
            parallel = self.workflow.body.concurrency is not None
            needs = [one.node for one in node.after if parallel or one.node != before]
            needs = [name for name in needs if f"{{{{{name}}}}}" not in str(step)]
            if needs:
                step["needs"] = needs
            yield step
            before = node.name

    def _work(self, node: ir.Node) -> dict[str, Any]:
        match node:
            case ir.Task(kind="ask"):
                return {"run": restore_text(_prompt(node))} | asking(node)
            case ir.Call():
                return {"template": {"name": file_stem(node.workflow)} | given_to(node)}
            case ir.Loop():
                return {"loop": restore_refine(node)}
            case ir.ForEach():
                return {"loop": restore_each(node)}
            case ir.Group():
                return {"consensus": _consensus(node)}
            case _:
                raise CannotSay(f"a {type(node).__name__.lower()}", "mcp-cli has no such step")

    def _shared(self, node: ir.Node) -> dict[str, Any]:
        found: dict[str, Any] = {}
        if node.when is not None:
            found["if"] = restore_condition(node.when)
        if node.timeout_s is not None and not isinstance(node, ir.ForEach):
            found["timeout"] = duration_text(node.timeout_s)
        if node.retry is not None:
            found |= {"on_failure": "retry", "max_retries": node.retry.times}
        elif node.on_failure == "continue" and self.execution.get("on_error") != "continue":
            found["on_failure"] = "continue"
        return found


def _prompt(node: ir.Task) -> ir.Value:
    return dict(node.inputs.entries)["prompt"]


def asking(node: ir.Task) -> dict[str, Any]:
    """The settings of a model call."""
    inputs = {key: one.value for key, one in node.inputs.entries if isinstance(one, ir.Constant)}
    inputs.pop("prompt", None)
    if isinstance(inputs.get("model"), list):
        inputs["providers"] = inputs.pop("model")
    if "tools" in inputs:
        inputs["servers"] = inputs.pop("tools")
        turns = inputs.pop("max_turns", TURNS)
        if turns != TURNS:
            inputs["max_iterations"] = turns
    return {str(key): value for key, value in inputs.items()}


def _judge_model(judge: ir.Judge) -> dict[str, Any]:
    entries = dict(judge.inputs.entries) if isinstance(judge.inputs, ir.Fields) else {}
    defaults = entries.get("defaults")
    found = defaults.value if isinstance(defaults, ir.Constant) else None
    return dict(found) if isinstance(found, dict) else {}


def _env(workflow: ir.Workflow) -> dict[str, str]:
    found: dict[str, str] = {}
    for _, value in workflow.variables:
        merged = parse(value).value if isinstance(value, ir.Expression) else None
        shown = merged.arguments[1] if isinstance(merged, tree.Apply) else None
        assert isinstance(shown, tree.ObjectDisplay)
        for key, one in shown.pairs:
            assert isinstance(key, tree.Literal)
            assert isinstance(one, tree.Literal)
            found[str(key.value)] = str(one.value)
    return found


def _consensus(node: ir.Group) -> dict[str, Any]:
    *voters, vote = node.body.nodes
    assert isinstance(vote, ir.Compute)
    assert isinstance(vote.value, ir.Expression)
    call = parse(vote.value).value
    assert isinstance(call, tree.Apply)
    share, least = (part.value for part in call.arguments[1:3] if isinstance(part, tree.Literal))
    tasks = [voter for voter in voters if isinstance(voter, ir.Task)]
    found: dict[str, Any] = {"prompt": restore_text(_prompt(tasks[0]))}
    found["executions"] = [_voter(task) for task in tasks]
    if share != "unanimous":
        found["require"] = share
    return found | ({"allow_partial": True} if least == 1 else {})


def _voter(task: ir.Task) -> dict[str, Any]:
    found = {k: v for k, v in asking(task).items() if k not in ("servers", "max_iterations")}
    if task.timeout_s is not None:
        found["timeout"] = duration_text(task.timeout_s)
    return found
