"""Checks a file against the tables of the format: unknown, missing and wrong fields at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from whorl.dialects.native.draft import shown
from whorl.dialects.native.format.forms import (
    Anything,
    Choice,
    ListOf,
    MapOf,
    Object,
    OneOf,
    Ref,
)
from whorl.dialects.native.format.pieces import BODY
from whorl.dialects.native.format.repeat import CONDITION_FORM
from whorl.dialects.native.format.steps import CASE, CHOOSE_FIELDS, KINDS, kinds_of
from whorl.dialects.native.names import check_name
from whorl.dialects.native.returns import check_returns
from whorl.dialects.native.scalars import fits, out_of_bounds
from whorl.errors import did_you_mean, nearest
from whorl.ir.checks.suggest import suggest
from whorl.source import Mapping, Scalar, Sequence

if TYPE_CHECKING:
    from collections import abc
    from collections.abc import Iterable
    from typing import TypeAlias

    from whorl.dialects.native.draft import Draft
    from whorl.dialects.native.format.forms import Field, Form
    from whorl.dialects.native.format.steps import Kind
    from whorl.errors import Span
    from whorl.source import Entry, Value

    Fields: TypeAlias = abc.Mapping[str, Field]


@dataclass(frozen=True, slots=True)
class _Spot:
    """What is looked at: its owner and field in words, and where the owner is named."""

    owner: str
    field: str
    span: Span

    @property
    def words(self) -> str:
        return f"{self.field!r} of {self.owner}" if self.field else self.owner


def check_structure(draft: Draft, root: Value, form: Object) -> None:
    """Reports every unknown, missing or wrong field of a file."""
    _check(draft, root, form, _Spot("the workflow", "", root.span))


def _check(draft: Draft, value: Value, form: Form, spot: _Spot) -> None:
    if draft.is_full:
        return
    match form:
        case Ref():
            _check_ref(draft, value, form, spot)
        case OneOf():
            _check_one_of(draft, value, form, spot)
        case Object() if isinstance(value, Mapping):
            _check_object(draft, value, form, spot)
        case MapOf() if isinstance(value, Mapping) and len(value) >= form.least:
            _check_map(draft, value, form, spot)
        case ListOf() if isinstance(value, Sequence) and len(value) >= form.least:
            for item in value:
                _check(draft, item, form.item, spot)
        case Anything():
            return
        case _ if isinstance(value, Scalar) and fits(value, form):
            return
        case _:
            _report_wrong(draft, value, form, spot)


def _report_wrong(draft: Draft, value: Value, form: Form, spot: _Spot) -> None:
    code = "W015" if out_of_bounds(value, form) else "W007"
    draft.report(
        code,
        f"{spot.words} must be {form.words}, not {shown(value)}",
        value.span,
        label=f"expected {form.words}",
        help=(_meant(value, form) if isinstance(value, Scalar) else "") or f"write {form.words}",
    )


def _meant(value: Scalar, form: Form) -> str:
    """The word that is probably meant, where one of a few is expected."""
    forms = _flat(form) if isinstance(form, OneOf) else (form,)
    words = [word for one in forms if isinstance(one, Choice) for word in one.options]
    return did_you_mean(value.text, words)


def _check_one_of(draft: Draft, value: Value, form: OneOf, spot: _Spot) -> None:
    alternatives = [option for option in _flat(form) if _same_shape(value, option)]
    if len(alternatives) == 1:
        option = alternatives[0]
        if not isinstance(value, Scalar) or fits(value, option):
            _check(draft, value, option, spot)
            return
        wrong: Form = option if out_of_bounds(value, option) else form
        _report_wrong(draft, value, wrong, spot)
    elif not any(isinstance(value, Scalar) and fits(value, option) for option in alternatives):
        _report_wrong(draft, value, form, spot)


def _flat(form: OneOf) -> Iterable[Form]:
    for option in form.forms:
        if isinstance(option, OneOf):
            yield from _flat(option)
        else:
            yield option


def _same_shape(value: Value, form: Form) -> bool:
    if isinstance(form, Anything):
        return True
    if isinstance(value, Mapping):
        return isinstance(form, Object | MapOf | Ref)
    if isinstance(value, Sequence):
        return isinstance(form, ListOf)
    return not isinstance(form, Object | MapOf | Ref | ListOf)


def _check_object(draft: Draft, value: Mapping, form: Object, spot: _Spot) -> None:
    owner = spot if form.title == "workflow" else _Spot(_owner(form, spot), "", value.span)
    _check_fields(draft, value, form.fields, owner)
    if not form.exactly_one:
        return
    known = [entry for entry in value if entry.name in form.fields]
    if len(known) > 1:
        draft.report(
            "W007",
            f"{owner.owner} has {known[0].name!r} and {known[1].name!r}, but takes one of them",
            known[1].key.span,
            label="one too many",
            help="write them as a list: any of them counts; {all: [...]} wants all of them",
        )
    elif not value.entries:
        _report_wrong(draft, value, form, spot)


def _owner(form: Object, spot: _Spot) -> str:
    if form.title == "repeat":
        return spot.owner.replace("step ", "loop ", 1)
    return f"{spot.field!r} of {spot.owner}" if spot.field else f"{form.title} of {spot.owner}"


def _check_fields(draft: Draft, value: Mapping, fields: Fields, spot: _Spot) -> None:
    for entry in value:
        field = fields.get(entry.name)
        if draft.is_full:
            return
        if field is None:
            _report_unknown(draft, entry, fields, spot)
        else:
            _check(draft, entry.value, field.form, _Spot(spot.owner, entry.name, entry.key.span))
    misspelt = {nearest(entry.name, fields) for entry in value if entry.name not in fields}
    for name, field in fields.items():
        if field.required and name not in value and name not in misspelt:
            draft.report(
                "W006",
                f"{spot.owner} lacks the field {name!r}",
                spot.span,
                label=f"{name!r} is missing",
                help=f"add {name!r}: {field.doc}",
            )


def _report_unknown(draft: Draft, entry: Entry, known: Iterable[str], spot: _Spot) -> None:
    draft.report(
        "W004",
        f"{spot.owner} has no field {entry.name[:60]!r}",
        entry.key.span,
        label="unknown field",
        help=suggest(entry.name, known),
    )


def _check_map(draft: Draft, value: Mapping, form: MapOf, spot: _Spot) -> None:
    for entry in value:
        if form.names != "any":
            check_name(draft, entry.key, f"a name in {spot.words}", form.names)
        inner = _Spot(f"{spot.field!r} of {spot.owner}", entry.name, entry.key.span)
        _check(draft, entry.value, form.value, inner)


def _check_ref(draft: Draft, value: Value, form: Ref, spot: _Spot) -> None:
    match form.name:
        case "condition":
            _check(
                draft, value, CONDITION_FORM, _Spot(spot.owner, spot.field or "until", spot.span)
            )
        case "returns":
            check_returns(draft, value, spot.owner)
        case _ if not isinstance(value, Mapping):
            _report_wrong(draft, value, form, spot)
        case "steps":
            _check_steps(draft, value, spot)
        case "body":
            _check_body(draft, value, spot)
        case "case":
            _check_case(draft, value, spot)
        case "choose":
            _check_choose(draft, value, spot)
        case _:
            raise AssertionError(form.name)


def _check_steps(draft: Draft, steps: Mapping, spot: _Spot) -> None:
    if not steps.entries:
        advice = "add a step such as write: {ask: ...}"
        draft.report("W006", f"{spot.words} holds no step", steps.span, help=advice)
    for entry in steps:
        if draft.is_full:
            return
        check_name(draft, entry.key, "a step", "dashed")
        _check_step(draft, entry)


def _check_body(draft: Draft, body: Mapping, spot: _Spot) -> None:
    steps = body.entry("steps")
    if steps is None:
        _check_steps(draft, body, spot)
        return
    _check_fields(draft, body, {"steps": CASE.fields["steps"]}, spot)


def _check_case(draft: Draft, case: Mapping, spot: _Spot) -> None:
    if "steps" in case:
        owner = _Spot(f"case {spot.field!r} of {spot.owner}", "", spot.span)
        _check_fields(draft, case, CASE.fields, owner)
    else:
        _check_steps(draft, case, spot)


def _check_choose(draft: Draft, choose: Mapping, spot: _Spot) -> None:
    inline = "cases" not in choose
    for entry in choose:
        inner = _Spot(spot.owner, entry.name, entry.key.span)
        field = CHOOSE_FIELDS.get(entry.name)
        if field is not None:
            _check(draft, entry.value, field.form, inner)
        elif inline and not nearest(entry.name, ("cases", "default")):
            _check(draft, entry.value, Ref("case", BODY.words), inner)
        else:
            _report_unknown(draft, entry, CHOOSE_FIELDS, _Spot(spot.words, "", spot.span))


def _check_step(draft: Draft, entry: Entry) -> None:
    step = entry.value
    spot = _Spot(f"step {entry.name[:60]!r}", "", entry.key.span)
    if not isinstance(step, Mapping):
        _report_wrong(draft, step, Ref("step", "an object such as {ask: ...}"), spot)
        return
    found = kinds_of(step)
    if len(found) == 1:
        _check_kind(draft, step, KINDS[found[0]], spot)
    else:
        _report_kinds(draft, step, found, spot)


def _check_kind(draft: Draft, step: Mapping, kind: Kind, spot: _Spot) -> None:
    _check_fields(draft, step, kind.fields, spot)
    if kind.name != "together":
        return
    body = step.get("together")
    if "steps" not in step and not isinstance(body, Mapping):
        advice = "add the steps that run side by side"
        draft.report("W006", f"{spot.owner} lacks the field 'steps'", spot.span, help=advice)


def _report_kinds(draft: Draft, step: Mapping, found: list[str], spot: _Spot) -> None:
    if found:
        again = step.entry(found[1])
        draft.report(
            "W009",
            f"{spot.owner} has both {found[0]!r} and {found[1]!r}, but a step does one thing",
            again.key.span if again else spot.span,
            label="a second kind",
            help="make a step of its own of each",
        )
        return
    for entry in step:
        meant = nearest(entry.name, KINDS)
        if meant and entry.name not in STEP_FIELDS:
            _report_unknown(draft, entry, KINDS, spot)
            return
    draft.report(
        "W009",
        f"{spot.owner} does not say what it does",
        spot.span,
        label="no kind of step",
        help="give it one of " + ", ".join(KINDS),
    )


STEP_FIELDS = frozenset(name for kind in KINDS.values() for name in kind.fields)
