"""What all models that go over HTTP share; they are closed, and OpenAPI is made of them.

A model is the only description of its data: it checks requests, is filled from a row of the store
(`from_row`) or from a document, and is sent as it is.
"""

from typing import Annotated, Any, Self, TypeAlias

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field
from pydantic import StringConstraints as Text

from whorl.errors import safe
from whorl.runtimes.sqlite.listing import EXPERIMENT, TRY

# `Any` because a recursive type would be unrolled for every value of every answer; what comes in
# was read by the bounded JSON reader before (`limits`), and what goes out was JSON in the journal.
JsonValue: TypeAlias = Any

# A place in a run, such as `polish` or `polish[2]/review`.
At = Annotated[str, Text(max_length=4_000)]
Words = Annotated[str, Text(max_length=100_000)]
FileName = Annotated[str, Text(min_length=1, max_length=1_024)]

WorkflowName = Annotated[
    str, Text(max_length=1_000), Field(description="which workflow, if the file has several")
]


def _is_number(value: object) -> object:
    """Refuses truth values and texts as numbers, although Python could convert them."""
    if isinstance(value, bool | str):
        raise ValueError("this is not a number")
    return value


def _is_free(key: str) -> str:
    """Refuses keys that begin like those of tries, experiments and hooks, which the server sets."""
    if key.startswith((TRY, EXPERIMENT, "hook:")):
        raise ValueError("keys that begin with try:, experiment: or hook: belong to the server")
    return key


# In bodies, unlike addresses, nothing of another type stands for a number or for yes or no.
Flag = Annotated[bool, Field(strict=True)]
Amount = Annotated[float, Field(ge=0), BeforeValidator(_is_number)]
Dollars = Annotated[float, Field(gt=0, lt=1e9), BeforeValidator(_is_number)]
Number = Annotated[int, Field(ge=1, le=1_000_000_000), BeforeValidator(_is_number)]
Key = Annotated[
    str, Text(min_length=1, max_length=200, pattern=r"^[^\x00-\x1f]+$"), AfterValidator(_is_free)
]
Seen = Annotated[int | None, Field(ge=0, le=2**53), BeforeValidator(_is_number)]
# In answers: texts of others, and texts that are null if the row has an empty one.
Shown = Annotated[str, AfterValidator(safe)]
OrNone = BeforeValidator(lambda value: value or None)
ShownOrNone = Annotated[Shown | None, OrNone]
RunId = Annotated[str, Text(pattern=r"^[A-Za-z0-9_-]{1,128}$")]


class Closed(BaseModel):
    """A model whose fields are all there are."""

    model_config = ConfigDict(extra="forbid", protected_namespaces=(), allow_inf_nan=False)

    @classmethod
    def from_row(cls, row: object, **others: Any) -> Self:
        """Returns a model filled from the row's fields of the same names, and from `others`."""
        names = cls.model_fields.keys() - others.keys()
        return cls(**{name: getattr(row, name) for name in names}, **others)


class Nothing(Closed):
    """An object without fields."""


class Diagnostic(Closed):
    """One finding about a workflow file; line and column count from 1."""

    code: str
    severity: str
    message: str
    label: str = ""
    help: str = ""
    file: str | None = None
    line: int | None = None
    column: int | None = None
    node: str | None = Field(default=None, description="the path of the step that it is about")


class Fault(Closed):
    """What went wrong, and what to do."""

    code: str = Field(description="a stable code; `whorl help CODE` says more")
    message: str
    help: str = ""
    diagnostics: list[Diagnostic] | None = Field(None, description="all mistakes in a file")
    file: str | None = Field(default=None, description="if an operation is refused: where")
    line: int | None = None
    column: int | None = None
    operation: int | None = Field(default=None, description="the index of the operation, from 0")


class Current(Closed):
    """The current text of a file that is not the expected version."""

    text: str
    etag: str | None


class ErrorAnswer(Closed):
    """The answer to every request that was not carried out."""

    error: Fault
    current: Current | None = Field(default=None, description="the file, if it has changed")
