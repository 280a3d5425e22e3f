"""The project and its workflows as they go out: lists, graphs, sources, what validation finds."""

from typing import Any, Literal, get_args

from pydantic import Field, model_validator

from whorl.interfaces.http.schemas.shared import (
    Closed,
    Diagnostic,
    FileName,
    JsonValue,
    WorkflowName,
)
from whorl.ir import Node
from whorl.runtimes.service.tokens import Role

# The constructs of the IR, as its graph names them.
_NODES: list[Any] = [kind.__name__.lower() for kind in get_args(Node)]


class ProviderItem(Closed):
    """Who answers the model steps."""

    name: str
    note: str


class NewSession(Closed):
    """A session of the page; it has no fields."""


class ProjectItem(Closed):
    """The project that is served."""

    name: str
    root: str
    version: str
    provider: ProviderItem
    workflows: int
    edit: bool = Field(default=False, description="whether this server saves files")
    who: str = Field(default="", description="the name of the token that asks")
    role: Role = Field(
        default="admin", description="what it may do; each role includes those before it"
    )
    may: list[str] = Field(
        default_factory=list, description="the operations that it may do on this server"
    )


class InputItem(Closed):
    """An input of a workflow."""

    name: str
    type: str
    required: bool
    default: JsonValue
    description: str


class TriggerItem(Closed):
    """What starts a workflow, other than a person."""

    name: str
    kind: str = Field(description="request, recurrence, poll, callback or other")
    url: str = Field(description="everybody who has this address may start the workflow")


class WorkflowItem(Closed):
    """A workflow file of the project."""

    file: str
    name: str
    dialect: str
    description: str
    inputs: list[InputItem]
    main_input: str | None
    open_inputs: bool = Field(description="whether it takes inputs that it does not declare")
    errors: int
    named: str = Field(default="", description="which workflow, if the file has several")
    trigger: TriggerItem | None = None


class WorkflowList(Closed):
    """The workflow files of the project."""

    workflows: list[WorkflowItem]


class GraphLoop(Closed):
    """What a loop is made of, in words and numbers."""

    until: str
    target: float | None
    limits: dict[str, JsonValue]
    on_limit: str
    check: str
    carry: list[str]
    returns: str
    ask: str


class GraphPorts(Closed):
    """The ports of a step, as its file names them."""

    inputs: list[str]
    outputs: list[str]


class GraphNode(Closed):
    """A step. Its `path` is the address of its events without `[n]` and `#n`."""

    path: str
    name: str
    kind: str = Field(json_schema_extra={"enum": _NODES})
    title: str
    detail: str
    task: str | None
    model: str | None
    parent: str = Field(description="the path of the step that it lies in; empty at the top")
    case: str | None = Field(description="inside of a branch: in which case it lies")
    when: str | None = Field(description="a condition under which it runs")
    loop: GraphLoop | None
    ports: GraphPorts | None = Field(
        default=None, description="of a loop whose file draws it with ports; else null"
    )
    settings: dict[str, str] = Field(
        default_factory=dict, description="what the file says it is given, such as its prompt"
    )


class GraphEdge(Closed):
    """An arrow between two steps of the same parent."""

    from_: str = Field(alias="from", serialization_alias="from")
    to: str
    label: str
    kind: Literal["order", "feedback"]


class Graph(Closed):
    """A workflow as a picture shows it; workflows that it calls lie in the steps that call them."""

    name: str
    dialect: str
    nodes: list[GraphNode] = Field(description="each node after its parent")
    edges: list[GraphEdge]


class SourceItem(Closed):
    """The texts that a workflow is made of."""

    dialect: str
    main: str
    files: dict[str, str]


class Validation(Closed):
    """A file of the project, or a text with the name that it would have."""

    workflow: FileName | None = None
    named: WorkflowName = ""
    text: str | None = Field(default=None, max_length=2_000_000)
    name: FileName | None = None

    @model_validator(mode="after")
    def _is_one_of_both(self) -> "Validation":
        if (self.workflow is None) == (self.text is None):
            raise ValueError("give either workflow, the path of a file, or text")
        if self.name is not None and self.text is None:
            raise ValueError("name belongs to text")
        return self


class WorstCase(Closed):
    """What a run may do and cost; null if it depends on a value, or no price is known."""

    calls: int | None = Field(description="the most")
    cost_usd: float | None = Field(description="an estimate")
    bound_usd: float | None = Field(description="the most, if there is a limit")
    words: str


class Validated(Closed):
    """Everything that was found; a file without errors has a name and a worst case."""

    ok: bool
    diagnostics: list[Diagnostic]
    name: str | None
    dialect: str | None
    worst_case: WorstCase | None
