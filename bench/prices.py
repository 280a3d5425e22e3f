"""What evaluations cost: the fuel that they pay, against the CPU that they take."""

from __future__ import annotations

import sys
import threading
import time
from typing import Any

from whorl.language import LIMITS, Expression, LanguageError, MappingScope, evaluate_metered

CPU_MS, HELD_MS = 300.0, 20.0
TEXT = "a1 b2,ab " * 100_000
RECORDS: list[Any] = [{"id": f"n{n * 7919 % 30011}", "group": n % 97} for n in range(30_000)]

# Expressions over `text` (900,000 characters), `half`, `small`, `numbers`, `words` and `records`.
WORST = {
    "regex_search, many states": "small | regex_search('((a{0,30}){0,30})*b')",
    "regex_search, few states": "half | regex_search('(\\\\w+ )+$')",
    "regex_findall": "half[:60000] | regex_findall('[a-z]') | length",
    "regex_findall, quadratic": "('a' * 9000) | regex_findall('a*b|a') | length",
    "regex_findall, states": "('ab' * 800) | regex_findall('(a|b)*a(a|b){9}c|a') | length",
    "regex_replace": "half[:60000] | regex_replace('[a-z]', '<\\\\0>') | length",
    "replace": "half | replace('a', 'bc') | length",
    "split": "text.split(' ') | length",
    "splitlines": "half | replace(' ', '\\n') | length",
    "join": "words | join(',') | length",
    "upper": "(text | upper | lower | title | capitalize) | length",
    "escape": "half | escape | length",
    "striptags": "half | replace('a', '<b>') | striptags | length",
    "wordwrap": "half | wordwrap(20) | length",
    "indent": "half | replace(' ', '\\n') | indent(4) | length",
    "wordcount": "text | wordcount",
    "urlencode": "half[:200000] | urlencode | length",
    "format": "'%s' * 30000 | length",
    "center": "'x' | center(900000) | length",
    "base64": "half | b64encode | b64decode | length",
    "sha256": "text | sha256",
    "sort numbers": "numbers | sort | length",
    "sort texts": "words | sort | length",
    "sort by": "records | sort(attribute='id') | length",
    "sort, case": "words | sort(case_sensitive=true, reverse=true) | length",
    "unique": "words | unique | list | length",
    "groupby": "records | groupby('group') | length",
    "map attribute": "records | map(attribute='id') | list | length",
    "map filter": "words | map('upper') | list | length",
    "select": "words | select('search', 'x[0-9]*1') | list | length",
    "selectattr": "records | selectattr('group', 'equalto', 3) | list | length",
    "sum": "numbers | sum",
    "min": "words | min",
    "batch": "numbers | batch(3) | list | length",
    "dictsort": "dict(records[0]) | dictsort",
    "reverse": "numbers | reverse | list | length",
    "tojson": "records | tojson | length",
    "fromjson": "(records | tojson | fromjson) | length",
    "fromjson numbers": "(numbers | tojson | fromjson) | length",
    "pprint": "records[:9000] | pprint | length",
    "in": "'zz' in text",
    "in list": "'zz' in words",
    "equal": "records == records",
    "slice": "(text[::-1] ~ '')[::2] | length",
    "concat": "(half ~ half) | length",
    "list": "half[:90000] | list | length",
    "count": "text.count('a1') + text.find('zz')",
    "loop": "{% for n in numbers %}{{ n }}{% endfor %}",
    "filtered loop": "{% for n in numbers if n % 3 == 0 %}{{ n }}{% endfor %}",
    "nested loop": "{% for n in numbers[:400] %}{% for m in numbers[:60] %}.{% endfor %}"
    "{% endfor %}",
    "print": "records: {{ records }}",
}
SCOPE: dict[str, Any] = {
    "text": TEXT,
    "half": TEXT[:450_000],
    "small": "a" * 10_000,
    "numbers": [n * 7919 % 60_013 for n in range(60_000)],
    "words": [f"w{n * 7919 % 60_013}" for n in range(60_000)],
    "records": RECORDS,
}


class _Pulse(threading.Thread):
    """Notices how long another thread keeps everybody else from running."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.held_s = 0.0
        self.is_over = False

    def run(self) -> None:
        while not self.is_over:
            begun, cpu = time.perf_counter(), time.process_time()
            time.sleep(0.001)
            late = time.perf_counter() - begun - 0.001
            # What other processes took of it is none of ours.
            self.held_s = max(self.held_s, min(late, time.process_time() - cpu))


def measure(full: bool) -> None:
    """Prints a row for each of the worst functions."""
    print(f"One evaluation: fuel (at most {LIMITS.fuel:,}), CPU in ms, and CPU in ms if it used")
    print(
        f"all its fuel (goal: {CPU_MS:.0f}); the longest time in ms in which nobody else could run"
    )
    sys.setswitchinterval(0.001)
    above = 0
    for name, source in WORST.items():
        fuel, cpu_ms, held_ms, fault = _measured(source)
        whole = cpu_ms * LIMITS.fuel / max(fuel, 2_000)
        above += whole > CPU_MS
        mark = "  <--" if whole > CPU_MS or held_ms > HELD_MS else ""
        words = f"  {fault}" if fault else ""
        print(f"  {name:<28} {fuel:>8,} {cpu_ms:>8.1f} {whole:>8.0f} {held_ms:>7.1f}{mark}{words}")
    print(f"  {above} of {len(WORST)} are above the goal")


def _measured(source: str) -> tuple[int, float, float, str]:
    syntax = "template" if "{%" in source or "{{" in source else "jinja"
    expression = Expression(syntax, source)
    scope = MappingScope(SCOPE)
    best: tuple[int, float, float, str] | None = None
    for _ in range(2):
        pulse = _Pulse()
        pulse.start()
        begun = time.thread_time()
        value, fuel = evaluate_metered(expression, scope, LIMITS.fuel)
        cpu_ms = (time.thread_time() - begun) * 1000
        pulse.is_over = True
        pulse.join()
        fault = value.message[:50] if isinstance(value, LanguageError) else ""
        if best is None or cpu_ms < best[1]:
            best = (fuel, cpu_ms, pulse.held_s * 1000, fault)
    assert best is not None
    return best
