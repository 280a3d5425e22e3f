"""Changes the code in small ways, one at a time, and says which changes no test notices.

    python tools/mutate.py [--count 30] [--seed N] [--only PART] [--tests N]

The same seed draws the same changes of the same code. The code itself is never touched: each
change is made in a copy, with the tests of the part that it is in.
"""

from __future__ import annotations

import argparse
import ast
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from random import Random, SystemRandom

ROOT = Path(__file__).parent.parent
# The folders of src/whorl, and their tests; the quick ones come first, and the first that fails
# ends them.
FOLDERS = {"interpreter": "interpreter", "runtimes": "runtimes", "evaluator": "language/evaluator"}
TESTS = {
    "interpreter": "test_journals.py unit/test_interpreter*.py test_conformance.py simulation "
    "crash/test_every_append.py",
    "runtimes": "test_journals.py unit/test_sn*.py unit/test_sqlite*.py test_conformance.py store "
    "crash",
    "evaluator": "unit/language unit/language_logic test_conformance.py",
}
LIMIT_S = 1_800
_SWAPS: dict[type[ast.AST], type[ast.AST]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
    ast.In: ast.NotIn, ast.NotIn: ast.In, ast.And: ast.Or, ast.Or: ast.And,
    ast.Add: ast.Sub, ast.Sub: ast.Add,
}  # fmt: skip


def change(node: ast.AST) -> str:
    """Makes one small change to a node; gives the words for it, or nothing where none fits."""
    before = ast.unparse(node)
    match node:
        case ast.Compare(ops=[op]) if type(op) in _SWAPS:
            node.ops = [_SWAPS[type(op)]()]  # type: ignore[list-item]
        case ast.BoolOp() | ast.BinOp() | ast.AugAssign() if type(node.op) in _SWAPS:
            node.op = _SWAPS[type(node.op)]()  # type: ignore[assignment]
        case ast.If() | ast.While() | ast.IfExp():
            before = ast.unparse(node.test)
            node.test = ast.UnaryOp(ast.Not(), node.test)
            return f"if {before} -> if not ..."
        case ast.Constant(value=bool(value)):
            node.value = not value
        case ast.Constant(value=int(value)):
            node.value = value + 1
        case ast.Return(value=ast.expr() as value) if ast.unparse(value) != "None":
            node.value = ast.Constant(None)
        case ast.Expr(value=ast.Call()):
            node.value = ast.Constant(None)
        case _:
            return ""
    return f"{before[:60]} -> {ast.unparse(node)[:60]}"


def places(tree: ast.AST) -> list[int]:
    """Which of the nodes of a file, in the order of a walk, are inside of functions."""
    inside: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            inside.update(id(part) for body in node.body for part in ast.walk(body))
            for part in ast.walk(node):
                if isinstance(part, ast.Assert | ast.Raise):  # what they say is no behaviour
                    inside.difference_update(id(word) for word in ast.walk(part))
    return [index for index, node in enumerate(ast.walk(tree)) if id(node) in inside]


def draw(random: Random, part: str) -> tuple[Path, str, str]:
    """A file of a part, what is changed in it, and its text with the change."""
    files = sorted((ROOT / "src" / "whorl" / FOLDERS[part]).rglob("*.py"))
    while True:
        file = random.choices(files, [path.stat().st_size for path in files])[0]
        tree = ast.parse(file.read_text())
        found = places(tree)
        node = list(ast.walk(tree))[random.choice(found)] if found else tree
        words = change(node)
        if words:
            text = ast.unparse(ast.fix_missing_locations(tree))
            return file, f"{file.relative_to(ROOT)}:{getattr(node, 'lineno', 0)}: {words}", text


def is_killed(file: Path, text: str, tests: list[str]) -> bool:
    """Whether a test fails when a file has another text."""
    with tempfile.TemporaryDirectory() as folder:
        # The whole project, so that tests which start programs see the change too.
        copy = Path(folder) / "project"
        kept = shutil.ignore_patterns(".git", ".venv", "node_modules", "__pycache__", ".*_cache")
        shutil.copytree(ROOT, copy, ignore=kept)
        (copy / file.relative_to(ROOT)).write_text(text)
        path = os.pathsep.join((str(copy / "src"), str(copy / "tests")))
        asked = [
            str(path.relative_to(copy))
            for test in tests
            for path in sorted(copy.glob(f"tests/{test}"))
        ]
        argv = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *asked]
        done = subprocess.Popen(
            [*argv, "-m", "not slow and not programs"],
            cwd=copy, env=os.environ | {"PYTHONPATH": path}, start_new_session=True,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        try:
            return done.wait(LIMIT_S) != 0
        except subprocess.TimeoutExpired:  # it hangs, and somebody would notice that
            os.killpg(done.pid, 9)
            done.wait()
            return True


def main() -> None:
    """Draws changes and tries them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=30)
    parser.add_argument("--seed", type=int, default=SystemRandom().randrange(10**6))
    parser.add_argument("--only", choices=TESTS)
    parser.add_argument("--tests", type=int, default=99, help="how many of the listed tests")
    given = parser.parse_args()
    random = Random(given.seed)
    print(f"seed {given.seed}", flush=True)
    killed = 0
    for _ in range(given.count):
        part = given.only or random.choice(("interpreter", "interpreter", "runtimes", "evaluator"))
        file, words, text = draw(random, part)
        is_noticed = is_killed(file, text, TESTS[part].split()[: given.tests])
        killed += is_noticed
        print("killed  " if is_noticed else "SURVIVED", words, flush=True)
    print(f"{killed} of {given.count} killed, seed {given.seed}")


if __name__ == "__main__":
    main()
