"""What goes over HTTP about editing: closed models; the shapes of operations are in the guide."""

from typing import Annotated, Any, Literal

from pydantic import Field, model_validator
from pydantic import StringConstraints as Text

from whorl.interfaces.http.schemas.shared import (
    Closed,
    Diagnostic,
    Dollars,
    FileName,
    Flag,
    JsonValue,
    Number,
)

Source = Annotated[str, Text(max_length=1_000_000)]


class Unsaved(Closed):
    """A text that need not be saved; `name` is the file that it would be in."""

    name: FileName
    text: Source
    others: dict[FileName, Source] = Field(
        default_factory=dict, max_length=10, description="files beside it that are not saved either"
    )


class Edit(Unsaved):
    """Operations on a text, in this order, all or none."""

    operations: list[dict[str, JsonValue]] = Field(max_length=200)
    readers: Literal["rewire", "leave"] = "rewire"
    checked: Flag = Field(default=True, alias="validate", description="whether it is validated")


class Saving(Closed):
    """A text to be saved; `etag` is that of the version that it was made from."""

    file: FileName
    text: Source
    etag: str | None = Field(max_length=200, description="null: the file must not exist")
    others: dict[FileName, Source] = Field(
        default_factory=dict, max_length=10, description="new files beside it, saved before it"
    )


class NewFile(Closed):
    """A new file, made from exactly one of the four sources."""

    file: FileName
    template: str | None = None
    copy_of: FileName | None = None
    convert: FileName | None = None
    empty: str | None = Field(default=None, description="the dialect of an empty file")

    @model_validator(mode="after")
    def one_of_them(self) -> "NewFile":
        given = [self.template, self.copy_of, self.convert, self.empty]
        if sum(part is not None for part in given) != 1:
            raise ValueError("one of template, copy_of, convert and empty is needed")
        return self


class Sketched(Closed):
    """The picture of a text; none where it cannot be read, no diagnostics where nobody asked."""

    file: str
    dialect: str
    text: str
    etag: str | None
    sketch: dict[str, Any] | None
    diagnostics: list[Diagnostic] | None


class Patch(Closed):
    """What is replaced; offsets count UTF-16 units of the text that was sent."""

    start: int
    end: int
    text: str


class Rewired(Closed):
    """A place that reads a step and was changed with it, or was left as it is on request."""

    path: str
    field: str
    line: int


class Place(Unsaved):
    """A step of a text that need not be saved."""

    at: str = Field(default="", max_length=2_000, description="its path; empty: the workflow")


class Name(Closed):
    """What the texts of a step may read, spelled as it is written there."""

    name: str
    type: str = Field(description="text, number, boolean, object, list or any, where it is known")
    step: str = Field(description="the path of the step that gives it; empty: no step does")
    readers: list[Rewired] = Field(description="who reads it already")


class NameList(Closed):
    """The names in scope at a step, those nearest to it first."""

    names: list[Name]


class Edited(Closed):
    """A text after operations. Nothing is saved."""

    text: str
    patches: list[Patch]
    sketch: dict[str, Any]
    rewired: list[Rewired]
    select: list[str]
    others: dict[str, dict[str, str | None]]
    diagnostics: list[Diagnostic] | None = None


class Iteration(Closed):
    """An iteration of a run."""

    run: str = Field(pattern=r"^[A-Za-z0-9_-]{1,128}$")
    loop: str = Field(max_length=4_000, description="its address, such as `polish`")
    iteration: Number


class Try(Unsaved):
    """A step of a text that is run alone, or a loop whose body is run once."""

    at: str = Field(max_length=2_000, description="its path")
    inputs: dict[str, JsonValue] = Field(default_factory=dict)
    values: dict[str, JsonValue] = Field(
        default_factory=dict,
        description="results instead of steps, by path; values of an iteration, by LOOP/NAME",
    )
    source: Iteration | None = Field(
        default=None, alias="from", description="gives the values that are not given here"
    )
    budget_usd: Dollars | None = Field(default=None, description="default 0.25")
    pins: Flag = Field(default=True, description="whether pinned steps are left out")
    effects: Flag = Field(default=False, description="whether it may run commands, call and write")


class StepTrial(Closed):
    """The run of a try, and the paths of pins that do not count, since their steps changed."""

    run: str
    stale: list[str]


class Pin(Closed):
    """A result that tries use instead of a step; a stale one is not used."""

    value: JsonValue
    stale: bool = False


class PinList(Closed):
    """The pins of a file, by path."""

    file: str
    pins: dict[str, Pin]


class Pinned(PinList):
    """Pins to be kept; `text` is the draft, if the file does not have the steps yet."""

    file: FileName
    text: Source | None = None
    others: dict[FileName, Source] = Field(
        default_factory=dict, max_length=10, description="files beside it that are not saved either"
    )


class Etag(Closed):
    """Identifies a version of a file."""

    etag: str


class Saved(Closed):
    """A file was saved; it may have mistakes."""

    file: str
    etag: str
    diagnostics: list[Diagnostic]


class TemplateItem(Closed):
    """A workflow to begin with."""

    name: str
    dialects: list[str]
    description: str
    needs: str = ""


class TemplateList(Closed):
    """What a new file can be made from."""

    templates: list[TemplateItem]
    empty: list[str] = Field(description="the dialects that have an empty file")


class Palette(Closed):
    """The kinds of steps that can be added."""

    groups: list[dict[str, Any]]
