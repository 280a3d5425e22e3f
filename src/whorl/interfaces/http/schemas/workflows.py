"""Workflows: the files of the project, their graphs, and what is wrong with them."""

from typing import Literal

from pydantic import Field, model_validator

from whorl.interfaces.http.schemas.shape import (
    Closed,
    Diagnostic,
    FileName,
    JsonValue,
)

NodeKind = Literal[
    "task",
    "loop",
    "foreach",
    "branch",
    "group",
    "call",
    "compute",
    "assign",
    "wait",
    "gate",
    "stop",
    "break",
    "continue",
]


class ProviderItem(Closed):
    """Who answers the model steps."""

    name: str
    note: str


class ProjectItem(Closed):
    """The project that is served."""

    name: str
    root: str
    version: str
    provider: ProviderItem
    workflows: int


class InputItem(Closed):
    """An input of a workflow."""

    name: str
    type: str
    required: bool
    default: JsonValue
    description: str


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


class GraphNode(Closed):
    """A step. Its `path` is the address of its events without `[n]` and `#n`."""

    path: str
    name: str
    kind: NodeKind
    title: str
    detail: str
    task: str | None
    model: str | None
    parent: str = Field(description="the path of the step that it lies in; empty at the top")
    case: str | None = Field(description="inside of a branch: in which case it lies")
    when: str | None = Field(description="a condition under which it runs")
    loop: GraphLoop | None


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
    nodes: list[GraphNode] = Field(description="each after the one that it lies in")
    edges: list[GraphEdge]


class SourceItem(Closed):
    """The texts that a workflow is made of."""

    dialect: str
    main: str
    files: dict[str, str]


class Validation(Closed):
    """A file of the project, or a text with the name that it would have."""

    workflow: FileName | None = None
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
    """What a run may do and cost; null where a value decides, or no price is known."""

    calls: int | None = Field(description="the most")
    cost_usd: float | None = Field(description="an estimate")
    bound_usd: float | None = Field(description="the most, where something bounds it")
    words: str


class Validated(Closed):
    """Everything that was found; a file without errors has a name and a worst case."""

    ok: bool
    diagnostics: list[Diagnostic]
    name: str | None
    dialect: str | None
    worst_case: WorstCase | None
