"""What many commands share: options, their project, trust, inputs, the audit, commands to paste."""

from __future__ import annotations

import io
import os
import sys
from contextlib import closing, redirect_stdout, suppress
from functools import partial, wraps
from typing import TYPE_CHECKING, Any, TypeVar

import click

from whorl.errors import InvalidWorkflow, StoreError, UsageError, WhorlError, columns, plural, safe
from whorl.interfaces.cli.terminal import echo, indented, is_ours, json_text, paint, room, say

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Iterator
    from pathlib import Path

    from whorl.ir import Workflow
    from whorl.language import Json
    from whorl.runtimes.sqlite import SqliteStore
    from whorl.services.configuration.trust import Judged
    from whorl.services.project import Project


R = TypeVar("R")

STDIN_BYTES_MAX = 2_000_000
# Of one input.
FILES_MAX = 500
NO_RUNS = "no runs yet\nnext: whorl run FILE"
FORMS = (
    "write NAME=TEXT, also for a path, or NAME:=JSON; NAME=@FILE and NAME:=@FILE read it from a "
    "file; repeat -i for a list; --inputs FILE has many inputs"
)


def located(
    function: Callable[..., R], *, is_checked: bool = True, drives: bool = False
) -> Callable[..., R]:
    """Adds --store and --config, and passes the project to the command as its first argument.

    `is_checked` is false for a command that reports problems of the configuration itself. One that
    `drives` runs has --trust.
    """

    @click.option("--store", metavar="PATH", help="Folder or file of the store.")
    @click.option("--config", metavar="FILE", help="Configuration instead of whorl.toml.")
    @click.pass_context
    @wraps(function)
    def command(ctx: click.Context, /, **options: Any) -> R:
        from whorl.services.project import find_project

        outer = ctx.find_root().obj or {}
        store, config = (options.pop(name) or outer.get(name) for name in ("store", "config"))
        trusts = options.pop("trusts", False)
        project = find_project(
            os.environ, store=store, config=config, is_checked=is_checked, trusts=trusts
        )
        try:
            return _audited(ctx, project, options, partial(function, project, **options))
        except (UsageError, StoreError) as fault:
            fault.help = carrying(fault.help)
            raise

    words = "Trust the folder's whorl.toml for this call."
    option = click.option("--trust", "trusts", is_flag=True, help=words)
    return option(command) if drives else command


_TITLES = {
    "code": "code of the folder",
    "addresses": "send to addresses",
    "network": "private addresses",
    "prices": "count costs by",
    "deletion": "delete",
}
_HEADS = {
    "harmless": " permits nothing that needs trust",
    "trusted": " is trusted, and permits: ",
    "changed": " has changed since you trusted it; it asks for:",
}


def judged_lines(judged: Judged) -> Iterator[str]:
    """Yields what a whorl.toml permits; if it has changed, differences are marked."""
    rights: dict[str, list[str]] = {}
    for right in judged.rights:
        rights.setdefault(_TITLES.get(right.kind, right.kind), []).append(safe(right.text))
    asked = [f"{title} {', '.join(texts)}" for title, texts in rights.items()]
    head = f"{safe(str(judged.path))}{_HEADS.get(judged.standing, ' asks for: ')}"
    if judged.standing != "changed":
        whole = f"{head}{'; '.join(asked)}"
        yield from [whole] if columns(whole) <= room() else [head.rstrip(), *indented(asked)]
        return
    yield head
    texts = {(right.kind, right.text) for right in judged.before}
    for right in judged.rights:
        mark = "+" if right in judged.added else " "
        # Where what is shown is the same, it is what is not shown.
        is_hidden = mark == "+" and (right.kind, right.text) in texts
        words = f"{mark} {_TITLES.get(right.kind, right.kind)}: {safe(right.text)}"
        words += " (changed values, which are not shown)" * is_hidden
        yield paint(words, "green") if mark == "+" else words
    still = {(right.kind, right.text) for right in judged.rights}
    for right in judged.removed:
        if (right.kind, right.text) not in still:
            yield paint(f"- {_TITLES.get(right.kind, right.kind)}: {safe(right.text)}", "red")
    if not judged.added and not judged.removed:
        yield "it permits the same as before; other parts of the file have changed"


def ask_for_trust(project: Project) -> None:
    """Asks the user at the terminal about a whorl.toml that is not trusted; remembers a yes.

    If the user cannot be asked, everything that needs its rights is refused.
    """
    from whorl.services.configuration.trust import remember

    judged = project.configuration().judged
    if judged is None or judged.standing not in ("new", "changed"):
        return
    if not is_ours(sys.stdin, sys.stderr):
        return
    say(*judged_lines(judged))
    if click.confirm("Trust it?", default=False, err=True):
        remember(project.environment, judged)


run_argument = click.argument("run", metavar="RUN")
place_option = click.argument("run", metavar="[RUN[/ADDRESS]]", default="last")
# The argument of commands that only look; without it, the newest run is meant.
run_option = click.argument("run", metavar="[RUN]", default="last")
json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
workflow_option = click.option(
    "--workflow", default="", metavar="NAME", help="Which workflow, if the file has several."
)


def dollars_given(text: str) -> float:
    """Reads `1.00` or `$1.00` as dollars."""
    try:
        amount = float(text.strip().lstrip("$"))
    except ValueError:
        amount = -1.0
    if not 0 < amount < 1e9:
        raise click.BadParameter(f"{text!r} is not an amount of dollars above 0, such as 0.50")
    return amount


def _added(text: str) -> str:
    if not text.startswith("+"):
        raise click.BadParameter(f"{text!r} is an amount to add: write +{text.lstrip('$')}")
    return text[1:]


def _more_of(text: str) -> int:
    """Reads `+500` or `+10k` as a number."""
    from whorl.ir.values import parse_count

    try:
        count = parse_count(_added(text))
    except ValueError:
        count = 0
    if not 0 < count < 10**12:
        raise click.BadParameter(f"{text!r} is not a number to add, such as +500 or +10k")
    return count


def budget_option(words: str) -> Callable[[Callable[..., R]], Callable[..., R]]:
    return click.option("--budget", type=dollars_given, metavar="DOLLARS", help=words)


def more_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Adds --budget, --tokens and --calls; the command gets the amounts as `more`.

    A command that takes iterations needs at least one of all these amounts.
    """

    @click.option("--budget", type=lambda text: dollars_given(_added(text)), metavar="+AMOUNT",
                  help="Dollars to add, such as +0.50.")  # fmt: skip
    @click.option("--tokens", type=_more_of, metavar="+N", help="Tokens to add, such as +10k.")
    @click.option("--calls", type=_more_of, metavar="+N",
                  help="Calls to add to the budget, such as +10.")  # fmt: skip
    @wraps(command)
    def with_more(
        *args: Any, budget: float | None, tokens: int | None, calls: int | None, **rest: Any
    ) -> Any:
        from whorl.services.steering import More

        more = More(budget, tokens, calls)
        if rest.get("iterations", 1) is None and not more.amounts():
            words = "say how much more: --iterations N, --budget +AMOUNT, --tokens +N, --calls +N"
            raise UsageError(words, help="for example `whorl continue last --iterations 3`")
        return command(*args, more=more, **rest)

    return with_more


def step_options(command: Callable[..., R]) -> Callable[..., R]:
    """Adds --model and --prompt; the command gets them as `steps`: fields by step, "" for all."""

    @click.option("--model", "models", multiple=True, metavar="[STEP=]MODEL",
                  help="Another model for all steps, or for STEP. Repeatable.")  # fmt: skip
    @click.option("--prompt", "prompts", multiple=True, metavar="STEP=TEXT",
                  help="Another prompt for a step; also STEP=@FILE. Repeatable.")  # fmt: skip
    @wraps(command)
    def with_steps(*args: Any, models: tuple[str, ...], prompts: tuple[str, ...], **rest: Any) -> R:
        steps: dict[str, dict[str, str]] = {}
        for model in (model for model in models if "=" not in model):
            if steps or not model:
                raise UsageError("--model is given twice", help="--model MODEL, --model STEP=MODEL")
            steps[""] = {"model": model}
        named = [model for model in models if "=" in model]
        for name, texts in (("model", named), ("prompt", prompts)):
            for step, text in read_values(texts, f"--{name}", read_stdin).items():
                steps.setdefault(step, {})[name] = str(text)
        return command(*args, steps=steps, **rest)

    return with_steps


def read_stdin() -> str:
    from whorl.source import Limits
    from whorl.source.report import read_text

    if sys.stdin.isatty():
        echo("reading from the terminal; end with Ctrl-D", err=True)
    content = sys.stdin.buffer.read(STDIN_BYTES_MAX + 1)
    if len(content) > STDIN_BYTES_MAX:
        raise UsageError(f"standard input has more than {STDIN_BYTES_MAX:,} bytes")
    return read_text(content, "standard input", limits=Limits(bytes_max=STDIN_BYTES_MAX))


def write_file(
    name: str, text: str, *, advice: str, mode: str = "w", is_private: bool = False
) -> None:
    """Writes a file; a private one is readable by its owner only, even if it existed before.

    Raises UsageError if a link of the project leads to a place outside of it.
    """
    from whorl.services.project import find_project
    from whorl.source.paths import check_inside

    check_inside(find_project(os.environ).root, name)
    try:
        os.makedirs(os.path.dirname(name) or ".", exist_ok=True)
        permissions = 0o600 if is_private else 0o666
        opener = partial(os.open, mode=permissions)
        with open(name, mode, encoding="utf-8", opener=opener) as file:
            if is_private:
                os.fchmod(file.fileno(), permissions)
            file.write(text)
    except OSError as fault:
        raise UsageError(f"cannot write {name!r}: {fault.strerror or fault}", help=advice) from None


# The endings of files that name a form of a document, of which a command may write none.
_FORMS = (".csv", ".html", ".json", ".md", ".pdf", ".png", ".svg")


def output_option(
    *, overwrites: bool = True, **forms: str
) -> Callable[[Callable[..., R]], Callable[..., R]]:
    """Adds -o, which writes to a file; `forms` maps endings to options that choose the form."""

    def add(function: Callable[..., R]) -> Callable[..., R]:
        @click.option("--output", "-o", metavar="FILE",
                      help="Write to FILE; its ending chooses the form.")  # fmt: skip
        @wraps(function)
        def command(*args: Any, output: str | None, **options: Any) -> R:
            if output is None:
                return function(*args, **options)
            ending = os.path.splitext(output)[1].lower()
            form = forms.get(ending[1:], "")
            if ending in _FORMS and ending[1:] not in forms:
                advice = f"name one that ends in {', '.join(f'.{each}' for each in forms)} or .txt"
                raise UsageError(f"this command writes no {ending} file", help=advice)
            own = str(options.get("file") or "")
            if own and os.path.realpath(own) == os.path.realpath(output):
                raise UsageError(f"{output!r} is the file itself", help="name another file")
            if not overwrites and os.path.exists(output):
                raise UsageError(f"{output!r} exists", help="name another file")
            if form and not any(options[each] for each in forms.values() if each):
                options[form] = True
            printed = io.StringIO()
            with redirect_stdout(printed):
                result = function(*args, **options)
            if text := printed.getvalue():
                write_file(output, text, advice="name another file")
                say(f"wrote {safe(output)}")
            return result

        return command

    return add


def print_json(value: object) -> None:
    echo(json_text(value, indent=2))


def input_options(command: Callable[..., R]) -> Callable[..., R]:
    """Adds -i and --inputs; the command gets all of them as `inputs`."""

    @click.option("--input", "-i", "inputs", multiple=True, metavar="NAME=VALUE",
                  help="An input; also NAME:=JSON, and @FILE for either. Repeatable.")  # fmt: skip
    @click.option("--inputs", "tables", multiple=True, metavar="FILE",
                  help="Inputs by name, in JSON, YAML or TOML; - is standard input.")  # fmt: skip
    @wraps(command)
    def with_inputs(*args: Any, inputs: tuple[str, ...], tables: tuple[str, ...], **rest: Any) -> R:
        return command(*args, inputs=(*(f"@{name}" for name in tables), *inputs), **rest)

    return with_inputs


def read_inputs(
    project: Project,
    workflow: Workflow,
    written: Iterable[str],
    *,
    text: str | None = None,
    file: str = "FILE",
) -> dict[str, Json]:
    """Reads the inputs of -i, those of files (which -i overrides), and the main one from `text`."""
    tables: dict[str, Json] = {}
    rest: list[str] = []
    ports = {n: port for port in workflow.inputs for n in (port.name, *port.aliases)}
    for words in written:
        name, _, value = words.partition("=")
        kind = ports[name].type if name in ports else ""
        if words.startswith("@"):
            tables |= _read_table(words[1:], file)
        elif kind in ("file", "files") and value.startswith("@") and value != "@-":
            # A file is given by its path, not by its text.
            paths = _find_files(value[1:], name) if kind == "files" else [value[1:]]
            rest += [f"{name}={path}" for path in paths]
        else:
            rest.append(words)
    lists = {port.name for port in workflow.inputs if port.type in ("list", "files")}
    secrets = {n for n, port in ports.items() if port.secret}
    given = read_values(rest, "-i", read_stdin, lists=lists, secrets=secrets)
    for name in lists & given.keys():
        item = given[name]
        # The text may also be a whole list in JSON.
        if isinstance(item, str) and item.lstrip()[:1] not in ("[", "{"):
            given[name] = [item]
    if text is not None:
        name = workflow.main_input
        if not name:
            words = ", ".join(f"-i {port.name}=..." for port in workflow.inputs) or "none"
            words = f"workflow {workflow.name!r} takes no text; its inputs: {words}"
            raise UsageError(words, help=FORMS if workflow.inputs else "leave the text out")
        if name in given:
            raise UsageError(f"the input {name!r} is given twice: as text and with -i")
        given = {name: read_stdin() if text == "-" else text, **given}
    return with_paths(project, workflow, tables | given)


def _read_table(name: str, file: str) -> dict[str, Json]:
    """Reads the object in a file; errors do not show its content."""
    from whorl.dialects.reader import parse
    from whorl.source import plain

    text, place = read_stdin() if name == "-" else _read_file(name, "--inputs"), f"--inputs {name}"
    table: Any = []
    if name.endswith(".toml"):
        import tomllib

        try:
            table = tomllib.loads(text)
        except tomllib.TOMLDecodeError as fault:
            raise UsageError(f"{place} is not TOML{str(fault).partition('(')[2]:.40}") from None
    elif not name.endswith((".csv", ".jsonl", ".tsv")):
        try:
            table = plain(parse(text, "inputs" if name == "-" else name).root)
        except InvalidWorkflow as fault:
            where = fault.diagnostics[0].span
            raise UsageError(f"{place} is neither JSON nor YAML: see {where}") from None
    if isinstance(table, dict):
        return table
    if not isinstance(table, list):
        raise UsageError(f"{place} is not an object", help='such as {"topic": "rain"}')
    experiment = f"{os.path.basename(file).partition('.')[0]}.experiment.yaml"
    advice = (
        f"write {experiment}, and run all of them with `whorl experiment run {experiment}`:\n"
        f'experiment: 1\nworkflow: {file}\ncases: {name}\ngrade: "1"'
    )
    raise UsageError(f"{place} has several cases, and a run takes one", help=advice)


def _find_files(pattern: str, name: str) -> list[str]:
    """The files that a path, a folder or a pattern names, sorted."""
    import glob

    pattern = os.path.join(glob.escape(pattern), "*") if os.path.isdir(pattern) else pattern
    found = [pattern] if os.path.exists(pattern) else sorted(glob.glob(pattern, recursive=True))
    paths = [path for path in found if os.path.isfile(path)]
    if not 0 < len(paths) <= FILES_MAX:
        words = f"-i {name}: {pattern!r} matches {plural(len(paths), 'file')}"
        raise UsageError(words, help=f"name 1 to {FILES_MAX}, relative to the current folder")
    return paths


def read_values(
    written: Iterable[str],
    option: str,
    stdin: Callable[[], str],
    *,
    lists: Container[str] = frozenset(),
    secrets: Container[str] = frozenset(),
) -> dict[str, Json]:
    """Reads the values of an option, as NAME=VALUE, NAME:=JSON or with @file; each name once.

    Only those of `lists` may be given several times: each time is one item. Errors do not show the
    content of files or standard input, nor values of `secrets`.
    """
    values: dict[str, Json] = {}
    items: dict[str, list[Json]] = {}
    for text in written:
        name, equals, value = text.partition("=")
        is_json = name.endswith(":")
        name = name.removesuffix(":").strip()
        if not equals or not name:
            is_table = option == "-i" and text.endswith((".json", ".yaml", ".yml", ".toml"))
            advice = f"for a file of inputs: --inputs {text}" if is_table else FORMS
            raise UsageError(f"{option} {text[:60]!r} has no value", help=advice)
        if name in values and name not in lists:
            raise UsageError(f"{option} gives {name!r} twice", help="leave one of them out")
        place = f"{option} {name}"
        source = "its text" if name in secrets else ""
        if value == "@-":
            value, source = stdin(), "standard input"
        elif value.startswith("@"):
            source = repr(value[1:])
            value = _read_file(value[1:], place)
        values[name] = _read_json(value, place, source) if is_json else value
        items.setdefault(name, []).append(values[name])
    return values | {name: several for name, several in items.items() if len(several) > 1}


def read_labels(written: Iterable[str]) -> dict[str, str]:
    """Reads the labels of an option, as NAME=VALUE; each name once."""
    labels: dict[str, str] = {}
    for text in written:
        name, equals, value = text.partition("=")
        if not equals or not name:
            words = f"--label takes NAME=VALUE, not {text[:60]!r}"
            raise UsageError(words, help="such as --label team=red")
        if labels.setdefault(name, value) != value:
            raise UsageError(f"--label gives {name!r} twice", help="leave one of them out")
    return labels


def with_paths(project: Project, workflow: Workflow, given: dict[str, Json]) -> dict[str, Json]:
    """Returns the inputs with paths relative to the project, not to the current folder."""
    paths = dict(given)
    for port in workflow.inputs:
        for name in (port.name, *port.aliases) if port.type in ("file", "files") else ():
            value = given.get(name)
            if port.type == "files" and isinstance(value, str):
                is_list = value.lstrip().startswith("[")
                value = _read_json(value, f"-i {name}") if is_list else [value]
            for path in value if port.type == "files" and isinstance(value, list) else ():
                _check_single(name, path)
            if name in given:
                paths[name] = _in_project(project.root, name, value)
    return paths


def _check_single(name: str, path: Json) -> None:
    """Refuses a folder or a pattern in the place of a file, and says how its files are given."""
    if not isinstance(path, str) or os.path.isfile(path) or "://" in path:
        return
    if os.path.isdir(path) or any(letter in path for letter in "*?["):
        words = f"-i {name}: {path!r} is a folder or a pattern"
        raise UsageError(words, help=f"for its files, write -i '{name}=@{path}'", code="R111")


def _in_project(root: Path, name: str, value: Json) -> Json:
    """A path of the command line, or a list of them, seen from the project's folder."""
    if isinstance(value, list):
        return [_in_project(root, name, path) for path in value]
    if not isinstance(value, str) or not value.strip() or "://" in value:
        return value
    path = os.path.abspath(os.path.expanduser(value))
    for place, top in ((path, str(root)), (os.path.realpath(path), os.path.realpath(root))):
        if place.startswith(f"{top.rstrip(os.sep)}{os.sep}"):
            return os.path.relpath(place, top).replace(os.sep, "/")
    words = (
        f"-i {name}: {value!r} is outside of the project {str(root)!r}; runs read only its files"
    )
    raise UsageError(words, help="copy it into the project", code="R111")


def add_secrets(workflow: Workflow, given: dict[str, Json]) -> dict[str, Json]:
    """Adds missing secrets to the inputs by asking the user at the terminal.

    On a command line, a secret would be visible in the list of processes.
    """
    ports = [port for port in workflow.inputs if port.secret and port.required]
    missing = [port.name for port in ports if port.default is None and port.name not in given]
    if not missing or not is_ours(sys.stdin, sys.stderr):
        return given
    words = {name: f"{safe(name)} (secret, not shown)" for name in missing}
    return given | {n: click.prompt(words[n], hide_input=True, err=True) for n in missing}


QUOTED = "a text in JSON needs quotes: NAME:='\"a\"'"


def _read_json(text: str, place: str, source: str = "") -> Json:
    """Parses JSON; if a `source` is named, an error names the place in it but not the value."""
    from whorl.source import VALUE_LIMITS, plain
    from whorl.source.json import read_json
    from whorl.source.report import LIMIT

    try:
        return plain(read_json(text, place, limits=VALUE_LIMITS).root)
    except InvalidWorkflow as fault:
        first, at = fault.diagnostics[0], fault.diagnostics[0].span
        where = f"line {at.line}, column {at.column} of {source}" if at else source
        if first.code == LIMIT and "'" not in first.message:  # it quotes nothing of the value
            raise UsageError(f"{place}: {first.message.replace('the file', 'it', 1)}") from None
        message = f"{place} is not JSON: {f'see {where}' if source else first.message}"
        # Nor does a traceback show what is in a file.
        raise UsageError(message, help=QUOTED) from (None if source else fault)


def _read_file(path: str, place: str) -> str:
    from whorl.source.paths import open_file

    try:
        return open_file(path)
    except InvalidWorkflow as fault:
        usual = "the path is relative to the current folder; @- reads standard input"
        advice = fault.diagnostics[0].help or usual
        raise UsageError(f"{place}: {fault.diagnostics[0].message}", help=advice) from fault


# The last words of the commands that change something.
_CHANGES = frozenset({
    "run", "try", "resume", "continue", "accept", "fork", "pause", "cancel", "stop", "approve",
    "reject", "edit", "add", "rotate", "rm", "prune", "restore", "adopt",
})  # fmt: skip
_DONE = "whorl.audit.done"


def action_of(path: str) -> str:
    """Returns what the audit calls a command: `start`, `pause`, `add token`; "" if it looks."""
    *groups, verb = path.split() or [""]
    action = " ".join((verb, *groups[1:])) if groups else {"run": "start"}.get(verb, verb)
    return action if verb in _CHANGES else ""


async def note_start(store: SqliteStore, run: str, file: str) -> None:
    """Notes in the audit that a run was created; its outcome is in its journal."""
    context = click.get_current_context(silent=True)
    if context is not None:
        context.meta[_DONE] = True
    await _note(store, "start", run, file, "ok")


def _audited(
    ctx: click.Context, project: Project, options: dict[str, Any], command: Callable[[], R]
) -> R:
    """Runs a command, and notes the outcome in the audit if it changes something."""
    action = action_of(ctx.command_path.partition(" ")[2])
    if not action or options.get("dry_run"):
        return command()
    run, outcome = str(options.get("run") or ""), ""
    if run and project.store.exists():
        from whorl.services.runs import find_run

        # What is meant before the command creates others.
        with suppress(WhorlError), closing(project.open_store()) as store:
            run = find_run(store, run.partition("/")[0])
    try:
        result = command()
        outcome = f"exit code {result}" if result else "ok"
    except BaseException as fault:
        outcome = str(getattr(fault, "code", "") or type(fault).__name__)
        raise
    else:
        return result
    finally:
        file = str(options.get("file") or options.get("name") or options.get("key") or "")
        if not ctx.meta.get(_DONE):
            import asyncio

            async def add() -> None:
                async with project.open_store() as store:
                    await _note(store, action, run, file, outcome)

            # A command says what is wrong with its store; one that made none changed nothing.
            with suppress(WhorlError):
                asyncio.run(add())


async def _note(store: SqliteStore, action: str, run: str, file: str, outcome: str) -> None:
    import getpass

    from whorl.runtimes.service.tables import Audit, AuditEntry

    user = str(os.getuid())
    # A container may run under a number that has no name.
    with suppress(OSError, KeyError):
        user = getpass.getuser()
    who = f"command line {user}"
    await Audit(store).add(AuditEntry(who=who, action=action, run=run, file=file, outcome=outcome))


def pasted(*words: str) -> str:
    """Returns a command with the configuration and the store that this one was given."""
    from whorl.interfaces.advice import command

    context = click.get_current_context(silent=True)
    if context is None:
        return command(*words)
    outer = context.find_root().obj or {}
    given = {name: context.params.get(name) or outer.get(name) for name in ("config", "store")}
    options = [part for name, value in given.items() if value for part in (f"--{name}", value)]
    return command(*options, *words)


def carrying(sentence: str) -> str:
    """Adds the configuration and the store of this command to the commands in a sentence.

    A command is written as `whorl ...` there, in these quotes.
    """
    return sentence.replace("`whorl ", f"`{pasted()} ")


def with_help(result: dict[str, Any], *, is_kept: bool = True) -> dict[str, Any]:
    """Adds to the errors and warnings of a result what to do, with commands that work here."""
    from whorl.interfaces import advice

    result = advice.with_help(result, is_kept=is_kept)
    for message in (*result["warnings"], result["error"]):
        if message and message.get("help"):
            message["help"] = carrying(message["help"])
    return result
