"""Workflows that take any input, as native ones, which declare theirs.

An input that nobody reads is not passed on; one that is read without being declared is optional.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from whorl import ir
from whorl.ir.expressions import Names
from whorl.ir.walk import walk, with_nodes


@dataclass(slots=True)
class _Preparation:
    workflows: dict[str, ir.Workflow]
    names: Names = field(default_factory=Names)
    done: dict[str, ir.Workflow] = field(default_factory=dict)

    def called(self, key: str) -> ir.Workflow | None:
        """A workflow that is called, with its inputs declared."""
        if key not in self.done and key in self.workflows:
            self.done[key] = self.declared(self.workflows[key])
        return self.done.get(key)

    def declared(self, workflow: ir.Workflow) -> ir.Workflow:
        """The workflow with every input that it reads."""
        body = with_nodes(workflow.body, self._node)
        if not workflow.open_inputs:
            return replace(workflow, body=body)
        known = {port.name for port in workflow.inputs}
        for _, node in walk(body):
            known.add(node.name)
            known |= {name for name, _ in node.sets} if isinstance(node, ir.Assign) else set()
        read = self.names.in_block(body) - {name for name, _ in workflow.variables}
        read |= self.names.in_values(value for _, value in workflow.variables)
        read |= self.names.in_values(value for _, value in workflow.outputs)
        ports = tuple(ir.Port(name, required=False) for name in sorted(read - known))
        return replace(workflow, body=body, inputs=(*workflow.inputs, *ports), open_inputs=False)

    def _node(self, node: ir.Node) -> ir.Node:
        if not isinstance(node, ir.Call):
            return node
        before = self.workflows.get(node.workflow)
        called = self.called(node.workflow)
        if before is None or called is None or not before.open_inputs:
            return node
        taken = {port.name for port in called.inputs}
        entries = tuple(one for one in node.inputs.entries if one[0] in taken)
        return replace(node, inputs=ir.Fields(entries))


def with_declared_inputs(workflow: ir.Workflow) -> ir.Workflow:
    """The workflow, and those that it calls, without open inputs."""
    preparation = _Preparation(dict(workflow.workflows))
    prepared = preparation.declared(workflow)
    called = tuple((key, preparation.called(key) or one) for key, one in workflow.workflows)
    return replace(prepared, workflows=called)
