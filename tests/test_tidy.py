"""Checks on the project itself: sizes, banned calls, documented codes, live links."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

from skipping import may_skip, skips
from whorl.explanations import codes

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "src" / "whorl"
FUNCTION_LINES_MAX = 70
FILE_LINES_MAX = 800
POSITIONAL_MAX = 5
BANNED_CALLS = {"eval", "exec", "compile", "__import__"}
CODE = re.compile(r"\b([WRPICX]\d{3})\b")


@cache
def nodes(path: Path) -> list[ast.AST]:
    """All of a file, the module first."""
    return list(ast.walk(ast.parse(path.read_text())))


def python_files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*.py"))


def functions(path: Path) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
    return [n for n in nodes(path) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)]


@pytest.mark.parametrize("folder", ["src", "tests"])
def test_files_and_functions_are_short(folder: str) -> None:
    long = []
    for path in python_files(ROOT / folder):
        text = path.read_text()
        if text.count("\n") > FILE_LINES_MAX:
            long.append(f"{path.relative_to(ROOT)}: {text.count(chr(10))} lines")
        for function in functions(path):
            body = function.body
            start = body[1] if len(body) > 1 and ast.get_docstring(function) else body[0]
            lines = (function.end_lineno or 0) - start.lineno + 1
            if lines > FUNCTION_LINES_MAX:
                long.append(f"{path.relative_to(ROOT)}:{function.lineno}: {lines} lines")

    assert long == []


def test_functions_have_few_positional_parameters() -> None:
    wide = []
    for path in python_files(PACKAGE):
        for function in functions(path):
            names = [a.arg for a in (*function.args.posonlyargs, *function.args.args)]
            names = [name for name in names if name not in ("self", "cls")]
            is_filter = bool({"functions", "core"} & set(path.parts))
            if len(names) > POSITIONAL_MAX and not function.decorator_list and not is_filter:
                wide.append(f"{path.relative_to(ROOT)}:{function.lineno}: {function.name}")

    assert wide == []


def test_every_module_opens_with_a_sentence() -> None:
    silent = [
        str(path.relative_to(ROOT))
        for path in python_files(PACKAGE)
        if not ast.get_docstring(nodes(path)[0])
    ]

    assert silent == []


def test_nothing_of_python_evaluates_a_text() -> None:
    found = []
    for path in python_files(PACKAGE):
        for node in nodes(path):
            if not isinstance(node, ast.Call):
                continue
            name = node.func.id if isinstance(node.func, ast.Name) else ""
            if name in BANNED_CALLS:
                found.append(f"{path.relative_to(ROOT)}:{node.lineno}: {name}")
            if any(
                isinstance(k.value, ast.Constant) and k.value.value is True
                for k in node.keywords
                if k.arg == "shell"
            ):
                found.append(f"{path.relative_to(ROOT)}:{node.lineno}: shell=True")

    assert found == []


def test_pickle_and_friends_are_not_imported() -> None:
    banned = {"pickle", "marshal", "shelve", "dill", "jsonpickle", "litellm"}
    found = []
    for path in python_files(PACKAGE):
        for node in nodes(path):
            names = [a.name for a in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom) and node.module:
                names = [node.module]
            found += [f"{path}: {name}" for name in names if name.split(".")[0] in banned]

    assert found == []


def glossary(title: str) -> list[str]:
    """The first cells of a table of the glossary, under a title."""
    text = (ROOT / "docs" / "reference" / "glossary.md").read_text()
    section = text.partition(f"## {title}")[2].partition("\n## ")[0]
    return re.findall(r"^\| ([^|-][^|]*) \|", section, re.MULTILINE)[1:]


@cache
def identifiers(path: Path) -> set[str]:
    """The names of a module, of its folders, and all that it gives itself, in lower-case words."""
    names = set(path.relative_to(PACKAGE).with_suffix("").parts)
    for node in nodes(path):
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                names.add(name)
            case ast.ClassDef(name=name) | ast.arg(arg=name) | ast.Name(id=name, ctx=ast.Store()):
                names.add(name)
            case ast.Attribute(attr=name, ctx=ast.Store()):
                names.add(name)
    return {
        word.lower() for name in names for word in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", name)
    }


def test_no_format_is_named_outside_of_the_formats() -> None:
    names = {path.parent.name for path in (PACKAGE / "formats").glob("*/__init__.py")}
    names = {name.replace("_", "[-_]") for name in names}
    named = [
        f"{path.relative_to(ROOT)}: {match[0]}"
        for path in python_files(PACKAGE)
        if "formats" not in path.parts and path.stem != "foreign_verbs"
        for match in re.finditer(rf"(?i)(?<![-_\w])({'|'.join(names)})\b", path.read_text())
    ]

    assert len(names) == 5
    assert named == []


def test_the_code_uses_no_word_that_the_glossary_replaces() -> None:
    banned = {
        word for cell in glossary("Words that the code does not use") for word in cell.split(", ")
    }
    used = {
        f"{path.relative_to(ROOT)}: {word}"
        for path in python_files(PACKAGE)
        for word in identifiers(path) & banned
    }

    assert len(banned) > 20
    assert sorted(used) == []


def test_every_code_that_is_raised_has_a_page() -> None:
    used = set()
    for path in python_files(PACKAGE):
        for node in nodes(path):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                match = CODE.fullmatch(node.value)
                if match:
                    used.add(match[1])

    assert used - set(codes()) == set()


def _called(function: ast.AST) -> set[str]:
    """The names of what a function calls, and of the fixtures that it takes."""
    names = {argument.arg for argument in getattr(function, "args", ast.arguments()).args}
    for node in ast.walk(function):
        if isinstance(node, ast.Call):
            if isinstance(node.func, ast.Name):
                names.add(node.func.id)
            elif isinstance(node.func, ast.Attribute):
                names.add(node.func.attr)
    return names


def test_every_test_asserts_something() -> None:
    """By itself, or by a function of the tests that does."""
    checking = {"raises", "expect", "wait_for", "wait_for_url", "wait_for_function"}
    known = {
        (function.name, path, function.lineno): function
        for path in python_files(ROOT / "tests")
        for function in functions(path)
    }
    waiting = {
        key: function
        for key, function in known.items()
        if not any(isinstance(node, ast.Assert) for node in ast.walk(function))
    }
    checking |= {key[0] for key in known.keys() - waiting.keys()}
    while found := {key for key, function in waiting.items() if _called(function) & checking}:
        checking |= {key[0] for key in found}
        waiting = {key: function for key, function in waiting.items() if key not in found}
    empty = [
        f"{path.relative_to(ROOT)}:{line}: {name}"
        for name, path, line in waiting
        if name.startswith("test_")
    ]

    assert empty == []


def test_what_may_be_skipped_has_a_reason_and_a_place() -> None:
    for skip in skips():
        assert set(skip) == {"below", "says", "because"}
        assert skip["because"]
        assert [place for place in skip["below"] if not (ROOT / "tests" / place).exists()] == []
    assert may_skip("tests/web/test_narrow.py", "there is no npm: it is not installed")
    assert not may_skip("tests/unit/test_source.py", "there is no npm: it is not installed")
    assert not may_skip("tests/web/test_narrow.py", "it fails on Tuesdays")


def test_links_in_documents_lead_somewhere() -> None:
    dead = []
    pages = [
        *ROOT.glob("*.md"),
        *(ROOT / "docs").rglob("*.md"),
        *(ROOT / "conformance").rglob("*.md"),
    ]
    for page in pages:
        for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", page.read_text()):
            if "://" not in target and not (page.parent / target).exists():
                dead.append(f"{page.relative_to(ROOT)}: {target}")

    assert dead == []


@pytest.mark.parametrize(("name", "lines_max"), [("README.md", 150), ("ARCHITECTURE.md", 200)])
def test_root_documents_are_short(name: str, lines_max: int) -> None:
    assert (ROOT / name).read_text().count("\n") <= lines_max
