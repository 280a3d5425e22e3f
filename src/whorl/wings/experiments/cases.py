"""Cases: the rows of an experiment, from a file or from the experiment itself."""

from __future__ import annotations

import csv
import io
import json
from collections import Counter
from typing import TYPE_CHECKING, Any, TypeAlias

from whorl.dialects.reader import parse
from whorl.errors import Diagnostic, InvalidWorkflow, Span
from whorl.interpreter.constructs.run import InputError, check_inputs
from whorl.language import Expression, LanguageError, MappingScope, evaluate
from whorl.lazily import dataclass
from whorl.source import Scalar, Sequence, plain

if TYPE_CHECKING:
    from collections.abc import Iterable

    from whorl.dialects import ProjectFiles
    from whorl.ir import Workflow
    from whorl.language import Json
    from whorl.source import Document, Value

CASES_MAX = 100_000
BYTES_MAX = 64 * 1024 * 1024
MISTAKES_MAX = 100
Row: TypeAlias = "tuple[dict[str, Any], Span]"


@dataclass(frozen=True, slots=True)
class Case:
    """One row of data: inputs, and what graders want to know."""

    id: str
    row: dict[str, Any]
    group: str = ""
    span: Span | None = None


def read_cases(
    files: ProjectFiles,
    document: Document,
    value: Value | None,
    *,
    column: str,
    group: str,
) -> tuple[list[Case], list[Diagnostic]]:
    """All cases, and all mistakes in them."""
    assert value is not None
    try:
        rows = _rows(files, document, value)
    except InvalidWorkflow as fault:
        return [], list(fault.diagnostics)
    mistakes: list[Diagnostic] = []
    if not rows or len(rows) > CASES_MAX:
        words = (
            f"{len(rows):,} cases are too many: at most {CASES_MAX:,}"
            if rows
            else "there is no case"
        )
        advice = "" if rows else "a header, and below it a row for each case"
        mistakes.append(Diagnostic("X100", words, value.span, help=advice))
    cases = [_case(row, span, number, column, group) for number, (row, span) in enumerate(rows, 1)]
    last = {case.id: case.span for case in cases}
    for name, count in Counter(case.id for case in cases).items():
        if count > 1:
            mistakes.append(Diagnostic("X102", f"{count} cases have the id {name!r}", last[name]))
    return cases, mistakes[:MISTAKES_MAX]


def _case(row: dict[str, Any], span: Span, number: int, column: str, group: str) -> Case:
    named = row.get(column or "id")
    name = str(number) if named is None else str(named)
    return Case(name, row, str(row.get(group, name)) if group else "", span)


def _rows(files: ProjectFiles, document: Document, value: Value) -> list[Row]:
    if isinstance(value, Sequence):
        return _objects([(plain(item), item.span) for item in value], value.span)
    if not isinstance(value, Scalar):
        raise InvalidWorkflow([Diagnostic("X100", "'cases' is a file or a list", value.span)])
    opened = files.open(document.file, value.text, value.span, BYTES_MAX)
    name, text = value.text, opened.text
    if name.endswith(".csv"):
        return _csv_rows(text.removeprefix("\ufeff"), name)
    if name.endswith(".jsonl"):
        return _objects(_json_lines(text, name), value.span)
    if name.endswith((".json", ".yaml", ".yml")):
        root = parse(text, opened.path).root
        items = [(plain(item), item.span) for item in root] if isinstance(root, Sequence) else []
        return _objects(items, value.span)
    words = f"{name!r} is not a .csv, .jsonl, .json or .yaml file"
    raise InvalidWorkflow([Diagnostic("X100", words, value.span)])


def _json_lines(text: str, name: str) -> list[tuple[Json, Span]]:
    rows = []
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip():
            try:
                rows.append((json.loads(line), Span(name, number, 1)))
            except ValueError as fault:
                span = Span(name, number, 1)
                raise InvalidWorkflow(
                    [Diagnostic("X101", f"not valid JSON: {fault}", span)]
                ) from None
    return rows


def _objects(rows: Iterable[tuple[Any, Span]], span: Span) -> list[Row]:
    found = list(rows)
    other = next((at for row, at in found if not isinstance(row, dict)), None)
    if other is not None:
        raise InvalidWorkflow([Diagnostic("X101", "a case must be an object", other)])
    return found


def _csv_rows(text: str, name: str) -> list[Row]:
    # A cell may be as long as the file; what others have set for the process may be less.
    csv.field_size_limit(max(csv.field_size_limit(), BYTES_MAX))
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    rows: list[Row] = []
    try:
        header = next(reader, [])
        twice = [column for column, count in Counter(header).items() if count > 1]
        if twice:
            words = f"two columns are called {twice[0]!r}"
            raise InvalidWorkflow([Diagnostic("X101", words, Span(name, 1, 1))])
        at = reader.line_num + 1
        for cells in reader:
            span = Span(name, at, 1)
            at = reader.line_num + 1
            if not cells:
                continue
            if len(cells) != len(header):
                words = f"row {len(rows) + 1} has {len(cells)} cells, and the header {len(header)}"
                raise InvalidWorkflow([Diagnostic("X101", words, span)])
            rows.append((dict(zip(header, cells, strict=True)), span))
    except csv.Error as fault:
        span = Span(name, reader.line_num, 1)
        raise InvalidWorkflow([Diagnostic("X101", f"not valid CSV: {fault}", span)]) from None
    return rows


def inputs_of(workflow: Workflow, case: Case, inputs: dict[str, Any] | None) -> dict[str, Any]:
    """What a run of a case is given: the columns of the same names, or what templates say."""
    if inputs is None:
        names = {port.name for port in workflow.inputs}
        return {name: value for name, value in case.row.items() if name in names and value != ""}
    return {name: filled(value, {"case": case.row}) for name, value in inputs.items()}


def filled(value: Any, names: dict[str, Any]) -> Any:
    """A JSON value whose texts may hold {{ }}, with these names."""
    if isinstance(value, dict):
        return {key: filled(part, names) for key, part in value.items()}
    if isinstance(value, list):
        return [filled(part, names) for part in value]
    if isinstance(value, str) and "{{" in value:
        return evaluate(Expression("template", value), MappingScope(names))
    return value


def inputs_given(
    workflow: Workflow, cases: Iterable[Case], inputs: dict[str, Any] | None
) -> list[str]:
    """The names of the inputs that cases give to the workflow of the experiment."""
    if inputs is not None:
        return list(inputs)
    columns = {name for case in cases for name in case.row}
    return [port.name for port in workflow.inputs if port.name in columns]


def check_cases(
    workflow: Workflow, cases: Iterable[Case], inputs: dict[str, Any] | None, more: dict[str, Any]
) -> list[Diagnostic]:
    """What is wrong with the inputs that the cases give, all of it."""
    mistakes = []
    for case in cases:
        try:
            check_inputs(workflow, inputs_of(workflow, case, inputs) | more)
        except (InputError, LanguageError) as fault:
            mistakes.append(Diagnostic("X101", f"case {case.id!r}: {fault}", case.span))
            if len(mistakes) >= MISTAKES_MAX:
                break
    return mistakes
