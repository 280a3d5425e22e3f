"""`whorl explain` and `whorl schema`: what is known without any run."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from whorl.errors import UsageError, did_you_mean
from whorl.interfaces.cli.options import print_json

if TYPE_CHECKING:
    from whorl.language import FunctionEntry


@click.command()
@click.argument("what", metavar="CODE | function NAME", nargs=-1, required=True)
def explain(what: tuple[str, ...]) -> int:
    """Explain an error CODE, or a function of expressions by its NAME.

    \b
      whorl explain W004
      whorl explain function addDays
    """
    if what[0] == "function":
        for said in _functions(what[1:]):
            click.echo(said)
    elif len(what) == 1:
        click.echo(_page(what[0]))
    else:
        raise UsageError(
            f"one code is explained at a time, not {len(what)}", help="whorl explain W004"
        )
    return 0


def _page(code: str) -> str:
    from whorl.explanations import codes, explain

    page = explain(code)
    if page is None:
        known = codes()
        hint = did_you_mean(code, known)
        raise UsageError(
            f"no error has the code {code!r}", help=hint or f"known: {' '.join(known)}"
        )
    return page.rstrip()


# Where functions are known, and how an author writes a call of one.
_LIBRARIES = (("logic", "Logic Apps expressions: @{...}"), ("", "templates: {{ ... }}"))


def logic_signature(entry: FunctionEntry) -> str:
    """The parameters of a function of Logic Apps; a question mark stands behind what may be left
    out.
    """
    optional = [f"{name}?" for name, _ in entry.optional]
    further = ["..."] if entry.extra else []
    return f"{entry.name}({', '.join([*entry.required, *optional, *further])})"


def _functions(names: tuple[str, ...]) -> list[str]:
    """All functions, filters and tests of a name, from the tables that the language uses."""
    from whorl.language import functions

    if len(names) != 1:
        raise UsageError(
            "name the function that is to be explained", help="whorl explain function addDays"
        )
    wanted = names[0].removesuffix("()").lstrip("@").lower()
    said: list[str] = []
    known: list[str] = []
    for library, where in _LIBRARIES:
        for entry in functions(library):
            known.append(entry.name)
            if entry.name.lower() == wanted:
                written = logic_signature(entry) if library == "logic" else entry.signature
                said += [written, f"  {entry.doc}"]
                said += [f"  {entry.kind} of the family {entry.family!r}, for {where}", ""]
    if not said:
        hint = did_you_mean(names[0], known) or "docs/reference lists all of them"
        raise UsageError(f"there is no function {names[0]!r}", help=hint)
    return said[:-1]


@click.command()
def schema() -> int:
    """Print the JSON Schema of native workflow files, for editors.

    \b
      whorl schema > whorl.schema.json
    """
    from whorl.dialects.native import native_schema

    print_json(native_schema())
    return 0


COMMANDS = {"explain": explain, "schema": schema}
