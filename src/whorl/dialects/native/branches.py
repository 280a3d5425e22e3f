"""Steps that hold steps: if, choose, each and together."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whorl import ir
from whorl.dialects.native.draft import Around
from whorl.dialects.native.format.steps import CHOOSE_FIELDS
from whorl.dialects.native.names import BRANCH, check_name
from whorl.dialects.native.scalars import text_of, whole_of
from whorl.dialects.native.values import read_computed, read_expression
from whorl.ir.walk import names_given
from whorl.language import LanguageError, parse
from whorl.source import Mapping, Scalar

if TYPE_CHECKING:
    from whorl.dialects.native.draft import Draft, Step
    from whorl.dialects.native.fields import Common
    from whorl.source import Entry, Value


def read_if(draft: Draft, step: Step, common: Common) -> ir.Branch:
    """Reads a condition with one or two branches."""
    test = read_expression(draft, step.get("if")) or ir.Expression("jinja", "false")
    then = _case(draft, step, "then", step.get("then"))
    otherwise = step.get("else")
    return ir.Branch(
        cases=(ir.Case(then.name, then.body, when=test),),
        default=None
        if otherwise is None
        else _case(draft, step, "else", otherwise, slot="default"),
        **common,
    )


def read_choose(draft: Draft, step: Step, common: Common) -> ir.Branch:
    """Reads a choice among cases: by the text of `on`, or by a condition of each case."""
    choose = step.get("choose")
    if not isinstance(choose, Mapping):
        return ir.Branch(cases=(), **common)
    subject = _read_subject(draft, choose.get("on"))
    cases = tuple(_read_case(draft, step, entry, subject) for entry in _case_entries(choose))
    if not cases:
        draft.report(
            "W006",
            f"'choose' of step {step.name!r} has no case",
            choose.span,
            help="add cases: {name: steps}",
        )
    default = choose.get("default")
    return ir.Branch(
        subject=subject,
        cases=cases,
        default=None if default is None else _case(draft, step, "default", default, slot="default"),
        **common,
    )


def read_each(draft: Draft, step: Step, common: Common) -> ir.ForEach:
    """Reads steps that run for each item of a list."""
    around = Around(step.path, step.around.loops)
    body = draft.block(step.get("steps"), around)
    item, index = text_of(step.get("as")) or "item", text_of(step.get("index")) or ""
    _check_item_names(draft, step, body, item, index)
    return ir.ForEach(
        items=read_computed(draft, step.get("each")),
        body=body,
        item_name=item,
        index_name=index,
        concurrency=max(1, whole_of(step.get("at_once")) or 1),
        **common,
    )


def _check_item_names(draft: Draft, step: Step, body: ir.Block, item: str, index: str) -> None:
    """A name means one thing inside of the steps: the item, its number, or a step."""
    for field in ("as", "index"):
        written = step.get(field)
        if isinstance(written, Scalar) and text_of(written):
            check_name(draft, written, f"{field!r} of step {step.name!r}", "plain")
    if item == index:
        index_field = step.get("index")
        assert index_field is not None
        draft.report(
            "W012",
            f"{item!r} is the name of the item and of its number",
            index_field.span,
            label="both have this name",
            help="choose another name for one of them",
        )
    for name, _ in names_given(body):
        if name in (item, index):
            what = "the item" if name == item else "the number of the item"
            draft.report(
                "W012",
                f"{name!r} is the name of {what} and of a step inside of {step.name!r}",
                draft.places.node(f"{step.path}/{name}"),
                label=f"{what} has this name, too",
                help="choose another name for the step, or write `as` and `index` otherwise",
            )


def read_together(draft: Draft, step: Step, common: Common) -> ir.Group:
    """Reads steps that run side by side: only `after` orders them."""
    inside = step.get("together")
    body = body_of(inside if isinstance(inside, Mapping) else step.get("steps"))
    around = Around(step.path, step.around.loops, is_open=True, is_ordered=False)
    return ir.Group(body=draft.block(body, around), **common)


def body_of(value: Value | None) -> Value | None:
    """The steps of a body, which may stand right in it or under `steps`."""
    if isinstance(value, Mapping) and "steps" in value:
        return value.get("steps")
    return value


def _case(draft: Draft, step: Step, name: str, value: Value | None, *, slot: str = "") -> ir.Case:
    path = f"{step.path}@{slot or f'case.{name}'}"
    around = Around(path, step.around.loops, is_open=True)
    body = draft.block(body_of(value), around)
    if any(given == BRANCH for given, _ in names_given(body)):
        draft.report(
            "W012",
            f"a step inside of {step.name!r} cannot be called {BRANCH!r}: that is where the "
            "result says which branch was taken",
            draft.places.node(f"{path}/{BRANCH}"),
            label="reserved here",
            help=f"choose another name, such as {('my_' + BRANCH)!r}",
        )
    return ir.Case(name, body)


def _case_entries(choose: Mapping) -> tuple[Entry, ...]:
    cases = choose.get("cases")
    if isinstance(cases, Mapping):
        return cases.entries
    return tuple(entry for entry in choose if entry.name not in CHOOSE_FIELDS)


def _read_case(draft: Draft, step: Step, entry: Entry, subject: ir.Value | None) -> ir.Case:
    case = _case(draft, step, entry.name, entry.value)
    test = None
    if isinstance(entry.value, Mapping) and "steps" in entry.value:
        test = read_expression(draft, entry.value.get("if"))
    if test is None and subject is None:
        draft.report(
            "W006",
            f"case {entry.name!r} of step {step.name!r} does not say when it is taken",
            entry.key.span,
            help="add `on` to `choose`, or write the case as {if: expression, steps: ...}",
        )
    equals = ir.Constant(entry.name) if test is None else None
    return ir.Case(case.name, case.body, when=test, equals=equals)


def _read_subject(draft: Draft, value: Value | None) -> ir.Value | None:
    """The subject as a text, since the names of cases are texts: 1 fits '1', true fits 'true'."""
    bare = read_expression(draft, value)
    if bare is None or not isinstance(value, Scalar):
        return None
    try:
        parse(bare)
    except LanguageError:
        return bare
    source = bare.source.strip()
    lead = bare.source.index(source)
    if source.startswith("{{") and source.endswith("}}"):
        source, lead = source[2:-2], lead + 2
    text = ir.Expression("jinja", f"({source}) ~ ''")
    draft.places.remember(text, value, lead - 1)
    return text
