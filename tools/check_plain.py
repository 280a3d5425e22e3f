"""Holds the pages, the command line and the commit subjects to the budgets in plain.toml.

    python tools/check_plain.py                      # all but commits
    python tools/check_plain.py --range main..HEAD   # commits, too
    python tools/check_plain.py --only sentences     # one part; also pages, commands, phrases
    python tools/check_plain.py --table              # every page with its words and its budget

The exit code is 0 if all budgets hold, 1 if one does not, and 2 if plain.toml or the command line
is wrong.
"""

from __future__ import annotations

import argparse
import ast
import re
import subprocess
import sys
import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

Config: TypeAlias = dict[str, Any]

FENCE = re.compile(r"^\s*(```+|~~~+)")
COMMENT = re.compile(r"<!--.*?-->", re.S)
LINK = re.compile(r"!?\[([^\]]*)\]\([^)]*\)")
CODE = re.compile(r"`[^`]*`")
WORD = re.compile(r"\S*\w\S*")
# A sentence ends at . ! or ? before a space and a capital, a digit, a quote or code. A colon or a
# semicolon does not end one: two thoughts that one of them joins are two thoughts too many.
END = re.compile(r"(?<=[.!?])[)\"'*_]*\s+(?=[A-Z0-9`\"'*_\[(])")
ABBREVIATION = re.compile(r"\b(?:e\.g|i\.e|etc|vs|approx|No)\.$")
PARTS = ("pages", "commands", "sentences", "phrases", "commits")


@dataclass
class Report:
    """What was found: lines about single places, and lines about totals."""

    found: list[str] = field(default_factory=list)
    totals: list[str] = field(default_factory=list)
    failed: bool = False

    def total(self, name: str, value: int, limit: int) -> None:
        over = value > limit
        self.failed |= over
        self.totals.append(f"{'OVER' if over else 'ok  '}  {name}: {value} (at most {limit})")


@dataclass(frozen=True)
class Text:
    """A paragraph, list item, table cell or heading, at its line."""

    line: int
    words: str


def main() -> int:
    options = _options()
    root = Path(options.root).resolve()
    try:
        config = tomllib.loads((root / options.config).read_text(encoding="utf-8"))
    except (OSError, tomllib.TOMLDecodeError) as fault:
        print(f"{options.config}: {fault}", file=sys.stderr)
        return 2
    report = Report()
    try:
        broken = check(root, config, options, report)
    except KeyError as fault:
        broken = f"{options.config}: {fault.args[0]!r} is missing"
    if broken:
        print(broken, file=sys.stderr)
        return 2
    if not options.quiet:
        print(*report.found, sep="\n", end="\n" if report.found else "")
    print(*report.totals, sep="\n")
    return int(report.failed)


def check(root: Path, config: Config, options: argparse.Namespace, report: Report) -> str | None:
    """Runs the parts that are wanted; returns what keeps them from running, if anything does."""
    wanted = options.only or [part for part in PARTS if part != "commits" or options.range]
    if "commits" in wanted and not options.range:
        return "--only commits needs --range"
    if "pages" in wanted:
        check_pages(root, config, report, table=options.table)
    if "commands" in wanted:
        check_commands(root, config, report)
    if {"sentences", "phrases"} & set(wanted):
        check_language(root, config, report, wanted)
    return check_commits(root, config, options.range, report) if "commits" in wanted else None


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--root", default=".", help="the repository; default: here")
    parser.add_argument("--config", default="tools/plain.toml", help="the budgets, below the root")
    parser.add_argument("--range", help="commits to check, such as main..HEAD")
    parser.add_argument("--only", action="append", choices=PARTS, help="only this part")
    parser.add_argument("--table", action="store_true", help="list every page with its budget")
    parser.add_argument("--quiet", action="store_true", help="totals only")
    return parser.parse_args()


# Pages


def check_pages(root: Path, config: Config, report: Report, *, table: bool) -> None:
    """Words of hand-written files against their budgets, the sums, and lines with a limit."""
    limits = config["limits"]
    budgets = {**config["pages"], **config.get("others", {})}
    words: dict[str, int] = {}
    made = 0
    counted_below = set(_files(root, config.get("each", {})))
    for path in _files(root, [*config["docs"]["pages"], *config.get("others", {})]):
        if path in counted_below:
            continue
        name, text = path.relative_to(root).as_posix(), path.read_text(encoding="utf-8")
        is_made = config["generated"]["mark"] in text[:500]
        count = count_words(text)
        if is_made:
            made += count
        else:
            words[name] = count
        if table:
            print(f"{count:6}  {'generated' if is_made else budgets.get(name, '-'):>9}  {name}")
    for name, count in words.items():
        _hold(name, count, budgets.get(name), report)
    report.found += [f"{name}: is not there yet" for name in budgets if name not in words]
    total = sum(words.values())
    for pattern, each in config.get("each", {}).items():
        counts = {path: count_words(path.read_text("utf-8")) for path in _files(root, [pattern])}
        for path, count in counts.items():
            _hold(path.relative_to(root).as_posix(), count, each["words"], report)
        report.total(f"words of {pattern}", sum(counts.values()), each["total"])
        total += sum(counts.values())
    pages = len(words.keys() - config.get("others", {}).keys())
    report.total("hand-written words", total, limits["hand_written_words"])
    report.total("hand-written pages", pages, limits["hand_written_pages"])
    report.total("generated words", made, limits["generated_words"])
    promised = sum(budgets.values()) + sum(one["total"] for one in config.get("each", {}).values())
    report.total("sum of all budgets", promised, limits["hand_written_words"])
    for name, limit in config.get("lines", {}).items():
        lines = len((root / name).read_text(encoding="utf-8").splitlines())
        report.total(f"lines of {name}", lines, limit)


def _hold(name: str, words: int, budget: int | None, report: Report) -> None:
    if budget is None:
        report.found.append(f"{name}: {words} words, no budget: merge it into a page that has one")
    elif words > budget:
        report.found.append(f"{name}: {words} words, {words - budget} over its budget of {budget}")
    report.failed |= budget is None or words > budget


def count_words(text: str) -> int:
    """Words outside of fenced code and comments; tables, lists and headings count."""
    return sum(len(WORD.findall(part.words)) for part in texts(text))


def texts(text: str) -> list[Text]:
    """Paragraphs, list items, cells and headings, without code blocks and comments."""
    text = COMMENT.sub(lambda found: "\n" * found[0].count("\n"), text)
    found: list[Text] = []
    paragraph: list[str] = []
    start, fence = 0, ""

    def close() -> None:
        if paragraph:
            found.append(Text(start, " ".join(paragraph)))
            paragraph.clear()

    for number, line in enumerate(text.splitlines(), 1):
        if mark := FENCE.match(line):
            close()
            fence = "" if fence and mark[1].startswith(fence) else fence or mark[1]
            continue
        bare = line.strip()
        if fence or not bare or set(bare) <= set("|-: "):
            close()
            continue
        if bare.startswith("|"):
            close()
            found += [Text(number, cell.strip()) for cell in bare.split("|") if cell.strip()]
            continue
        if item := re.match(r"(?:[-*+]|\d+[.)]|#+|>)\s+(.*)", bare):
            close()
            bare = item[1]
        if not paragraph:
            start = number
        paragraph.append(bare)
        if line.lstrip().startswith("#"):
            close()
    close()
    return found


# Commands


def check_commands(root: Path, config: Config, report: Report) -> None:
    """How many names the first help lists, and how long its one-line texts are."""
    rules, limits = config["commands"], config["limits"]
    done = subprocess.run(
        [sys.executable, "-m", rules["module"], "--help"],
        cwd=root,
        capture_output=True,
        text=True,
        check=True,
    )
    section, table = "", {}
    for line in done.stdout.splitlines():
        if found := re.fullmatch(r"(\w+):", line):
            section = found[1]
        elif section and (found := re.fullmatch(r"  (\S+) {2,}(\S.*)", line)):
            table.setdefault(section, {})[found[1]] = found[2]
    groups = table.pop(rules["groups"], {})
    report.total(
        "commands in the first help", sum(map(len, table.values())), limits["first_commands"]
    )
    report.total("groups in the first help", len(groups), limits["groups"])
    for rows in (*table.values(), groups):
        for name, words in rows.items():
            if len(words) > limits["help_line"]:
                report.found.append(f"whorl {name}: its line of help has {len(words)} characters")
                report.failed = True


# Sentences and phrases


def check_language(root: Path, config: Config, report: Report, wanted: list[str]) -> None:
    """Long sentences, and words that a reader stumbles over, in pages and docstrings."""
    limit = config["limits"]["sentence_words"]
    patterns = config["phrases"]
    # One pattern for all: `p3` is the third. Patterns themselves have no groups that capture.
    any_of = "|".join(f"(?P<p{number}>{old})" for number, old in enumerate(patterns))
    phrase, advice = re.compile(rf"\b(?:{any_of})\b", re.I), list(patterns.values())
    long = odd = 0
    for name, line, words in _prose(root, config):
        if "sentences" in wanted:
            for sentence in sentences(words):
                if (size := len(WORD.findall(sentence))) > limit:
                    long += 1
                    report.found.append(f"{name}:{line}: {size} words: {sentence[:70]}...")
        if "phrases" in wanted:
            for hit in phrase.finditer(CODE.sub("", words)):
                odd += 1
                better = advice[int((hit.lastgroup or "p0")[1:])]
                report.found.append(f"{name}:{line}: {hit[0]!r}: {better}")
    if "sentences" in wanted:
        report.total(f"sentences over {limit} words", long, config["limits"]["long_sentences"])
    if "phrases" in wanted:
        report.total("phrases to avoid", odd, config["limits"]["phrases"])


def sentences(text: str) -> list[str]:
    text = LINK.sub(r"\1", text)
    parts: list[str] = []
    for part in END.split(text):
        if parts and ABBREVIATION.search(parts[-1]):
            parts[-1] += f" {part}"
        else:
            parts.append(part)
    return parts


def _prose(root: Path, config: Config) -> list[tuple[str, int, str]]:
    """Every piece of text that people read: of pages, explanations and docstrings."""
    found: list[tuple[str, int, str]] = []
    for path in _files(root, config["docs"]["prose"]):
        name = path.relative_to(root).as_posix()
        text = path.read_text(encoding="utf-8")
        if config["generated"]["mark"] not in text[:500]:
            found += [(name, part.line, part.words) for part in texts(text)]
    for path in _files(root, config["docs"]["docstrings"]):
        name = path.relative_to(root).as_posix()
        source = path.read_text(encoding="utf-8")
        for line, text in _docstrings(source):
            blocks = (block for block in text.split("\n\n") if not block.startswith(("    ", "\b")))
            found += [(name, line, " ".join(block.split())) for block in blocks]
    return found


def _docstrings(source: str) -> list[tuple[int, str]]:
    """The docstrings of a module, with their lines."""
    tree = ast.parse(source)
    kinds = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    nodes = (node for node in ast.walk(tree) if isinstance(node, kinds) and node.body)
    texts = ((node.body[0].lineno, ast.get_docstring(node)) for node in nodes)
    return [(line, text) for line, text in texts if text]


# Commits


def check_commits(root: Path, config: Config, span: str, report: Report) -> str | None:
    """Subjects of a range: their length, an area in front, no full stop. Merges do not count."""
    rules, limit = config["commits"], config["limits"]["subject"]
    command = ["git", "-C", str(root), "log", "--no-merges", "--format=%h\t%s", span]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        return done.stderr.strip()
    area = re.compile(rf"(?:{'|'.join(rules['areas'])}): [a-z`'\"0-9]")
    bad = 0
    lines = done.stdout.splitlines()
    for line in lines:
        commit, _, subject = line.partition("\t")
        faults = [f"{len(subject)} characters"] * (len(subject) > limit)
        faults += ["no area in front"] * (not area.match(subject))
        faults += ["ends with a full stop"] * subject.endswith(".")
        if faults:
            bad += 1
            report.found.append(f"{commit}: {', '.join(faults)}: {subject[:80]}")
    report.total(f"commits of {len(lines)} with a bad subject", bad, 0)
    return None


def _files(root: Path, patterns: list[str]) -> list[Path]:
    return sorted({path for pattern in patterns for path in root.glob(pattern) if path.is_file()})


if __name__ == "__main__":
    sys.exit(main())
