"""Our evaluator against Jinja2 itself, on thousands of generated templates.

Documented differences, which the generator or the Jinja2 environment of this test leave out:
- null and undefined print as nothing, true and false in small letters, lists and objects as JSON;
- members of undefined and of null are undefined, and some operations forgive undefined;
- a group of `groupby` prints as an object;
- undefined is no sequence;
- tuples and the results of `map`, `select`, ... are lists;
- `tojson` neither sorts keys nor escapes for HTML, `pprint` prints JSON;
- keys of objects are texts; `random`, `urlize`, `lipsum` are refused.
"""

from __future__ import annotations

import random
from types import GeneratorType
from typing import TYPE_CHECKING

import jinja2
import pytest

from campaign import amount, seeds
from threats import tally
from whorl.language import EvaluationError, Expression, Json, MappingScope, render, to_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

pytestmark = pytest.mark.threat(row="T16")

TEMPLATES_PER_SEED = amount(150, 250)
SEEDS = seeds(6, 200)

TRUNCATE = ("5", "10", "8, true", "9, false, '~'", "6, true, '', 0")
INDENT = ("2", "4, true", "3, true, true", "'> '")
WORDWRAP = ("8", "12", "5, false", "6, true, '|'")
SPACE = "' '"

VALUES: dict[str, Json] = {
    "task": "Write a poem about the sea",
    "name": "Ada",
    "mixed": "one TWO three-four (five) <six>",
    "lines": "first\n\nsecond line\n  third",
    "empty": "",
    "count": 7,
    "zero": 0,
    "score": 0.85,
    "minus": -3,
    "yes": True,
    "no": False,
    "numbers": [5, 3, 8, 1, 3],
    "words": ["pear", "Apple", "fig", "apple", "Date"],
    "nothing": [],
    "people": [
        {"name": "Ada", "age": 36, "team": "red", "tags": ["x", "y"]},
        {"name": "bob", "age": 25, "team": "blue", "tags": []},
        {"name": "Cy", "age": 36, "team": "red", "tags": ["z"]},
    ],
    "review": {"score": 0.9, "approved": True, "notes": ["short", "clear"], "by": {"name": "Ada"}},
}


def _printed(value: object) -> str:
    if isinstance(value, jinja2.Undefined):
        return ""
    return to_text(_as_json(value))


def _as_json(value: object) -> object:
    if hasattr(value, "grouper"):
        return dict(zip(("grouper", "list"), map(_as_json, value), strict=True))  # type: ignore[call-overload]
    if isinstance(value, GeneratorType | tuple | list) or hasattr(value, "__next__"):
        return [_as_json(part) for part in value]  # type: ignore[attr-defined]
    if isinstance(value, dict):
        return {key: _as_json(part) for key, part in value.items()}
    if isinstance(value, str):
        return str(value)
    return None if isinstance(value, jinja2.Undefined) else value


class Generator:
    """Writes templates whose meaning Jinja2 and we agree on, from typed expressions."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.names: list[tuple[str, str]] = []

    def pick(self, *options: str | Callable[[], str]) -> str:
        chosen = self.random.choice(options)
        return chosen if isinstance(chosen, str) else chosen()

    def local(self, kind: str, otherwise: str) -> str:
        names = [name for name, of in self.names if of == kind]
        return self.random.choice(names) if names else otherwise

    def number(self, depth: int) -> str:
        leaf = self.pick(
            "count", "score", "minus", "3", "0.5", "12", "review.score", "people[1].age"
        )
        if depth <= 0:
            return self.local("number", leaf)
        a, b = self.number(depth - 1), self.number(depth - 1)
        return self.pick(
            leaf,
            f"({a} {self.pick('+', '-', '*')} {b})",
            f"({a} {self.pick('/', '//', '%')} {self.pick('4', '2.5', 'count')})",
            f"{self.texts(depth - 1)} | length",
            f"{self.list_of_numbers(depth - 1)} | {self.pick('sum', 'length', 'count')}",
            f"([1] + {self.list_of_numbers(depth - 1)}) | {self.pick('min', 'max', 'last')}",
            f"({a}) | {self.pick('abs', 'int', 'float', 'round', 'round(1)')}",
            f"({a}) | round({self.pick('1', '2')}, '{self.pick('ceil', 'floor', 'common')}')",
            f"({a} if {self.truth(depth - 1)} else {b})",
            f"{self.text(depth - 1)} | wordcount",
            f"'{self.pick('12', 'x', '3.7', ' 4 ')}' | int(9)",
            f"'{self.pick('12', 'x', '3.7')}' | float",
            "-(" + a + ")",
            f"({self.text(depth - 1)}).count('e')",
            f"({self.text(depth - 1)}).find('e')",
            f"{self.list_of_numbers(depth - 1)}.count(3)",
        )

    def text(self, depth: int) -> str:
        leaf = self.pick("task", "name", "mixed", "lines", "empty", "'a-b c'", "review.by.name")
        if depth <= 0:
            return self.local("text", leaf)
        a = self.text(depth - 1)
        plain = self.pick("upper", "lower", "capitalize", "title", "trim", "string", "reverse")
        return self.pick(
            leaf,
            f"({a}) | {plain}",
            f"({a} ~ {self.text(depth - 1)})",
            f"({a} ~ '-' ~ {self.pick('count', 'minus', '12')})",
            f"({a}) | replace('{self.pick('e', 'a ', 'xyz')}', '{self.pick('E', '', '--')}')",
            f"({a}) | replace('e', 'E', {self.pick('0', '1', '2')})",
            f"({a}) | truncate({self.pick(*TRUNCATE)})",
            f"({a}) | center({self.pick('5', '20')})",
            f"({a}) | indent({self.pick(*INDENT)})",
            f"({a}) | wordwrap({self.pick(*WORDWRAP)})",
            # What Jinja2 has escaped it does not escape again, unless it is made anew.
            f"({a}) | {self.pick('escape', 'e', 'forceescape', 'striptags', 'urlencode')} | join",
            f"{self.texts(depth - 1)} | join('{self.pick(', ', '', '|')}')",
            f"{self.list_of_numbers(depth - 1)} | join('{self.pick(', ', '', '+')}')",
            f"people | join(';', attribute='{self.pick('name', 'age')}')",
            f"({a})[{self.pick('0', '-1', '1:3', ':4', '::2', '-3:', '::-1')}]",
            f"({a} if {self.truth(depth - 1)} else {self.text(depth - 1)})",
            f"(missing.deep.path | default({a}))",
            f"({a} | default('x', true))",
            f"'%s has %d and %.2f' | format({a}, count, score)",
            f"'{{0}}/{{1}}'.format(name, {a})",
            f"({a}).{self.pick('upper', 'lower', 'strip', 'title', 'capitalize', 'swapcase')}()",
            f"({a}).{self.pick('lstrip', 'rstrip')}('{self.pick('W', 'a', 'm')}')",
            f"({self.number(depth - 1)}) | filesizeformat",
            f"({self.number(depth - 1)}) | string",
            f"{self.texts(depth - 1)} | {self.pick('first', 'last')} | default('none')",
            f"{self.texts(depth - 1)}[{self.pick('0', '9')}]",
        )

    def truth(self, depth: int) -> str:
        leaf = self.pick("yes", "no", "review.approved", "zero == 0", "missing is defined")
        if depth <= 0:
            return leaf
        a, b = self.number(depth - 1), self.number(depth - 1)
        test = self.pick("none", "string", "number", "mapping", "sequence", "iterable", "boolean")
        return self.pick(
            leaf,
            f"({a} {self.pick('<', '<=', '>', '>=', '==', '!=')} {b})",
            f"({a} < {b} <= {self.number(depth - 1)})",
            f"({self.text(depth - 1)} {self.pick('==', '<', 'not in')} {self.text(depth - 1)})",
            f"({self.text(0)} in {self.text(depth - 1)})",
            f"({a} {self.pick('in', 'not in')} {self.list_of_numbers(depth - 1)})",
            f"(not {self.truth(depth - 1)})",
            f"({self.truth(depth - 1)} {self.pick('and', 'or')} {self.truth(depth - 1)})",
            f"(({self.something(depth - 1)}) is {self.pick('', 'not ')}{test})",
            f"(({a}) | int is {self.pick('even', 'odd', 'divisibleby 3', 'integer', 'float')})",
            f"({self.text(depth - 1)} is {self.pick('lower', 'upper')})",
            f"({a} is {self.pick('eq', 'lt', 'ge', 'ne', 'gt', 'le')}({b}))",
            f"({self.text(depth - 1)}).{self.pick('startswith', 'endswith')}('a')",
            f"('{self.pick('upper', 'nope')}' is filter)",
        )

    def list_of_numbers(self, depth: int) -> str:
        leaf = self.pick("numbers", "nothing", "[1, 2, 3]", "range(4)", "range(2, 9, 3)", "(4, 2)")
        if depth <= 0:
            return f"({leaf} | list)"
        a = self.list_of_numbers(depth - 1)
        return self.pick(
            f"({leaf} | list)",
            f"({a} + {self.list_of_numbers(depth - 1)})",
            f"({a} | {self.pick('sort', 'reverse', 'unique', 'sort(reverse=true)')} | list)",
            f"({a} | {self.pick('select', 'reject')}('{self.pick('odd', 'even')}') | list)",
            f"({a} | select('gt', 2) | list)",
            f"({a} | map('abs') | list)",
            "(people | map(attribute='age') | list)",
            f"{a}[{self.pick('1:', ':2', '::2', '::-1')}]",
            f"({self.texts(depth - 1)} | map('length') | list)",
        )

    def texts(self, depth: int) -> str:
        leaf = self.pick("words", "review.notes", "['a', 'b']", "people[0].tags")
        if depth <= 0:
            return leaf
        a = self.texts(depth - 1)
        sort = self.pick("sort", "sort(case_sensitive=true)", "unique", "reverse")
        return self.pick(
            leaf,
            f"({a} | {sort} | list)",
            f"({a} | map('{self.pick('upper', 'lower', 'title')}') | list)",
            f"({a} | map('replace', 'a', 'o') | list)",
            f"({a} | select('{self.pick('lower', 'string')}') | list)",
            f"({self.text(depth - 1)}).split({self.pick('', SPACE)})",
            f"({self.text(depth - 1)}).splitlines()",
            f"({self.text(depth - 1)} | list)",
            f"({self.people(depth - 1)} | map(attribute='name') | list)",
            "(review | list)",
            "(review.by | dictsort | first | list)",
        )

    def people(self, depth: int) -> str:
        if depth <= 0:
            return "people"
        a = self.people(depth - 1)
        order = self.pick("attribute='age'", "attribute='age,name'", "true, attribute='name'")
        return self.pick(
            "people",
            f"({a} | sort({order}) | list)",
            f"({a} | selectattr('team', 'equalto', 'red') | list)",
            f"({a} | rejectattr('tags') | list)",
            f"({a} | selectattr('age', 'gt', {self.number(depth - 1)}) | list)",
            f"({a} | unique(attribute='team') | list)",
            f"({a} | reverse | list)",
            f"{a}[:2]",
        )

    def rows(self, depth: int) -> str:
        a = self.pick(self.list_of_numbers(depth - 1), self.texts(depth - 1))
        return self.pick(
            f"({a} | batch({self.pick('1', '2', '3, 0')}) | list)",
            f"({a} | slice({self.pick('1', '2', '3, 0')}) | list)",
            f"({{'a': {self.number(depth - 1)}, 'b': 2}} | dictsort)",
            f"({{'a': {self.number(depth - 1)}, 'b': 2}}.items() | list)",
            "(review | items | list)[:2]",
        )

    def anything(self, depth: int) -> str:
        return self.pick(
            lambda: self.something(depth),
            lambda: self.something(depth),
            lambda: self.something(depth),
            "missing",
            "review.missing.deeper",
        )

    def something(self, depth: int) -> str:
        return self.pick(
            lambda: self.number(depth),
            lambda: self.text(depth),
            lambda: self.truth(depth),
            lambda: self.list_of_numbers(depth),
            lambda: self.texts(depth),
            lambda: self.people(depth),
            lambda: self.rows(max(depth, 1)),
            "review",
            "{'k': name, 'n': [count, none]}",
        )

    def body(self, depth: int) -> str:
        parts = [self.statement(depth) for _ in range(self.random.randint(1, 3))]
        return "".join(parts)

    def statement(self, depth: int) -> str:
        emit = lambda: "{{ " + self.anything(self.random.randint(0, 3)) + " }}"  # noqa: E731
        if depth <= 0:
            return self.pick("text ", emit, emit)
        return self.pick(
            "text\n",
            emit,
            emit,
            lambda: self._if(depth),
            lambda: self._for(depth),
            lambda: self._set(depth),
            lambda: self._with(depth),
            lambda: self._macro(depth),
            lambda: "{% filter upper %}" + self.body(depth - 1) + "{% endfilter %}",
            lambda: "{% raw %}{{ raw }}{% endraw %}{# note #}",
            lambda: " \n{{- " + self.text(1) + " -}}\n ",
        )

    def _if(self, depth: int) -> str:
        return (
            f"{{% if {self.truth(1)} %}}{self.body(depth - 1)}"
            f"{{% elif {self.truth(1)} %}}b{{% else %}}{self.body(depth - 1)}{{% endif %}}"
        )

    def _scoped(self, name: str, kind: str, depth: int) -> str:
        self.names.append((name, kind))
        body = self.body(depth - 1)
        self.names.pop()
        return body

    def _for(self, depth: int) -> str:
        name = self.pick("x", "y")
        loop = self.pick(
            "{{ loop.index }}",
            "{{ loop.revindex0 }}",
            "{{ loop.first }}/{{ loop.last }}",
            "{{ loop.cycle('a', 'b') }}",
            "{{ loop.previtem }}<{{ loop.nextitem }}",
            "{{ loop.changed(loop.length) }}{{ loop.depth }}",
            "",
        )
        head, kind = self.random.choice(
            [
                (f"{name} in {self.list_of_numbers(1)}", "number"),
                (f"{name} in {self.texts(1)}", "text"),
                (f"{name} in {self.list_of_numbers(1)} if {name} > 2", "number"),
                (f"k, {name} in {{'a': 1, 'b': 2}}.items()", "number"),
                (f"{name}, g in people | groupby('team')", "text"),
                (f"{name} in missing", "number"),
                (f"{name} in {self.text(0)}", "text"),
            ]
        )
        body = self._scoped(name, kind, depth)
        return f"{{% for {head} %}}{loop}{{{{ {name} }}}},{body}{{% else %}}none{{% endfor %}}"

    def _set(self, depth: int) -> str:
        if self.random.random() < 0.3:
            return f"{{% set v | upper %}}{self.body(depth - 1)}{{% endset %}}{{{{ v }}}}"
        return (
            f"{{% set ns = namespace(n=0) %}}{{% for i in range(3) %}}"
            f"{{% set ns.n = ns.n + {self.number(1)} %}}{{% endfor %}}{{{{ ns.n }}}}"
            f"{{% set a, b = {self.number(1)}, {self.text(1)} %}}{{{{ a }}}}{{{{ b }}}}"
        )

    def _with(self, depth: int) -> str:
        body = self._scoped("w", "number", depth)
        return f"{{% with w = {self.number(1)} %}}{body}{{{{ w }}}}{{% endwith %}}"

    def _macro(self, depth: int) -> str:
        body = self._scoped("p", "text", depth)
        call = f"{{{{ m({self.text(1)}) }}}}{{{{ m('q', q={self.number(0)}) }}}}"
        block = "{% call m('c') %}inner{% endcall %}" if self.random.random() < 0.5 else call
        caller = "{{ caller() }}" if block != call else ""
        return f"{{% macro m(p, q=2) %}}{body}{{{{ p }}}}{{{{ q }}}}{caller}{{% endmacro %}}{block}"


def _cases(seed: int) -> Iterator[str]:
    generator = Generator(seed)
    for _ in range(TEMPLATES_PER_SEED):
        generator.names.clear()
        yield generator.body(2)


# How Jinja2 refuses a template; it looks for methods of texts in numbers, too.
REFUSALS = (
    jinja2.TemplateRuntimeError,
    TypeError,
    AttributeError,
    ArithmeticError,
    AssertionError,
    ValueError,
)


@pytest.mark.slow
@pytest.mark.sample(6)
@pytest.mark.campaign
@pytest.mark.parametrize("seed", SEEDS)
def test_templates_mean_what_they_mean_in_jinja2(seed: int) -> None:
    environment = jinja2.Environment(
        undefined=jinja2.ChainableUndefined, keep_trailing_newline=True, finalize=_printed
    )
    scope = MappingScope(VALUES)
    refused = 0
    for source in _cases(seed):
        try:
            expected = environment.from_string(source).render(VALUES)
        except REFUSALS:
            refused += 1
            continue
        if " object at 0x" in expected.lower():  # an iterator of Jinja2, as Python writes it
            refused += 1
            continue

        actual = _rendered(source, scope)

        assert actual == expected, source
        tally("templates as Jinja2 has them")
    assert refused < TEMPLATES_PER_SEED / 4


def _rendered(source: str, scope: MappingScope) -> str:
    try:
        return render(Expression("template", source), scope)
    except EvaluationError as error:
        return f"error: {error} at {error.offset} in {source!r}"
