"""Definitions that are written: their own come back as they were, others as far as they can."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from loom_runs import SHARED

from conformance.converting import convert, runnable_cases
from conformance.converting import differences as ways_apart
from conformance.literate import load_cases
from conformance.reading import workflow_of
from whorl.dialects import NoFiles, read_workflow
from whorl.dialects.loom.writing.crossing import Crossing
from whorl.dialects.loom.writing.scope import Said, Scope
from whorl.dialects.writing import read_again, write_workflow
from whorl.dialects.writing.comparing import differences
from whorl.errors import InvalidWorkflow
from whorl.language import UNDEFINED, Expression, LanguageError, evaluate
from whorl.language.printing import CannotSay

if TYPE_CHECKING:
    from pathlib import Path

    from conformance.literate import Case
    from whorl.ir import Workflow

# A result that stands for a call, and says that there was none.
UNSAYABLE = {"loom/outside: A static result may be skipped"}
FILES = sorted(
    (
        *(SHARED / "corpora" / "loom").glob("*/*.json"),
        *(SHARED / "corpora" / "logic-apps" / "definitions").glob("*.json"),
    )
)
KINDS: dict[str, Any] = {
    "text": st.text("aB1 @{'}", max_size=6),
    "integer": st.integers(-5, 5),
    "number": st.one_of(st.integers(-5, 5), st.sampled_from([0.5, 1.0, -2.25])),
    "boolean": st.booleans(),
    "list": st.lists(st.sampled_from(["a", "B", 1]), max_size=3),
    "any": st.sampled_from([None, True, False, 0, 1, 2, 1.0, "", "true", "a", "2", ["a"], {}]),
}
NAMES = {f"{kind}_{mark}": kind for kind in KINDS for mark in "ab"}


def _cases(dialect: str) -> list[Any]:
    found = []
    for case in load_cases():
        if case.dialect != dialect:
            continue
        try:
            found.append(pytest.param(case, workflow_of(case), id=case.id))
        except InvalidWorkflow:
            continue
    return found


@pytest.mark.parametrize(("case", "workflow"), _cases("loom"))
def test_a_definition_comes_back_as_it_was(case: Case, workflow: Workflow) -> None:
    written = write_workflow(workflow, "loom", "case.json")

    if case.id in UNSAYABLE:
        assert written.losses
        return
    assert written.losses == ()
    again = read_again(written, "loom").workflow
    assert list(differences(workflow, again)) == []
    assert write_workflow(again, "loom", "case.json") == written


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_file_comes_back_as_it_was(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    try:
        workflow = read_workflow(text, path.name, NoFiles(), dialect="loom").workflow
    except InvalidWorkflow:
        pytest.skip("the file is a fragment")

    assert write_workflow(workflow, "loom", path.name).losses == ()


@pytest.mark.parametrize(("case", "workflow"), _cases("native"))
def test_a_native_workflow_becomes_a_definition_that_loads(case: Case, workflow: Workflow) -> None:
    written = write_workflow(workflow, "loom", "case.json")

    read_again(written, "loom")
    assert all(loss.what and loss.why for loss in written.losses)


def test_a_loop_with_carried_values_becomes_an_until_with_variables() -> None:
    definition = _written(
        """
whorl: 1
name: count
steps:
  total:
    repeat:
      until: add >= 3 and iteration >= 2
      check: after
      at_most: {iterations: 9, time: 1h}
      on_limit: fail
      carry: {sum: {first: 0, then: '{{ add }}'}}
      steps:
        add: {value: '{{ iteration + 1 }}'}
outputs: {sum: '{{ total.add }}'}
""",
        losses=[],
    )
    actions = definition["actions"]

    assert actions["total_sum"]["inputs"] == {"variables": [{"name": "sum", "value": 0}]}
    assert actions["total"]["type"] == "doUntil"
    assert actions["total"]["condition"] == (
        "@and(greaterOrEquals(outputs('add'), 3), "
        "greaterOrEquals(sub(variables('loopCount'), 1), 2))"
    )
    assert list(actions["total"]["actions"]) == ["add", "total_sum_next"]
    assert definition["outputs"] == {"sum": {"value": "@outputs('add')"}}


@pytest.mark.parametrize(
    "case",
    [
        pytest.param(case, id=case.id)
        for case in runnable_cases()
        if case.id.startswith("converting/definitions")
    ],
)
def test_what_can_be_said_comes_back_from_there(case: Case) -> None:
    """Native, loom and native again: the same results, and nothing is lost."""
    converted = convert(case, "loom")

    assert [loss.words() for loss in converted.losses] == []
    assert converted.case is not None
    assert ways_apart(case, converted.case) == []


def test_losses_name_the_step_and_the_place() -> None:
    text = "whorl: 1\nname: x\nsteps:\n  first: {approve: Go on?}\n"
    workflow = read_workflow(text, "x.yaml", NoFiles()).workflow

    losses = [loss.words("x.yaml") for loss in write_workflow(workflow, "loom").losses]

    assert "x.yaml:4:3: first: a gate: the format has no action for it" in losses


def _written(text: str, losses: list[str]) -> dict[str, Any]:
    workflow = read_workflow(text, "x.yaml", NoFiles()).workflow
    written = write_workflow(workflow, "loom")
    assert [loss.words() for loss in written.losses] == losses
    definition: dict[str, Any] = json.loads(written.text)["definition"]
    return definition


_names = st.sampled_from([*NAMES])
_literals = st.sampled_from(["'a'", "'true'", "2", "0", "1.5", "true", "none"])
_expressions = st.recursive(
    st.one_of(_names, _literals),
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from(["==", "!=", "<", ">=", "in", "+", "-", "*", "~"]), inner)
        .map(" ".join)
        .map(lambda one: f"({one})"),
        st.tuples(inner, st.sampled_from(["and", "or"]), inner).map(lambda p: f"({' '.join(p)})"),
        inner.map(lambda one: f"(not {one})"),
        inner.map(lambda one: f"({one} | length)"),
        st.tuples(inner, inner, inner).map(lambda p: f"({p[0]} if {p[1]} else {p[2]})"),
    ),
    max_leaves=5,
)
_SCOPE = Scope({name: Said(f"parameters('{name}')", kind) for name, kind in NAMES.items()})


@given(_expressions, st.fixed_dictionaries({n: KINDS[k] for n, k in NAMES.items()}), st.booleans())
def test_an_expression_that_can_be_said_gives_the_same(
    source: str, values: dict[str, Any], is_text: bool
) -> None:
    """Whatever crosses over has the value that it had, or fails where it failed."""
    syntax = "template" if is_text else "jinja"
    expression = Expression(syntax, f"<{{{{ {source} }}}}>" if is_text else source)
    try:
        said = Expression("logic-lenient", Crossing(_SCOPE).said(expression))
    except (CannotSay, LanguageError):
        return

    before = _value(expression, values)
    after = _value(said, {"$parameters": values})
    assert (type(before), before) == (type(after), after), (source, said.source)


def _value(expression: Expression, values: dict[str, Any]) -> Any:
    class Values:
        def lookup(self, name: str) -> Any:
            return values.get(name, UNDEFINED)

    try:
        return evaluate(expression, Values())
    except LanguageError:
        return "it fails"
