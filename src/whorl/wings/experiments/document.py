"""Experiment files and their cases: their fields, read with the place of every mistake."""

from __future__ import annotations

import csv
import io
import json
from collections import Counter
from contextlib import suppress
from dataclasses import field
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from whorl.dialects.reader import parse
from whorl.errors import Diagnostic, InvalidWorkflow, Span, did_you_mean
from whorl.interpreter.constructs.run import InputError, check_inputs
from whorl.ir.nodes import ITERATIONS_MAX
from whorl.language import Expression, LanguageError, MappingScope, evaluate, free_names
from whorl.lazily import dataclass
from whorl.services.project import is_code
from whorl.source import Mapping, Scalar, Sequence, plain
from whorl.source.paths import open_file

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator

    from whorl.dialects import ProjectFiles, Reading
    from whorl.ir import Workflow
    from whorl.services.project import Project
    from whorl.source import Document, Value


ENDINGS = (".experiment.yaml", ".experiment.yml", ".experiment.json")
# The variant that every experiment has: the file without changes.
BASE = "base"
# The names that graders can read, of a run and of a trial.
RUN_FACTS = ("iterations", "exit_reason", "stopped_by", "cost_usd", "seconds", "status")
NAMES = ("case", "inputs", "outputs", "results", "run")
# The forms of graders by the field that identifies them, with the other fields of each.
GRADERS: dict[str, tuple[str, ...]] = {
    "equals": ("of", "ignore"),
    "judge": ("of", "votes", "model"),
    "ask": ("returns", "model"),
    "use": ("with",),
    "run": (),
    "person": ("show",),
}
# The fields of graders that may be templates; other fields are read elsewhere.
_TEMPLATES = ("equals", "of", "judge", "ask", "with", "run", "person", "show")


# Cases: the rows of an experiment, from a file or from the experiment itself.

CASES_MAX = 100_000
BYTES_MAX = 64 * 1024 * 1024
MISTAKES_MAX = 100
Row: TypeAlias = "tuple[Any, Span]"


@dataclass(frozen=True, slots=True)
class Case:
    """One row of data: inputs, and the values that graders need."""

    id: str
    row: dict[str, Any]
    group: str = ""
    span: Span | None = None


def read_cases(
    files: ProjectFiles, document: Document, value: Value, *, column: str, group: str
) -> list[Case]:
    """Returns all cases; raises InvalidWorkflow with the mistakes in them."""
    rows = _rows(files, document, value)
    if not rows:
        advice = "a header, and below it a row for each case"
        raise _invalid("X101", "there is no case", value.span, advice)
    if len(rows) > CASES_MAX:
        words = f"{len(rows):,} cases are too many: at most {CASES_MAX:,}"
        raise _invalid("W002", words, value.span)
    cases = []
    for number, (row, span) in enumerate(rows, 1):
        if not isinstance(row, dict):
            raise _invalid("X101", "a case must be an object", span)
        named = row.get(column or "id")
        name = str(number) if named is None else str(named)
        cases.append(Case(name, row, str(row.get(group, name)) if group else "", span))
    last = {case.id: case.span for case in cases}
    counts = Counter(case.id for case in cases).items()
    mistakes = [
        Diagnostic("X101", f"{count} cases have the id {name!r}", last[name])
        for name, count in counts
        if count > 1
    ]
    if mistakes:
        raise InvalidWorkflow(mistakes[:MISTAKES_MAX])
    return cases


def _invalid(code: str, words: str, span: Span, advice: str = "") -> InvalidWorkflow:
    return InvalidWorkflow([Diagnostic(code, words, span, help=advice)])


def _rows(files: ProjectFiles, document: Document, value: Value) -> list[Row]:
    root: Value | None = value
    if isinstance(value, Scalar):
        opened = files.open(document.file, value.text, value.span, BYTES_MAX)
        name, text = value.text, opened.text
        if name.endswith(".csv"):
            return _csv_rows(text.removeprefix("\ufeff"), name)
        if name.endswith(".jsonl"):
            return list(_json_lines(text, name))
        if not name.endswith((".json", ".yaml", ".yml")):
            words = f"{name!r} is not a .csv, .jsonl, .json or .yaml file"
            raise _invalid("W007", words, value.span)
        root = parse(text, opened.path).root
    return [(plain(item), item.span) for item in root] if isinstance(root, Sequence) else []


def _json_lines(text: str, name: str) -> Iterator[Row]:
    for number, line in enumerate(text.splitlines(), 1):
        span = Span(name, number, 1)
        try:
            if line.strip():
                yield json.loads(line), span
        except ValueError as fault:
            raise _invalid("X101", f"not valid JSON: {fault}", span) from None


def _csv_rows(text: str, name: str) -> list[Row]:
    # A cell may be as long as the file; the limit of the process may be lower.
    csv.field_size_limit(max(csv.field_size_limit(), BYTES_MAX))
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    rows: list[Row] = []
    try:
        header = next(reader, [])
        twice = [column for column, count in Counter(header).items() if count > 1]
        if twice:
            raise _invalid("X101", f"two columns are called {twice[0]!r}", Span(name, 1, 1))
        at = reader.line_num + 1
        for cells in reader:
            span = Span(name, at, 1)
            at = reader.line_num + 1
            if cells and len(cells) != len(header):
                words = f"row {len(rows) + 1} has {len(cells)} cells, and the header {len(header)}"
                raise _invalid("X101", words, span)
            if cells:
                rows.append((dict(zip(header, cells, strict=True)), span))
    except csv.Error as fault:
        span = Span(name, reader.line_num, 1)
        raise _invalid("X101", f"not valid CSV: {fault}", span) from None
    return rows


def inputs_of(workflow: Workflow, case: Case, inputs: dict[str, Any] | None) -> dict[str, Any]:
    """Returns the inputs of a case: the columns of the same names, or filled templates."""
    if inputs is None:
        names = {port.name for port in workflow.inputs}
        return {name: value for name, value in case.row.items() if name in names and value != ""}
    return {name: filled(value, {"case": case.row}) for name, value in inputs.items()}


def filled(value: Any, names: dict[str, Any]) -> Any:
    """Returns a JSON value with its templates filled from these names."""
    scope = MappingScope(names)
    return with_templates(value, lambda text: evaluate(Expression("template", text), scope))


def with_templates(value: Any, change: Callable[[str], Any]) -> Any:
    """Returns a JSON value with each of its templates changed."""
    if isinstance(value, dict):
        return {key: with_templates(part, change) for key, part in value.items()}
    if isinstance(value, list):
        return [with_templates(part, change) for part in value]
    return change(value) if isinstance(value, str) and "{{" in value else value


def check_cases(
    workflow: Workflow, cases: Iterable[Case], inputs: dict[str, Any] | None, more: dict[str, Any]
) -> list[Diagnostic]:
    """Returns the mistakes in the inputs that the cases give."""
    mistakes = []
    for case in cases:
        try:
            check_inputs(workflow, inputs_of(workflow, case, inputs) | more)
        except (InputError, LanguageError) as fault:
            mistakes.append(Diagnostic("X101", f"case {case.id!r}: {fault}", case.span))
            if len(mistakes) >= MISTAKES_MAX:
                break
    return mistakes


VARIANTS_MAX, GRADERS_MAX, TRIALS_MAX, VOTES_MAX = 100, 20, 1_000_000, 99
# The types of each field, as in JSON Schema, and a line about it.
FIELDS: dict[str, tuple[tuple[str, ...], str]] = {
    "experiment": (("integer",), "the version of the format: 1"),
    "name": (("string",), "what it is called; default: the name of the file"),
    "workflow": (("string",), "the workflow file, of any format"),
    "cases": (("string", "array"), "a .csv, .jsonl, .json or .yaml file, or the rows themselves"),
    "case_id": (("string",), "the column that names a case; default: id, or the row's number"),
    "group": (("string",), "the column of cases that belong together"),
    "inputs": (("object",), "the inputs of a run; default: the columns that are called like them"),
    "variants": (("object",), "ways to run the workflow, by name"),
    "baseline": (("string",), "the variant that others are compared with; default: base"),
    "repeat": (("integer",), "runs for each case and variant; default 1"),
    "grade": (("string", "object"), "a grader, or several by name; the first one is the main one"),
    "solved": (("string",), "when a trial is good enough; default: a main grade of at least 0.5"),
    "explore": (("object",), "loops that continue to a number of iterations past their rule"),
    "grade_iterations": (("string",), "returned, or all (default in exploring runs)"),
    "budget": (("number",), "dollars for the whole experiment"),
    "trial_budget": (("number",), "dollars for one run; default: the limit of its files"),
    "at_once": (("integer",), "the most trials that run at once; default 8"),
    "order_seed": (("integer", "string"), "the seed of the random order inside a block"),
    "on_failure": (("string",), "the grade of a run that failed: zero (default), or leave_out"),
    "margin": (("number",), "a difference in grade that does not matter; default 0.02"),
    "gate": (("object",), "margin (default: the one above), cost and failures of the gate"),
}
VARIANT: dict[str, tuple[tuple[str, ...], str]] = {
    "model": (("string",), "the model of all steps"),
    "models": (("object",), "models by step"),
    "steps": (("object",), "model, system and max_tokens by step"),
    "workflow": (("string",), "another file"),
    "inputs": (("object",), "inputs beside those of the case"),
    "loops": (("object",), "rules by loop: until, at_most, return"),
}
STEP_FIELDS = ("model", "system", "max_tokens")
GATE: dict[str, tuple[tuple[str, ...], str]] = {
    "margin": (("number",), "a difference in grade that does not matter"),
    "cost": (("number",), "how many times as much it may cost"),
    "failures": (("string",), "none: no case may fail that did not before"),
}
# The differences that a comparison of texts may ignore.
IGNORED = ("case", "space")
# Fields that an experiment takes as they are written.
_TAKEN = (
    *("inputs", "repeat", "solved", "explore", "grade_iterations", "budget", "trial_budget"),
    *("at_once", "on_failure", "margin", "gate"),
)
_CHOICES: dict[str, tuple[Any, ...]] = {
    "experiment": (1,),
    "on_failure": ("zero", "leave_out"),
    "grade_iterations": ("returned", "all"),
    "failures": ("none",),
}
# The limits of numbers beside their type; all other numbers must not be negative.
_LIMITS: dict[str, tuple[Callable[[float], bool], str]] = {
    "repeat": (lambda number: number >= 1, "at least 1"),
    "at_once": (lambda number: number >= 1, "at least 1"),
    "margin": (lambda n: 0 <= n < 1, "at least 0 and below 1: grades are from 0 to 1"),
    "cost": (lambda number: number > 0, "a number above 0"),
}
_PYTHON: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "array": (list,),
    "object": (dict,),
}


@dataclass(frozen=True, slots=True)
class Variant:
    """A way to run the workflow; the rules of loops are read once the workflow is known."""

    name: str
    model: str = ""
    models: dict[str, str] = field(default_factory=dict)
    steps: dict[str, dict[str, Any]] = field(default_factory=dict)
    workflow: str = ""
    inputs: dict[str, Any] = field(default_factory=dict)
    loops: dict[str, Mapping] = field(default_factory=dict)
    span: Span | None = None


@dataclass(frozen=True, slots=True)
class Grader:
    """A grader: an expression, or one of the forms with its fields."""

    name: str
    kind: str
    fields: dict[str, Any]
    function: Any = None

    @property
    def is_free(self) -> bool:
        return self.kind in ("expression", "equals")


@dataclass(slots=True)
class Experiment:
    """A workflow, cases, variants and graders, as a file or a program defines them."""

    name: str
    file: str
    reading: Reading
    cases: list[Case]
    variants: dict[str, Variant]
    graders: dict[str, Grader]
    document: Document
    baseline: str = BASE
    inputs: dict[str, Any] | None = None
    repeat: int = 1
    solved: str = ""
    explore: dict[str, int] = field(default_factory=dict)
    grade_iterations: str = ""
    budget: float | None = None
    trial_budget: float | None = None
    at_once: int = 8
    order_seed: str = ""
    on_failure: str = "zero"
    margin: float = 0.02
    gate: dict[str, Any] = field(default_factory=dict)
    is_grouped: bool = False
    # Its variants as first read. Later changes of their files have no effect.
    prepared: Any = None

    @property
    def main_grader(self) -> str:
        return next(iter(self.graders))

    @property
    def trials(self) -> int:
        return len(self.cases) * len(self.variants) * self.repeat


def is_experiment(text: str, file: str) -> bool:
    """Returns whether a text is an experiment file, valid or not."""
    try:
        root = parse(text, file).root
    except InvalidWorkflow:
        return False
    return isinstance(root, Mapping) and "experiment" in root and "whorl" not in root


def read_experiment(project: Project, file: str) -> Experiment:
    """Reads an experiment file; raises InvalidWorkflow with all mistakes in it."""
    return read_document(project, parse(open_file(file), file))


def read_document(project: Project, document: Document) -> Experiment:
    return _Reader(project, document).read()


class _Reader:
    """Reads one file, and collects its mistakes."""

    def __init__(self, project: Project, document: Document) -> None:
        self._project, self._document = project, document
        self._mistakes: list[Diagnostic] = []

    def read(self) -> Experiment:
        root, file = self._document.root, self._document.file
        if not isinstance(root, Mapping):
            raise _invalid("W007", "an experiment file must be an object", root.span)
        if "experiment" not in root:
            words = "this is not an experiment file, which has `experiment: 1` at its top"
            advice = (
                "`whorl experiment what-if --workflow NAME --at-most 3` asks the runs of a workflow"
            )
            raise _invalid("W006", words, root.span, advice)
        given = self._fields(root, FIELDS, "the experiment")
        for name in ("workflow", "cases", "grade"):
            if name not in root:
                words = f"the experiment has no {name!r}"
                self._report(words, root.span, FIELDS[name][1], code="W006")
        variants = self._variants(root.get("variants"))
        graders = self._graders(root.get("grade"))
        self._check_loops(root.get("explore"))
        if isinstance(gate := root.get("gate"), Mapping):
            self._fields(gate, GATE, "the gate")
        self._mistakes += check_names(root)
        baseline = str(given.get("baseline") or next(iter(variants)))
        if baseline not in variants:
            self._unknown("variant", baseline, list(variants), root.get("baseline"))
        self._stop()
        at, rows = root.get("workflow"), root.get("cases")
        assert at is not None
        assert rows is not None
        reading = workflow_beside(self._project, file, given["workflow"], at.span)
        options = {"column": given.get("case_id", ""), "group": given.get("group", "")}
        cases = read_cases(self._project.files(file), self._document, rows, **options)
        self._mistakes += check_columns(root, {n: 1 for case in cases for n in case.row})
        self._stop()
        made = Experiment(
            name=str(given.get("name") or Path(file).name.partition(".")[0]),
            file=file,
            reading=reading,
            cases=cases,
            variants=variants,
            graders=graders,
            document=self._document,
            baseline=baseline,
            is_grouped=bool(given.get("group")),
            **{name: given[name] for name in _TAKEN if name in given},
        )
        made.order_seed = str(given.get("order_seed", made.name))
        if made.trials > TRIALS_MAX:
            words = f"{made.trials:,} trials are too many: at most {TRIALS_MAX:,}"
            self._report(words, root.span, code="W002")
        self._stop()
        return made

    def _stop(self) -> None:
        if self._mistakes:
            raise InvalidWorkflow(self._mistakes)

    def _report(
        self, message: str, span: Span | None, advice: str = "", *, code: str = "W007"
    ) -> None:
        self._mistakes.append(Diagnostic(code, message, span, help=advice))

    def _unknown(
        self, what: str, name: str, known: list[str], at: Value | None, *, code: str = "W005"
    ) -> None:
        advice = did_you_mean(name, known) or f"known: {', '.join(known)}"
        self._report(f"there is no {what} {name!r}", at.span if at else None, advice, code=code)

    def _fields(
        self, given: Mapping, table: dict[str, tuple[tuple[str, ...], str]], owner: str
    ) -> dict[str, Any]:
        """Returns the plain values of known fields, and reports fields of a wrong type."""
        values: dict[str, Any] = {}
        for entry in given:
            if entry.name not in table:
                advice = did_you_mean(entry.name, list(table)) or f"known: {', '.join(table)}"
                words = f"{owner} has no field {entry.name!r}"
                self._report(words, entry.key.span, advice, code="W004")
                continue
            value: Any = plain(entry.value)
            if wanted := _wanted(entry.name, table[entry.name][0], value):
                self._report(f"{entry.name!r} of {owner} must be {wanted}", entry.value.span)
            else:
                values[entry.name] = value
        return values

    def _variants(self, value: Value | None) -> dict[str, Variant]:
        variants = {BASE: Variant(BASE)}
        for entry in value if isinstance(value, Mapping) else ():
            name = entry.name
            if not name.strip():
                advice = "variants: {large: ...}"
                self._report("a variant has no name", entry.key.span, advice, code="W012")
            if name == BASE and plain(entry.value):
                words = f"variant {BASE!r} is the file as it is, and cannot be another one"
                advice = "give it another name; `baseline: NAME` compares the others with it"
                self._report(words, entry.key.span, advice, code="W012")
            if not isinstance(entry.value, Mapping):
                self._report(f"variant {name!r} must be an object", entry.value.span)
                continue
            given = self._fields(entry.value, VARIANT, f"variant {name!r}")
            given.pop("loops", None)
            for step, fields in given.get("steps", {}).items():
                if not isinstance(fields, dict) or not fields.keys() <= {*STEP_FIELDS}:
                    words = f"step {step!r} of variant {name!r} has other fields than "
                    self._report(f"{words}{', '.join(STEP_FIELDS)}", entry.value.span)
            loops, rules = entry.value.get("loops"), {}
            for part in loops if isinstance(loops, Mapping) else ():
                if isinstance(part.value, Mapping):
                    rules[part.name] = part.value
                else:
                    self._report(f"the rule of {part.name!r} must be an object", part.value.span)
            variants[name] = Variant(name, loops=rules, span=entry.key.span, **given)
        if value is not None and len(variants) > VARIANTS_MAX:
            words = f"there are more than {VARIANTS_MAX} variants"
            self._report(words, value.span, code="W002")
        return variants

    def _check_loops(self, explore: Value | None) -> None:
        for entry in explore if isinstance(explore, Mapping) else ():
            most = plain(entry.value)
            if type(most) is not int or not 1 <= most <= ITERATIONS_MAX:
                words = f"loop {entry.name!r} needs a number of iterations to explore"
                self._report(words, entry.value.span, f"explore: {{{entry.name}: 8}}")

    def _graders(self, value: Value | None) -> dict[str, Grader]:
        graders = {name: self._grader(name, one) for name, one in graders_in(value).items()}
        if value is not None and len(graders) > GRADERS_MAX:
            words = f"there are more than {GRADERS_MAX} graders"
            self._report(words, value.span, code="W002")
        return graders

    def _grader(self, name: str, value: Value) -> Grader:
        if isinstance(value, Scalar):
            return Grader(name, "expression", {"test": value.text})
        fields: Any = plain(value)
        kind = next((k for k in GRADERS if isinstance(value, Mapping) and k in value), "")
        if not kind or not isinstance(value, Mapping):
            words = f"grader {name!r} must be a text, or an object with {', '.join(GRADERS)}"
            self._report(words, value.span)
            return Grader(name, "expression", {"test": "false"})
        for other in [other for other in fields if other not in (kind, *GRADERS[kind])]:
            what, known = f"field of grader {name!r}", [kind, *GRADERS[kind]]
            self._unknown(what, other, known, value, code="W004")
        ignored, votes = value.get("ignore"), value.get("votes")
        for word in ignored if isinstance(ignored, Sequence) else [ignored] if ignored else ():
            if plain(word) not in IGNORED:
                advice = did_you_mean(str(plain(word)), IGNORED) or f"known: {', '.join(IGNORED)}"
                words = f"grader {name!r} cannot ignore {plain(word)!r}"
                self._report(words, word.span, advice)
        if votes is not None and plain(votes) not in range(1, VOTES_MAX + 1):
            self._report(f"'votes' of grader {name!r} must be 1 to {VOTES_MAX}", votes.span)
        return Grader(name, kind, fields)


def _wanted(name: str, types: tuple[str, ...], value: Any) -> str:
    """Returns the type or limit that a value misses, or "" if it is right."""
    if choices := _CHOICES.get(name):
        is_choice = value in choices and not isinstance(value, bool)
        return "" if is_choice else " or ".join(map(str, choices))
    accepted = tuple(part for name in types for part in _PYTHON[name])
    if isinstance(value, bool) or not isinstance(value, accepted):
        return " or ".join(types)
    is_right, words = _LIMITS.get(name, (lambda number: number >= 0, "at least 0"))
    return "" if not isinstance(value, int | float) or is_right(value) else words


# Mistakes in a file beside its shape, found before anything is paid for.


def graders_in(value: Value | None) -> dict[str, Value]:
    """Returns the graders of `grade`; a single one has the name of the field."""
    if isinstance(value, Mapping) and not any(kind in value for kind in GRADERS):
        return {entry.name: entry.value for entry in value}
    return {} if value is None else {"grade": value}


def check_names(root: Mapping) -> Iterator[Diagnostic]:
    """Yields the unknown names that expressions and templates of an experiment file read."""
    graders = graders_in(root.get("grade"))
    for name, value in graders.items():
        words = f"grader {name!r} sees {', '.join(NAMES)}"
        for text in _texts_of(value):
            yield from _check_text(text, NAMES, words)
    if isinstance(solved := root.get("solved"), Scalar):
        names = [*graders] or ["grade"]
        yield from _check_text(solved, names, f"`solved` sees {', '.join(names)}")
    for text in templates_in(root.get("inputs")):
        yield from _check_text(text, ["case"], "`inputs` see the case")


def _texts_of(grader: Value) -> Iterator[Scalar]:
    """Yields the texts by which a grader reads names: itself, or templates in its fields."""
    if isinstance(grader, Scalar):
        yield grader
    for entry in grader if isinstance(grader, Mapping) else ():
        if entry.name in _TEMPLATES:
            yield from templates_in(entry.value)


def check_columns(root: Mapping, columns: Collection[str]) -> Iterator[Diagnostic]:
    """Yields the columns that a file names and no case has."""
    for name in ("case_id", "group"):
        value = root.get(name)
        if isinstance(value, Scalar) and value.text not in columns:
            advice = did_you_mean(value.text, columns) or f"known: {', '.join(columns)}"
            yield _wrong(f"there is no column {value.text!r}", value.span, advice)
    graders = graders_in(root.get("grade")).values()
    for value in (*templates_in(root.get("inputs")), *chain(*map(_texts_of, graders))):
        with suppress(LanguageError):
            uses = [use for use in free_names(expression_of(value.text)) if use.name == "case"]
            for member in dict.fromkeys(use.path[0] for use in uses if use.path):
                if isinstance(member, str) and member not in columns:
                    advice = did_you_mean(member, columns) or f"known: {', '.join(columns)}"
                    words = f"'case' has no {member!r}"
                    yield Diagnostic("W005", words, value.span, "unknown name", advice)


def expression_of(text: str) -> Expression:
    """Returns an expression, or a template if the text has placeholders."""
    return Expression("template" if "{{" in text else "jinja", text)


def templates_in(value: Value | None) -> Iterator[Scalar]:
    """Yields the texts in a value that have placeholders."""
    if isinstance(value, Mapping):
        for entry in value:
            yield from templates_in(entry.value)
    elif isinstance(value, Sequence):
        for item in value:
            yield from templates_in(item)
    elif isinstance(value, Scalar) and "{{" in value.text:
        yield value


def _check_text(value: Scalar, names: Any, words: str) -> Iterator[Diagnostic]:
    try:
        uses = free_names(expression_of(value.text))
    except LanguageError as fault:
        yield Diagnostic("W008", str(fault), value.span, help=fault.help or "")
        return
    for name in dict.fromkeys(use.name for use in uses if use.name not in names):
        yield _wrong(f"there is no {name!r}", value.span, did_you_mean(name, list(names)) or words)


def _wrong(message: str, span: Span | None, advice: str = "") -> Diagnostic:
    return Diagnostic("W005", message, span, help=advice)


def workflow_beside(project: Project, file: str, reference: str, span: Span | None) -> Reading:
    """Reads the workflow that an experiment file names: a file of the project, or its code."""
    if is_code(reference):
        return project.read(reference)
    opened = project.files(file).open(file, reference, span or Span(file, 1, 1))
    return project.read_text(opened.text, opened.path)


def _schema() -> dict[str, Any]:
    """Returns the JSON Schema of experiment files, for editors."""

    def described(table: dict[str, tuple[tuple[str, ...], str]]) -> dict[str, Any]:
        made = {n: {"type": list(types), "description": doc} for n, (types, doc) in table.items()}
        for name in made.keys() & _CHOICES.keys():
            made[name]["enum"] = list(_CHOICES[name])
        return made

    def closed(fields: dict[str, Any], **more: Any) -> dict[str, Any]:
        return {"type": "object", "properties": fields, "additionalProperties": False, **more}

    graders = [{"type": "string"}] + [
        closed({name: {} for name in (kind, *others)}, required=[kind])
        for kind, others in GRADERS.items()
    ]
    several = {"type": "object", "additionalProperties": {"anyOf": graders}}
    fields = described(FIELDS)
    fields["variants"] |= {"additionalProperties": closed(described(VARIANT))}
    fields["grade"] = {"description": FIELDS["grade"][1], "anyOf": [*graders, several]}
    fields["explore"] |= {"additionalProperties": {"type": "integer", "minimum": 1}}
    fields["gate"] |= closed(described(GATE))
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Whorl experiment",
        **closed(fields, required=["experiment", "workflow", "cases", "grade"]),
    }


SCHEMA = _schema()
