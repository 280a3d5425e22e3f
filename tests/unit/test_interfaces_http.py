"""The parts of the HTTP interface that need no server: graphs and references."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from campaign import amount
from whorl.errors import UsageError
from whorl.interfaces.http.journal import BODY_MAX, abridged
from whorl.interfaces.http.records import value_at
from whorl.interfaces.http.workflows import graph_of
from whorl.interpreter.events import Event
from whorl.ir import (
    After,
    Block,
    Branch,
    Call,
    Carry,
    Case,
    Compute,
    Constant,
    Fields,
    ForEach,
    Loop,
    Task,
    Workflow,
)
from whorl.runtimes.journal.journal import Entry, RunId
from whorl.runtimes.journal.sealed_secrets import MARK, SEALED
from whorl.services.records import RunRecords

if TYPE_CHECKING:
    from collections.abc import Iterator


def branched() -> Workflow:
    """Loops in loops, a branch with the same name in two cases, a call with and without a name."""
    model = Fields((("model", Constant("m1")),))
    ask = Task(name="same", kind="ask")
    one = Block((ask, Compute(name="more", value=Constant(1), after=(After("same"),))))
    choose = Branch(name="choose", cases=(Case("big", one),), default=Case("else", Block((ask,))))
    inner = Loop(
        name="inner",
        after=(After("choose"),),
        body=Block((Task(name="a/b [c]", kind="ask", inputs=model),)),
    )
    unnamed = Fields((("model", Constant(None)),))
    called = Workflow(name="called", body=Block((Task(name="deep", kind="ask", inputs=unnamed),)))
    each = ForEach(
        name="each",
        items=Constant([1, 2]),
        body=Block((Call(name="hidden", workflow="c", unnamed=True),)),
        after=(After("outer", ("failed",)),),
    )
    outer = Loop(name="outer", body=Block((choose, inner)), carry=(Carry("hint"),))
    body = Block((outer, each, Call(name="use", workflow="c", after=(After("each"),))))
    return Workflow(name="branched", body=body, workflows=(("c", called),))


def test_the_graph_nests_and_escapes_as_addresses_do() -> None:
    graph = graph_of(branched())
    nodes = {node.path: node for node in graph.nodes}

    assert nodes["outer/inner/a%2Fb %5Bc%5D"].model == "m1"
    assert nodes["outer/inner"].parent == "outer"
    assert nodes["outer/choose"].kind == "branch"
    cases = {node.path: node.case for node in graph.nodes if node.parent == "outer/choose"}
    assert cases == {
        "outer/choose/same": "big",
        "outer/choose/more": "big",
        "outer/choose/same~2": "default",
    }
    assert nodes["each"].kind == "foreach"
    assert nodes["each/deep"].parent == "each"
    assert (nodes["use/deep"].parent, nodes["use/deep"].model) == ("use", None)
    drawn = {(edge.from_, edge.to): (edge.kind, edge.label) for edge in graph.edges}
    assert drawn["outer", "each"] == ("order", "failed")
    assert drawn["outer/inner", "outer/choose"] == ("feedback", "hint")
    for edge in graph.edges:
        assert nodes[edge.from_].parent == nodes[edge.to].parent
    order = [node.path for node in graph.nodes]
    assert all(order.index(n.parent) < order.index(n.path) for n in graph.nodes if n.parent)


class OneEntry:
    """A journal of one entry."""

    def __init__(self, body: dict[str, Any]) -> None:
        self._entry = Entry(1, Event("task.finished", "a", 0.0, body))

    def read(self, run: RunId, after: int = 0, limit: int | None = None) -> Iterator[Entry]:
        return iter([self._entry] if after == 0 else [])


# A value with the first one looks like a reference; the others are shown to nobody.
SPECIAL = ("$ref", "callback", SEALED, MARK)
NAMES = st.text(max_size=6).filter(lambda name: name not in SPECIAL)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=30) | st.just("long " * 2_000),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(NAMES, inner, max_size=5),
    max_leaves=20,
)


@pytest.mark.slow
@pytest.mark.campaign
@settings(max_examples=amount(100, 800), deadline=None)
@given(body=st.dictionaries(NAMES, JSON, max_size=4))
def test_references_lead_to_what_they_stand_for(body: dict[str, Any]) -> None:
    store: Any = OneEntry(body)
    short = abridged(body, 1)

    assert len(json.dumps(short, ensure_ascii=False)) <= max(
        BODY_MAX * 4, len(json.dumps(body, ensure_ascii=False)) // 2
    )
    _compare(store, body, short)


def _compare(store: Any, whole: Any, short: Any) -> None:
    """Walks both, and follows each reference."""
    if isinstance(short, dict) and "$ref" in short and short != whole:
        assert value_at(RunRecords(store, RunId("r"), ()), short["$ref"]) == whole
    elif isinstance(short, dict):
        assert list(short) == list(whole)
        for name in short:
            _compare(store, whole[name], short[name])
    elif isinstance(short, list):
        assert len(short) == len(whole)
        for one, other in zip(whole, short, strict=True):
            _compare(store, one, other)
    else:
        assert short == whole


@pytest.mark.campaign
@settings(max_examples=amount(100, 800), deadline=None)
@given(ref=st.from_regex(r"[0-9]{1,15}\.[A-Za-z0-9_-]{1,40}", fullmatch=True))
def test_any_other_reference_is_unknown(ref: str) -> None:
    store: Any = OneEntry({"value": "x"})

    with pytest.raises(UsageError) as caught:
        value_at(RunRecords(store, RunId("r"), ()), ref)
    assert caught.value.code == "W903"
