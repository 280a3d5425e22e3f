"""Sources made to break the evaluator: each is answered or refused, quickly, in little memory."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from stopwatch import within
from waiting import PATIENCE_S
from whorl.language import Expression, LanguageError, LimitExceeded, MappingScope, pattern, render

SCOPE = MappingScope(
    {
        "text": "word " * 20_000,
        "long": "a" * 900_000,
        "items": list(range(1_000)),
        "object": {"key": {"inner": [1, 2, 3]}},
        "deep": [[[[[[1]]]]]],
    }
)

# Nothing of Python is reachable: these are missing members, or no functions at all.
ESCAPES = (
    *("{{ ''.__class__ }}", "{{ ''.__class__.__mro__[1].__subclasses__() }}"),
    *("{{ ().__class__.__bases__[0] }}", "{{ object.__init__.__globals__ }}"),
    *("{{ object['__class__'] }}", "{{ object|attr('__class__') }}"),
    "{{ [object]|map(attribute='__class__')|list }}",
    "{{ items|map('attr', '__class__')|first }}",
    "{{ [object]|sort(attribute='__class__.__name__') }}",
    "{{ '{0.__class__}'.format(text) }}",
    "{{ '{0.__class__.__init__.__globals__}'.format(object) }}",
    *("{{ '%(__class__)s'|format(a=1) }}", "{{ self.__init__ }}"),
    "{{ self._TemplateReference__context }}",
    "{{ cycler.__init__.__globals__.os.popen('id').read() }}",
    *("{{ cycler('a').__init__.__globals__ }}", "{{ joiner.__init__ }}"),
    *("{{ namespace.__init__.__globals__ }}", "{{ namespace(a=1).__dict__ }}"),
    *("{{ lipsum.__globals__ }}", "{{ range.__class__ }}"),
    "{% for x in items %}{{ loop.__class__ }}{% endfor %}",
    "{% macro m() %}{% endmacro %}{{ m.__globals__ }}",
    "{% macro m() %}{% endmacro %}{{ m.__call__.__code__ }}",
    *("{{ config.items() }}", "{{ request.application }}"),
    *("{{ get_flashed_messages.__globals__ }}", "{{ url_for.__globals__ }}"),
    *("{{ __import__('os').system('id') }}", "{{ eval('1') }}", "{{ open('/etc/passwd').read() }}"),
    *("{{ items.__iter__() }}", "{{ items.append(1) }}", "{{ items.clear() }}"),
    *("{{ object.update(a=1) }}", "{{ object.pop('key') }}", "{{ text.encode() }}"),
    *("{{ text.format_map(object) }}", "{{ (1).__class__ }}", "{{ [].__reduce_ex__(2) }}"),
    *("{% set x = object.__class__ %}{{ x.mro() }}", "{% include '/etc/passwd' %}"),
    *("{% import 'os' as os %}", "{% from 'os' import system %}", "{% extends 'base' %}"),
)

# Forty times a list of itself twice: small in memory, endless when it is written out.
DOUBLED = (
    "{% set ns = namespace(x=[1]) %}"
    "{% for i in range(40) %}{% set ns.x = [ns.x, ns.x] %}{% endfor %}"
)

# Sources that would take for ever, or all the memory, in an evaluator without limits.
BOMBS = (
    *("{{ 'a' * 1000000000 }}", "{{ 1000000000 * 'a' }}", "{{ [0] * 1000000000 }}"),
    "{{ range(1000000000)|list }}",
    "{{ range(-9000000000000000000, 9000000000000000000) }}",
    "{{ range(10, 0, 9223372036854775807) }}{{ range(10000000)|length }}",
    *("{{ 9 ** 9 ** 9 ** 9 }}", "{{ 2 ** 1000000000 }}", "{{ (2 ** 62) * (2 ** 62) }}"),
    *("{{ 10.0 ** 400 }}", "{{ (0 - 8) ** 0.5 }}", "{{ 1e308 * 10 }}", "{{ 1e999 }}"),
    *("{{ " + "9" * 10_000 + " }}", "{{ 0x" + "f" * 10_000 + " }}"),
    "{{ '" + "9" * 100_000 + "'|int }}{{ 'a' * 2000000 }}",
    *("{{ 'a'|indent(1000000000, true) }}", "{{ ('\\n' * 100000)|indent(1000000) }}"),
    *("{{ text|replace('', 'x' * 1000000) }}", "{{ long|replace('a', long) }}"),
    *("{{ long|replace('a', 'aa') }}", "{{ items|join(long) }}", "{{ [long, long, long]|join }}"),
    *("{{ long ~ long }}", "{{ long + long }}", "{{ [long] * 100000 }}"),
    *("{{ ([long] * 90000)|sort|length }}", "{{ ([long] * 90000)|unique|length }}"),
    *("{{ ([long] * 90000).index('b') }}", "{{ (long ~ 'b') in ([long] * 90000) }}"),
    *("{{ ([long] * 90000)|map('upper')|list }}", "{{ ([long] * 90000)|max }}"),
    *("{{ '%1000000000d'|format(1) }}", "{{ '%.1000000000f'|format(1.5) }}"),
    "{{ '%*d'|format(1000000000, 1) }}",
    "{{ '%s%s%s'|format(long, long, long) }}",
    "{{ long|urlencode }}{{ long|escape }}{{ ('<' * 900000)|escape }}",
    *("{{ long|wordwrap(1, true, long) }}", "{{ ('a' * 350000)|wordwrap(1) }}"),
    "{{ text|wordwrap(1, wrapstring='x' * 100000) }}",
    *("{{ long.split('a') }}", "{{ long|list }}", "{{ (long|list)|tojson(1000) }}"),
    *("{{ items|tojson(1000000000) }}", "{{ ('[' * 100000)|fromjson }}"),
    *("{{ '[1e999]'|fromjson }}", "{{ ('9' * 100000)|fromjson }}"),
    *("{{ ('[' ~ '0,' * 400000 ~ '0]')|fromjson }}", "{{ items|sum(start=[]) }}"),
    "{% for a in items %}{% for b in items %}{% for c in items %}x"
    "{% endfor %}{% endfor %}{% endfor %}",
    "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}",
    "{% for a in items %}{% for b in items if c %}{% endfor %}{% endfor %}",
    "{% for a in items %}{{ long }}{% endfor %}",
    "{% for a in items %}{% set x = long|upper %}{% endfor %}",
    "{% for a in range(9000) %}{% set x = long.endswith('b') %}{% endfor %}",
    "{% for a in items %}{% if long == long ~ '' %}{% endif %}{% endfor %}",
    *(DOUBLED + "{{ ns.x }}", DOUBLED + "{{ ns.x|tojson }}"),
    "{% set ns = namespace(x=[1], y=[1]) %}"
    "{% for i in range(40) %}{% set ns.x = [ns.x, ns.x] %}{% set ns.y = [ns.y, ns.y] %}{% endfor %}"
    "{{ ns.x == ns.y }}",
    DOUBLED + "{{ [ns.x]|unique|list }}",
    "{% set ns = namespace(x=[1]) %}{% for i in range(5000) %}{% set ns.x = [ns.x] %}{% endfor %}"
    "{{ ns.x }}",
    "{% set ns = namespace(x=[1], y=[1]) %}"
    "{% for i in range(5000) %}{% set ns.x = [ns.x] %}{% set ns.y = [ns.y] %}{% endfor %}"
    "{{ ns.x < ns.y }}",
    "{% set ns = namespace(x='ab') %}"
    "{% for i in range(64) %}{% set ns.x = ns.x ~ ns.x %}{% endfor %}",
    "{% set ns = namespace(x=[1]) %}"
    "{% for i in range(64) %}{% set ns.x = ns.x + ns.x %}{% endfor %}",
    "{% set ns = namespace(x=1) %}{% for i in range(64) %}{% set ns.x = ns.x * 9 %}{% endfor %}",
    "{% set ns = namespace(x='ab') %}{% for i in range(64) %}"
    "{% set ns.x = '%s%s'|format(ns.x, ns.x) %}{% endfor %}",
    "{% set ns = namespace(x='ab') %}{% for i in range(64) %}"
    "{% set ns.x = ns.x|replace('a', ns.x) %}{% endfor %}",
    "{% set ns = namespace(x={}) %}{% for i in range(99999) %}"
    "{% set ns.x = dict(ns.x, a=ns.x) %}{% endfor %}{{ ns.x }}",
    "{{ long|regex_findall('(?:a.*z)|a') }}",
    "{{ (long ~ 'b')|regex_search('(?s).*[a-m].{900}z') }}",
    "{{ long|regex_replace('a', long) }}",
    "{{ long|regex_replace('(a+)', '\\\\1\\\\1\\\\1') }}",
    "{{ long|regex_search('((a{0,1000}){0,1000}){0,1000}') }}",
    *("{{ 'a'|regex_search('(' * 100000) }}", "{{ 'a'|regex_search('(a+)\\\\1') }}"),
)

# Sources whose cost is the product of two sizes, or hidden in an argument.
PRODUCTS = (
    "{{ long.strip('b' * 900000 ~ 'a')|length }}",
    "{{ long|trim('b' * 900000 ~ 'a')|length }}",
    "{{ range(100)|map(attribute='.' * 900000)|list }}",
    "{{ range(100)|join(attribute='.' * 900000) }}",
    "{{ range(100)|groupby('.' * 900000)|list }}",
    "{{ range(100)|selectattr('.' * 900000)|list }}",
    "{{ range(300)|list|sort(attribute=',' * 300000) }}",
    "{{ range(90000)|list|sort(attribute=',' * 60) }}",
    "{{ ([long] * 4000)|select('upper')|list|length }}",
    "{{ ([long] * 90000)|reject('lower')|list|length }}",
    "{{ range(90000)|map('trim', long)|list|length }}",
    "{{ (' ' * 300000 ~ 'x')|wordwrap(1) }}",
    "{% for i in range(6000) %}{{ 'x'|regex_search('(a{1,30}){1,30}b' ~ i) }}{% endfor %}",
    "{% for i in range(60000) %}{{ 'x'|regex_search('(?:){1000}' * 300 ~ i) }}{% endfor %}",
    "{% for i in range(14) %}{{ long|regex_search('(a|aa|a*)(a*)(a*)')|length }}{% endfor %}",
    "{% set all = ['a' * 400000 ~ 'b' ~ 'a' * 400000] * 80000 %}"
    "{% for i in range(4) %}{{ long.startswith(all) }}{{ long.endswith(all) }}{% endfor %}",
)

DEEP = (
    "{{ " + "(" * 100_000 + "1" + ")" * 100_000 + " }}",
    *("{{ " + "[" * 5_000 + "]" * 5_000 + " }}", "{{ " + "{1:" * 500 + "1" + "}" * 500 + " }}"),
    *("{{ " + "not " * 60_000 + "a }}", "{{ " + "-" * 100_000 + "1 }}"),
    "{{ " + "(-" * 40 + "1" + ")" * 40 + " }}",
    "{{ " + "- - - - - (" * 30 + "1" + ")" * 30 + " }}",
    *("{{ " + "a if b else " * 10_000 + "c }}", "{{ " + "a if b " * 10_000 + " }}"),
    *("{{ a" + ".b" * 100_000 + " }}", "{{ a" + "[0]" * 50_000 + " }}"),
    *("{{ a" + "|upper" * 30_000 + " }}", "{{ a" + ".upper()" * 20_000 + " }}"),
    *("{{ a" + "(1)" * 50_000 + " }}", "{{ a[" * 5_000 + "0" + "]" * 5_000 + " }}"),
    "{{ " + "f(" * 5_000 + ")" * 5_000 + " }}",
    "{{ a|default(" * 1_000 + "1" + ")" * 1_000 + " }}",
    "{% if a %}" * 10_000 + "{% endif %}" * 10_000,
    "{% for a in b %}" * 1_000 + "{% endfor %}" * 1_000,
    "{% set x %}" * 1_000 + "{% endset %}" * 1_000,
    "{% for " + "(" * 200 + "a" + ")" * 200 + " in b %}{% endfor %}",
)

LONG = (
    *("{{ " + "a + " * 60_000 + "a }}", "{{ " + "a or " * 50_000 + "a }}"),
    *("{{ " + "a ~ " * 50_000 + "a }}", "{{ " + "a < " * 50_000 + "a }}"),
    *("{{ [" + "1," * 100_000 + "] }}", "{{ a }}" * 37_000, "{# " * 80_000),
    *("{{ '" + "\\" * 200_000, "{% raw %}" * 20_000, "{%" * 130_000, "{{" * 130_000),
    *("{{ 1_" + "1_" * 100_000 + " }}", "{{ " + "1" * 250_000 + ".e }}", "x" * 300_000),
)


def _outcome(source: str) -> str:
    try:
        return render(Expression("template", source), SCOPE)
    except LanguageError:
        return "refused"


@pytest.mark.parametrize("source", ESCAPES)
def test_nothing_of_python_can_be_reached(source: str) -> None:
    outcome = _outcome(source)

    assert "<" not in outcome
    assert "class" not in outcome
    assert "root" not in outcome


@pytest.mark.parametrize("source", [*BOMBS, *DEEP], ids=lambda source: source[:60])
def test_a_bomb_or_a_deep_source_is_refused_quickly(source: str) -> None:
    def attempt() -> None:
        with pytest.raises(LanguageError):
            render(Expression("template", source), SCOPE)

    within(2, attempt)


@pytest.mark.sample(3)
@pytest.mark.parametrize("source", [*PRODUCTS, *LONG], ids=lambda source: source[:60])
def test_what_is_costly_or_long_is_answered_or_refused_quickly(source: str) -> None:
    within(2, lambda: _outcome(source))


@pytest.mark.slow
def test_bombs_take_little_memory() -> None:
    """As the system counts it, for a process that does nothing else."""
    done = subprocess.run(
        [sys.executable, __file__],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=True,
    )

    assert int(done.stdout) < 64_000_000


def test_deep_sources_are_refused_the_same_on_a_deep_stack() -> None:
    """The answer must not depend on how much of Python's stack the caller has used."""

    def below(levels: int) -> str:
        if levels:
            return below(levels - 1)
        return _outcome("{{ " + "(" * 39 + "1" + ")" * 39 + " }}")

    assert below(0) == below(150) == "1"


@pytest.mark.parametrize("chars", ["ab", "ab" * 40])
@pytest.mark.parametrize(
    ("method", "expected"), [("strip", "cabc"), ("lstrip", "cabcab"), ("rstrip", "bacabc")]
)
def test_few_and_many_characters_are_stripped_alike(chars: str, method: str, expected: str) -> None:
    scope = MappingScope({"text": "bacabcab", "chars": chars})

    assert render(Expression("template", f"{{{{ text.{method}(chars) }}}}"), scope) == expected


def test_a_text_that_is_too_long_is_refused() -> None:
    with pytest.raises(LimitExceeded):
        pattern("a").search("a" * 1_000_001)


@pytest.mark.parametrize(
    "source",
    ["(a+)+$", "(a|aa)+$", "(a|a?)+$", "(.*)*x", "(a*)*b", "([a-zA-Z]+)*9", "(?:a?){99}a{99}"],
)
def test_patterns_that_hang_others_answer_at_once(source: str) -> None:
    within(1, lambda: pattern(source).search("a" * 50_000 + "!"))


def _memory_of_bombs() -> int:
    """The bytes that this process grows by, at most."""
    _outcome("{{ 1 }}")
    before = _peak()
    for source in (*BOMBS, *PRODUCTS):
        _outcome(source)
    return _peak() - before


def _peak() -> int:
    """What Linux tells by `getrusage` counts the process that started this one, too."""
    status = Path("/proc/self/status")
    if status.exists():
        lines = dict(line.split(":", 1) for line in status.read_text().splitlines())
        return int(lines["VmHWM"].split()[0]) * 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


if __name__ == "__main__":
    print(_memory_of_bombs())
