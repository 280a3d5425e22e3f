"""Workflows to begin with, shipped with the package: a folder for each form that they have."""

from __future__ import annotations

from importlib.resources import files

from whorl.lazily import dataclass

_SHELL = '`commands = ["sh"]` (["bash"] for the canvas)'
_COMMANDS = f"{_SHELL} below [allow] in whorl.toml"
_FILES = f'{_SHELL} and `files = {{write = ["solution.py"]}}` below [allow] in whorl.toml'
_SEARCH = "an MCP server: [mcp.search] in whorl.toml, with a tool `search` that takes a query"


@dataclass(frozen=True, slots=True)
class Template:
    """A main input to try a template with, and what the operator must allow."""

    name: str
    example: str
    needs: str = ""

    @property
    def dialects(self) -> list[str]:
        """The dialects that it is written in."""
        folder, name = files(__name__), self.name
        return [f for f, end in forms().items() if folder.joinpath(f, f"{name}{end}").is_file()]

    @property
    def description(self) -> str:
        """What it is for, as all of its files say."""
        line = read(self.name, next(iter(forms()))).partition("\ndescription: ")[2]
        return line.partition("\n")[0].strip('"')


# The simplest first.
TEMPLATES = (
    Template("self-refine", "a paragraph about why bees dance"),
    Template("agentic-search", "who invented the zip fastener?", _SEARCH),
    Template("code-review", "def mean(xs): return sum(xs) / len(xs)"),
    Template("until-tests-pass", "a function slug(title) that makes a URL part of a title", _FILES),
    Template("research-until-found", "what is the limit of iterations by default?", _COMMANDS),
    Template("multi-pass-extraction", "Invoice 17 of 3 May, from Ada Ltd, 120 euros"),
    Template("translate-and-check", "It never rains but it pours."),
    Template("quality-gate", "a release note for version 2.0"),
)


# Examples of several files: what each shows, and the command to run in its folder.
EXAMPLES = {
    "experiment": (
        "two variants over 16 products, with grades; no key needed",
        "whorl --config scripted.toml experiment run describe.experiment.yaml",
    ),
    "tests": ("a loop with its tests; no key needed", "whorl test"),
    "person": (
        "a person approves or rejects each draft; no key needed",
        'whorl --config scripted.toml run letter.yaml "Ms Moss"',
    ),
}


def example_files(name: str) -> dict[str, str]:
    """Return the files of an example by name, as texts; the name must be one of EXAMPLES."""
    folder = files(__name__).joinpath("_examples", name)
    found = sorted(folder.iterdir(), key=lambda each: each.name)
    return {each.name: each.read_text(encoding="utf-8") for each in found if each.is_file()}


def find(name: str) -> Template | None:
    """Return the template of a name, or nothing for an unknown one."""
    return next((template for template in TEMPLATES if template.name == name), None)


def forms() -> dict[str, str]:
    """The formats that templates are written in, with the endings of their files."""
    folders = {item.name: item for item in files(__name__).iterdir() if item.is_dir()}
    names = {form: next(iter(folders[form].iterdir())).name for form in sorted(folders)}
    return {form: name[name.rindex(".") :] for form, name in names.items() if form[0] != "_"}


def read_first(name: str) -> str:
    """Return a file of the loop that a new folder begins with, as text."""
    return files(__name__).joinpath("_start", name).read_text(encoding="utf-8")


def read(name: str, form: str) -> str:
    """Return the file of a template, as text; the name must be that of one of them."""
    if find(name) is None:
        raise KeyError(name)
    return files(__name__).joinpath(form, f"{name}{forms()[form]}").read_text(encoding="utf-8")
