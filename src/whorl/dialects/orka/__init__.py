"""The dialect of orchestrators and agents, whose loops score their work and learn from it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whorl import ir
from whorl.dialects.orka.agents import read_section
from whorl.dialects.orka.draft import Draft
from whorl.dialects.orka.flow import read_block
from whorl.dialects.orka.functions.outputs import FLOW
from whorl.dialects.orka.known import SILENT, SUPPORTED, UNSUPPORTED
from whorl.dialects.orka.references import check_references
from whorl.dialects.orka.scene import Flow, Scene, names_in
from whorl.dialects.orka.values import computed, literal, text_of
from whorl.dialects.reader import Reading
from whorl.errors import InvalidWorkflow
from whorl.ir.checks import check
from whorl.source import Mapping, Scalar, Sequence

if TYPE_CHECKING:
    from whorl.dialects.orka.agents import Section
    from whorl.dialects.reader import Files
    from whorl.language import Json
    from whorl.source import Document, Value

__all__ = ["OrkaReader"]

MAIN_OUTPUT = "response"


class OrkaReader:
    """Reads files with an `orchestrator` and `agents`, and bare lists of agents."""

    name = "orka"
    looks_for = "the fields `orchestrator` and `agents`, or a list of agents with id and type"
    joined: frozenset[str] | None = None

    def claims(self, document: Document) -> bool:
        """Whether the file has an orchestrator, or agents that have an id and a type of ours."""
        root = document.root
        if isinstance(root, Mapping):
            return "orchestrator" in root or _holds_agents(root.get("agents"))
        return _holds_agents(root)

    def read(self, document: Document, files: Files) -> Reading:
        """Reads a file into the IR; raises InvalidWorkflow with everything that is wrong in it."""
        del files
        draft = Draft(document.file)
        draft.warnings.extend(document.warnings)
        section = read_section(draft, document.root)
        if section is None or not section.order:
            if not draft.diagnostics:
                advice = "name them: orchestrator: {agents: [...]}"
                draft.report("W006", "no agent is run", document.root.span, help=advice)
            raise InvalidWorkflow(draft.diagnostics)
        workflow = _workflow(draft, section, document)
        draft.adopt(check(workflow, draft.places, draft.names))
        check_references(draft, workflow)
        if draft.diagnostics:
            raise InvalidWorkflow(draft.diagnostics)
        return Reading(workflow, tuple(draft.warnings), {document.file: document.text})


def _workflow(draft: Draft, section: Section, document: Document) -> ir.Workflow:
    root = document.root
    named = text_of(root.get("name")) if isinstance(root, Mapping) else ""
    draft.name = section.name or named or _stem(document.file)
    flow = Flow().inside(section)
    body = read_block(draft, Scene(section, flow, read_block))
    names = names_in(section)
    spoken = [name for name in names if _speaks(section, name)]
    listed: list[Json] = list(spoken or names)
    main = MAIN_OUTPUT if MAIN_OUTPUT not in names else "answer"
    outputs: list[tuple[str, ir.Value]] = [(main, computed("orka_answer", literal(listed)))]
    outputs.extend((name, computed("orka_value", literal(name))) for name in names)
    return ir.Workflow(
        name=draft.name,
        dialect=OrkaReader.name,
        body=body,
        inputs=(ir.Port("input", "any", required=False, default=""),),
        main_input="input",
        outputs=tuple(outputs),
        variables=((FLOW, ir.Constant(flow.told())),),
        open_inputs=True,
    )


def _speaks(section: Section, name: str) -> bool:
    agent = section.find(name)
    return agent is not None and agent.type not in SILENT


def _holds_agents(value: Value | None) -> bool:
    if not isinstance(value, Sequence) or not value.items:
        return False
    types = [
        text_of(item.get("type"))
        for item in value
        if isinstance(item, Mapping) and isinstance(item.get("id"), Scalar)
    ]
    return any(kind in SUPPORTED or kind in UNSUPPORTED for kind in types)


def _stem(file: str) -> str:
    return file.rpartition("/")[2].rpartition(".")[0] or file
