"""Changes the code in small ways, one at a time, and says which changes no test notices.

    python tools/mutate.py map TESTS...                    which test reaches which line
    python tools/mutate.py mutants [--count N] [--seed N]  changes of core, by those who reach them
    python tools/mutate.py superfluous FOLDER...           tests that notice nothing alone

`map` runs the tests under coverage.py (`make .venv/.covered`) and keeps its data in
`build/mutate`; the other two read it. TESTS are words for pytest. The code itself is never
touched: tests are collected once, and each change is made in a forked process, in the functions
that are loaded there. What a test starts as a program of its own does not see it: such tests
notice nothing here, and none of them is called superfluous. The same seed draws the same changes
of the same code.
"""

from __future__ import annotations

import argparse
import ast
import gc
import importlib
import json
import os
import pkgutil
import signal
import sys
import time
from collections import Counter, defaultdict
from functools import cache
from pathlib import Path
from random import Random, SystemRandom
from types import CodeType, FunctionType
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

ROOT = Path(__file__).resolve().parent.parent
BUILD = ROOT / "build" / "mutate"
CORE = ("interpreter", "runtimes", "providers", "language")
# What these prove is not seen in lines: they stay, whatever others notice.
KEPT = (
    *("hostile", "chaos", "web", "wings/cluster", "peers", "packaging", "site", "crash"),
    "simulation",
)
LIMIT_S = 60
_TRIES = 8
_OTHERS = 60
_SPAWNS = ("subprocess.Popen", "os.fork", "os.posix_spawn", "os.exec", "os.system")
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


class Place:
    """A node that can be changed: its file, its line, the function around it, its number there."""

    __slots__ = ("file", "function", "index", "line")

    def __init__(self, file: str, line: int, function: str, index: int) -> None:
        self.file, self.line, self.function, self.index = file, line, function, index

    def change(self) -> tuple[str, ast.AST]:
        """The words for the change, and the file with it."""
        tree = ast.parse((ROOT / self.file).read_text("utf-8"))
        return change(list(ast.walk(tree))[self.index]), tree

    def apply(self) -> bool:
        """Changes what is loaded, if it is."""
        path, (words, tree) = str(ROOT / self.file), self.change()
        if not words:
            return False
        module: Any = ast.fix_missing_locations(tree)
        codes = [
            code
            for code in _codes(compile(module, path, "exec", dont_inherit=True))
            if code.co_qualname == self.function
        ]
        for code in codes:
            for one in functions().get((path, code.co_qualname, code.co_firstlineno), ()):
                one.__code__ = code
        return bool(codes)


@cache
def functions() -> dict[tuple[str, str, int], list[FunctionType]]:
    """All that are loaded, by file, name and line."""
    found = defaultdict(list)
    gc.unfreeze()
    for one in gc.get_objects():
        if type(one) is FunctionType:
            code = one.__code__
            found[code.co_filename, code.co_qualname, code.co_firstlineno].append(one)
    gc.freeze()
    return found


def _codes(code: CodeType) -> Iterator[CodeType]:
    for each in code.co_consts:
        if isinstance(each, CodeType):
            yield each
            yield from _codes(each)


@cache
def places(file: str) -> dict[int, list[Place]]:
    """What can be changed in a file, by line."""
    tree = ast.parse((ROOT / file).read_text("utf-8"))
    owners: dict[int, str] = {}

    def walk(node: ast.AST, names: tuple[str, ...], function: str) -> None:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.Assert | ast.Raise):  # what they say is no behaviour
                continue
            inner, within = names, function
            if isinstance(child, ast.ClassDef):
                inner = (*names, child.name)
            elif isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef) and not function:
                for part in child.body:
                    within = ".".join((*names, child.name))
                    if within:
                        owners[id(part)] = within
                        walk(part, inner, within)
                continue
            if function:
                owners[id(child)] = function
            walk(child, inner, within)

    walk(tree, (), "")
    found: dict[int, list[Place]] = defaultdict(list)
    for index, node in enumerate(ast.walk(tree)):
        line = getattr(node, "lineno", 0)
        if id(node) in owners and line and _fits(node):
            found[line].append(Place(file, line, owners[id(node)], index))
    return found


def _fits(node: ast.AST) -> bool:
    match node:
        case ast.Compare(ops=[op]):
            return type(op) in _SWAPS
        case ast.BoolOp() | ast.BinOp() | ast.AugAssign():
            return type(node.op) in _SWAPS
        case ast.Constant(value=value):
            return isinstance(value, int)
        case ast.Return(value=value):
            return value is not None and ast.unparse(value) != "None"
        case ast.Expr(value=value):
            return isinstance(value, ast.Call)
    return isinstance(node, ast.If | ast.While | ast.IfExp)


class Mapping:
    """The plugin of `map`: coverage with the test as its context, and who starts programs."""

    def __init__(self) -> None:
        import coverage

        self.test, self.spawning = "", set[str]()
        self.data = coverage.Coverage(
            data_file=str(BUILD / "coverage"), data_suffix=True, source=[str(ROOT / "src/whorl")]
        )
        self.data.start()
        sys.addaudithook(self._hear)

    def _hear(self, event: str, _: object) -> None:
        if event in _SPAWNS and self.test:
            self.spawning.add(self.test)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        self.test = item.nodeid
        self.data.switch_context(item.nodeid)
        return (yield)

    def pytest_unconfigure(self) -> None:
        self.data.stop()
        self.data.save()
        (BUILD / f"spawning.{os.getpid()}").write_text("\n".join(sorted(self.spawning)))


def pytest_configure(config: pytest.Config) -> None:
    """As a plugin (`-p mutate`), in every process that runs tests."""
    is_runner = hasattr(config, "workerinput") or config.option.dist == "no"
    if os.environ.get("WHORL_MAP") and is_runner:
        config.pluginmanager.register(Mapping())


class Reach:
    """Which functions of tests reach which lines, what they cost, and who starts programs."""

    def __init__(self) -> None:
        from coverage import CoverageData

        data = CoverageData(str(BUILD / "coverage"))
        data.read()
        self.of_line: dict[tuple[str, int], set[str]] = {}
        self.of_test: dict[str, set[tuple[str, int]]] = defaultdict(set)
        for path in data.measured_files():
            file = str(Path(path).relative_to(ROOT))
            for line, tests in data.contexts_by_lineno(path).items():
                names = {_function(test) for test in tests if test}
                if names:
                    self.of_line[file, line] = names
                for name in names:
                    self.of_test[name].add((file, line))
        self.cost: Counter[str] = Counter()
        for text in (BUILD / "costs").read_text().splitlines():
            one = json.loads(text)
            self.cost[_function(one["test"])] += one["cpu_s"]
        found = (path.read_text().splitlines() for path in BUILD.glob("spawning.*"))
        self.spawning = {_function(test) for tests in found for test in tests}


def _function(test: str) -> str:
    return test.partition("[")[0]


class Forks:
    """Tests that are collected, and runs some of them in processes of their own."""

    def __init__(self, items: Iterable[pytest.Item]) -> None:
        self.items: dict[str, list[pytest.Item]] = defaultdict(list)
        for item in items:
            self.items[_function(item.nodeid)].append(item)

    def first_failure(self, tests: Iterable[str], place: Place | None, limit_s: float) -> str:
        """The first of the tests that fails with a change, or "hangs"; "" where none does."""
        chosen = [item for test in tests for item in self.items.get(test, ())]
        if not chosen:
            return ""
        reading, writing = os.pipe()
        child = os.fork()
        if not child:
            os.close(reading)
            os.setpgid(0, 0)
            nothing = os.open(os.devnull, os.O_RDWR)
            for number in (0, 1, 2):
                os.dup2(nothing, number)
            try:
                name = self._run(chosen, place)
            except BaseException as fault:  # noqa: BLE001 - whatever it is, a test would meet it
                name = f"{type(fault).__name__}: {fault}"
            os.write(writing, name.encode()[:500])
            os._exit(0)
        os.close(writing)
        end_at, found = time.monotonic() + limit_s, "hangs"
        while time.monotonic() < end_at:
            if os.waitpid(child, os.WNOHANG)[0]:
                found = os.read(reading, 500).decode()
                child = 0
                break
            time.sleep(0.005)
        os.close(reading)
        if child:
            os.killpg(child, signal.SIGKILL)
            os.waitpid(child, 0)
        return found

    def _run(self, chosen: list[pytest.Item], place: Place | None) -> str:
        failed: list[str] = []
        hook = chosen[0].config.pluginmanager

        class Notes:
            def pytest_runtest_logreport(self, report: Any) -> None:
                if report.failed:
                    failed.append(report.nodeid)

        hook.register(Notes())
        if place and not place.apply():
            return ""
        for item, after in zip(chosen, [*chosen[1:], None], strict=True):
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=after)
            if failed:
                return _function(failed[0])
        return ""

    def notices(self, tests: list[str], place: Place, limit_s: float) -> str:
        """Which of the tests notices a change; those that fail without it, too, do not count."""
        left = list(tests)
        while found := self.first_failure(left, place, limit_s):
            # What takes too long without the change, too, shows nothing.
            same = [found] if found in self.items else left
            if not self.first_failure(same, None, limit_s):
                return found
            left = [test for test in left if test not in same]
        return ""


class Work:
    """The plugin that lets one command work with collected tests in the place of running them."""

    def __init__(self, command: Callable[[Forks, Reach], None]) -> None:
        self.command = command

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        import whorl

        for module in pkgutil.walk_packages(whorl.__path__, "whorl."):
            if not module.name.endswith("__main__"):
                try:
                    importlib.import_module(module.name)
                except ImportError:
                    continue
        functions()
        self.command(Forks(session.items), Reach())
        return True


def mutants(forks: Forks, reach: Reach, count: int, seed: int) -> None:
    """Draws changes of core and tries them with the tests that reach them, the cheap ones first."""
    random, noticed, drawn = Random(seed), 0, 0
    files = [path for name in CORE for path in sorted((ROOT / "src/whorl" / name).rglob("*.py"))]
    pool = [
        place
        for path in files
        for found in places(str(path.relative_to(ROOT))).values()
        for place in found
    ]
    for place in random.sample(pool, count):
        drawn += 1
        tests = sorted(reach.of_line.get((place.file, place.line), ()), key=reach.cost.__getitem__)
        known = [test for test in tests if test in forks.items]
        by = forks.notices(known, place, LIMIT_S)
        noticed += bool(by)
        print(
            f"{'killed  ' if by else 'SURVIVED'} {place.file}:{place.line} #{place.index}: "
            f"{place.change()[0]} ({by or f'{len(known)} tests reach it'})",
            flush=True,
        )
    print(f"{noticed} of {drawn} killed, seed {seed}")


def superfluous(forks: Forks, reach: Reach, folders: list[str], seed: int, shared: Path) -> None:
    """Tests whose lines others reach, and of whose changes the others notice each that they do.

    Each is judged with those before it gone. `shared` has what was found, also by others that
    work on other folders at the same time.
    """
    alone = Alone(forks, reach, Random(seed))
    counts = Counter({line: len(tests) for line, tests in reach.of_line.items()})
    gone: set[str] = set()
    order = sorted(
        (test for test in forks.items if _may_go(forks, reach, test, folders)),
        key=lambda test: -_length(forks.items[test][0]),
    )
    for number, test in enumerate(order):
        for other in set(shared.read_text().split("\n")) - gone - {""} if shared.exists() else ():
            gone.add(other)
            counts.subtract(reach.of_test[other])
        if test in gone:
            continue
        lines = reach.of_test[test]
        is_alone = any(counts[line] < 2 for line in lines)
        why = "its lines" if is_alone else alone.notices(test, gone, counts)
        if why:
            print(f"{number}/{len(order)} keep {test} {why}", flush=True)
            continue
        gone.add(test)
        counts.subtract(lines)
        with shared.open("a") as out:
            out.write(f"{test}\n")
        print(f"{number}/{len(order)} superfluous {test}", flush=True)


def _may_go(forks: Forks, reach: Reach, test: str, folders: list[str]) -> bool:
    item = forks.items[test][0]
    return (
        test.startswith(tuple(folders))
        and test not in reach.spawning
        and test in reach.of_test
        and not test.startswith(tuple(f"tests/{name}/" for name in KEPT))
        and not hasattr(getattr(item, "function", None), "hypothesis")
        and next(item.iter_markers("threat"), None) is None
    )


def _length(item: Any) -> int:
    return len(_source(item.function))


@cache
def _source(function: Any) -> list[str]:
    import inspect

    try:
        return inspect.getsourcelines(inspect.unwrap(function))[0]
    except (OSError, TypeError):
        return []


class Alone:
    """Looks for changes that one test notices and no other does."""

    def __init__(self, forks: Forks, reach: Reach, random: Random) -> None:
        self.forks, self.reach, self.random = forks, reach, random

    def notices(self, test: str, gone: set[str], counts: Counter[Any]) -> str:
        """Where such a change is; "" where there is none among those tried.

        Half of them are in the lines that the fewest others reach.
        """
        can = [
            (counts[file, line], self.random.random(), file, line)
            for file, line in self.reach.of_test[test]
            if places(file).get(line)
        ]
        rare = sorted(can)[: _TRIES // 2]
        for _, _, file, line in [*rare, *self.random.sample(can, min(len(can), _TRIES // 2))]:
            place = self.random.choice(places(file)[line])
            if not self.forks.notices([test], place, 20):
                continue
            others = sorted(
                (one for one in self.reach.of_line[file, line] if one != test and one not in gone),
                key=lambda one: self.reach.cost[one] / max(1, len(self.forks.items.get(one, ()))),
            )
            known = [one for one in others if one in self.forks.items]
            if not self.forks.notices(known[:_OTHERS], place, LIMIT_S):
                return f"{file}:{line}"
        return ""


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("command", choices=("map", "mutants", "superfluous"))
    parser.add_argument("words", nargs="*")
    parser.add_argument("--tests", nargs="*", default=["tests"], help="what is collected")
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--seed", type=int, default=SystemRandom().randrange(10**6))
    given, more = parser.parse_known_args()
    BUILD.mkdir(parents=True, exist_ok=True)
    if given.command == "map":
        for old in BUILD.iterdir():
            if old.name.startswith(("coverage", "spawning", "costs")):
                old.unlink()
        os.environ |= {
            "WHORL_MAP": "1", "WHORL_COSTS": str(BUILD / "costs"),
            "PYTHONPATH": os.pathsep.join([str(ROOT / "tools"), os.environ.get("PYTHONPATH", "")]),
        }  # fmt: skip
        sys.path.insert(0, str(ROOT / "tools"))
        code = pytest.main(["-p", "mutate", *given.words, *more])
        import coverage

        every = coverage.Coverage(data_file=str(BUILD / "coverage"))
        every.combine([str(BUILD)])
        every.save()
        return int(code)
    print(f"seed {given.seed}", flush=True)
    if given.command == "mutants":
        work = Work(lambda forks, reach: mutants(forks, reach, given.count, given.seed))
    else:
        shared = BUILD / "superfluous"
        work = Work(lambda forks, reach: superfluous(forks, reach, given.words, given.seed, shared))
    options = ["-s", "-p", "no:cacheprovider", "-p", "no:xdist", "-p", "no:randomly"]
    return int(pytest.main([*options, *given.tests, *more], plugins=[work]))


if __name__ == "__main__":
    sys.exit(main())
