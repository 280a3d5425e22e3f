"""A workflow in the making: the steps that a function adds to it while it is read once.

Steps are in blocks. Outside of its loop, the result of a step has another name, so each name is
made for the block that reads it.
"""

from __future__ import annotations

import dis
import sys
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import field
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from whorl.dialects.native.context import RESERVED
from whorl.errors import Span, UsageError
from whorl.interfaces.python.writing.references import Ref, written
from whorl.lazily import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType

    from whorl.interfaces.python.writing.functions import TaskFunction

# Steps of an open block are seen from around it by their own names; those of an item are not.
Inside: TypeAlias = Literal["open", "loop", "item"]
_PACKAGE = __name__.rpartition(".")[0]


@dataclass(eq=False)
class Block:
    """Steps by name; `owner` is the step that holds them."""

    around: Block | None = None
    inside: Inside = "open"
    owner: str = ""
    steps: dict[str, dict[str, Any]] = field(default_factory=dict)
    # The branch that a `whorl.otherwise()` right after it completes.
    branch: dict[str, Any] | None = None

    def name_of(self, name: str, reader: Block) -> str:
        """Returns the name of a step of this block in another block."""
        block, path = self, name
        readers = set(map(id, reader.chain()))
        while id(block) not in readers:
            if block.inside == "item":
                raise UsageError(
                    f"{name!r} has a value for each item of {block.owner!r}, so outside of it "
                    "there is no single value",
                    help="return it from the function: `whorl.each` gives the list of them",
                )
            path = f"{block.owner}.{path}" if block.inside == "loop" else path
            assert block.around is not None
            block = block.around
        return path

    def chain(self) -> Iterator[Block]:
        block: Block | None = self
        while block is not None:
            yield block
            block = block.around


@dataclass(eq=False)
class Flow:
    """What is known of a workflow while its function is read."""

    block: Block = field(default_factory=Block)
    names: set[str] = field(default_factory=lambda: set(RESERVED))
    functions: dict[str, TaskFunction] = field(default_factory=dict)
    called: dict[str, dict[str, Any]] = field(default_factory=dict)
    places: dict[str, Span] = field(default_factory=dict)

    def register(self, task: TaskFunction) -> None:
        """Registers a function that steps call by its name."""
        known = self.functions.setdefault(task.name, task)
        if known.function is not task.function:
            raise UsageError(
                f"two functions of the workflow are called {task.name!r}",
                help="name one of them: @whorl.step(name=...)",
                code="W012",
            )

    def unused(self, wish: str) -> str:
        """Returns a name that is not used yet."""
        name, number = wish, 1
        while name in self.names:
            number += 1
            name = f"{wish}_{number}"
        self.names.add(name)
        return name

    def add(self, wish: str, step: dict[str, Any], kind: object = Any) -> Ref:
        """Adds a step to the block that is written; returns a reference to its result."""
        name = self.unused(wish)
        self.block.steps[name] = {key: written(part) for key, part in step.items()}
        self.block.branch = None
        self.places[name] = _place()
        return self.value_of(name, self.block, kind)

    def value_of(self, name: str, block: Block, kind: object = Any) -> Ref:
        return Ref(lambda: block.name_of(name, self.block), kind)

    @contextmanager
    def inside(self, inside: Inside, owner: str = "") -> Iterator[Block]:
        """Puts the steps that are added meanwhile into a block of their own."""
        block = self.block = Block(self.block, inside, owner)
        try:
            yield block
        finally:
            assert block.around is not None
            self.block = block.around


_current: ContextVar[Flow | None] = ContextVar("flow", default=None)


def current() -> Flow | None:
    """Returns the workflow that is being written, or None."""
    return _current.get()


def needed(what: str) -> Flow:
    flow = current()
    if flow is None:
        raise UsageError(
            f"whorl.{what} is used outside of a workflow",
            help="write it in a function with @whorl.workflow",
        )
    return flow


@contextmanager
def writing(flow: Flow) -> Iterator[None]:
    token = _current.set(flow)
    try:
        yield
    finally:
        _current.reset(token)


def _caller() -> FrameType:
    """Returns the frame of the program that called us."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and str(frame.f_globals.get("__name__", "")).startswith(_PACKAGE):
        frame = frame.f_back
    assert frame is not None
    return frame


def _place() -> Span:
    frame = _caller()
    return Span(frame.f_code.co_filename, frame.f_lineno, 1)


def assigned_name(otherwise: str) -> str:
    """Returns the name that gets our return value: `draft` in `draft = whorl.ask(...)`."""
    frame = _caller()
    later = (each for each in dis.get_instructions(frame.f_code) if each.offset > frame.f_lasti)
    following = next((each for each in later if each.opname != "CACHE"), None)
    if following is not None and following.opname == "LOAD_FAST":
        # `state.draft = ...` loads `state` before it stores.
        following = next(later, None)
    stores = ("STORE_FAST", "STORE_NAME", "STORE_GLOBAL", "STORE_DEREF", "STORE_ATTR")
    if following is None or not following.opname.startswith(stores):
        return otherwise
    name = following.argval
    name = name[0] if isinstance(name, tuple) else name
    return name if isinstance(name, str) and name.isidentifier() and name.strip("_") else otherwise
