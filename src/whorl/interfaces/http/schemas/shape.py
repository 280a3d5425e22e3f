"""What all models share: they are closed, and a JSON value is any JSON value."""

from typing import Annotated, Any, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

# `Any` because a recursive type would be unrolled for every value of every answer; what comes in
# was read by the bounded JSON reader before (`intake`), and what goes out was JSON in the journal.
JsonValue: TypeAlias = Any

Address = Annotated[str, StringConstraints(max_length=4_000)]
Words = Annotated[str, StringConstraints(max_length=100_000)]
FileName = Annotated[str, StringConstraints(min_length=1, max_length=1_024)]
Dollars = Annotated[float, Field(gt=0, lt=1e9)]
Number = Annotated[int, Field(ge=1, le=1_000_000_000)]


class Closed(BaseModel):
    """A model whose fields are all there are."""

    model_config = ConfigDict(extra="forbid", protected_namespaces=(), allow_inf_nan=False)


class Fault(Closed):
    """What went wrong, and what to do."""

    code: str = Field(description="a stable code; `whorl explain CODE` says more")
    message: str
    help: str = ""
    diagnostics: "list[Diagnostic] | None" = Field(
        default=None, description="where the request is about a file: everything wrong in it"
    )


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


class ErrorAnswer(Closed):
    """The answer to every request that was not carried out."""

    error: Fault


Fault.model_rebuild()
