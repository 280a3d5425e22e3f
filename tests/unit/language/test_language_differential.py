"""Our evaluator against Jinja2 itself, on thousands of generated templates.

Documented differences, which the generator or the Jinja2 environment of this test leave out:
- null and undefined print as nothing, true and false in small letters, lists and objects as JSON;
- members of undefined and of null are undefined, and some operations forgive undefined;
- a group of `groupby` prints as an object;
- undefined is no sequence;
- tuples and the results of `map`, `select`, ... are lists;
- `tojson` neither sorts keys nor escapes for HTML;
- keys of objects are texts; `random`, `urlize`, `lipsum` are refused.
"""

from __future__ import annotations

import random
import re
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


# What expressions of each kind are made of: one without depth, and any. `$kind` is an expression
# of that kind one level down, `$0kind` one without depth, and «a;b» is one of these.
LEAVES = {
    "number": "«count;score;minus;3;0.5;12;review.score;people[1].age»",
    "text": "«task;name;mixed;lines;empty;'a-b c';review.by.name»",
    "truth": "«yes;no;review.approved;zero == 0;missing is defined»",
    "numbers": "(«numbers;nothing;[1, 2, 3];range(4);range(2, 9, 3);(4, 2)» | list)",
    "texts": "«words;review.notes;['a', 'b'];people[0].tags»",
    "people": "people",
}
FORMS = {
    "number": """
        ($number «+;-;*» $number)
        ($number «/;//;%» «4;2.5;count»)
        $texts | length
        $numbers | «sum;length;count»
        ([1] + $numbers) | «min;max;last»
        ($number) | «abs;int;float;round;round(1)»
        ($number) | round(«1;2», '«ceil;floor;common»')
        ($number if $truth else $number)
        $text | wordcount
        '«12;x;3.7; 4 »' | int(9)
        '«12;x;3.7»' | float
        -($number)
        ($text).count('e')
        ($text).find('e')
        $numbers.count(3)""",
    # What Jinja2 has escaped it does not escape again, unless it is made anew.
    "text": """
        ($text) | «upper;lower;capitalize;title;trim;string;reverse»
        ($text ~ $text)
        ($text ~ '-' ~ «count;minus;12»)
        ($text) | replace('«e;a ;xyz»', '«E;;--»')
        ($text) | replace('e', 'E', «0;1;2»)
        ($text) | truncate(«5;10;8, true;9, false, '~';6, true, '', 0»)
        ($text) | indent(«2;4, true;3, true, true;'> '»)
        ($text) | wordwrap(«8;12;5, false;6, true, '|'»)
        ($text) | «escape;e;urlencode» | join
        $texts | join('«, ;;|»')
        $numbers | join('«, ;;+»')
        people | join(';', attribute='«name;age»')
        ($text)[«0;-1;1:3;:4;::2;-3:;::-1»]
        ($text if $truth else $text)
        (missing.deep.path | default($text))
        ($text | default('x', true))
        '%s has %d and %.2f' | format($text, count, score)
        ($text).«upper;lower;strip;title;capitalize»()
        ($text).«lstrip;rstrip»('«W;a;m»')
        ($number) | string
        $texts | «first;last» | default('none')
        $texts[«0;9»]""",
    "truth": """
        ($number «<;<=;>;>=;==;!=» $number)
        ($number < $number <= $number)
        ($text «==;<;not in» $text)
        ($0text in $text)
        ($number «in;not in» $numbers)
        (not $truth)
        ($truth «and;or» $truth)
        (($something) is «;not »«none;string;number;mapping;sequence;iterable;boolean»)
        (($number) | int is «even;odd;divisibleby 3;integer;float»)
        ($text is «lower;upper»)
        ($number is «eq;lt;ge;ne;gt;le»($number))
        ($text).«startswith;endswith»('a')
        ($text is string)""",
    "numbers": """
        ($numbers + $numbers)
        ($numbers | «sort;reverse;unique;sort(reverse=true)» | list)
        ($numbers | «select;reject»('«odd;even»') | list)
        ($numbers | select('gt', 2) | list)
        ($numbers | map('abs') | list)
        (people | map(attribute='age') | list)
        $numbers[«1:;:2;::2;::-1»]
        ($texts | map('length') | list)""",
    "texts": """
        ($texts | «sort;sort(case_sensitive=true);unique;reverse» | list)
        ($texts | map('«upper;lower;title»') | list)
        ($texts | map('replace', 'a', 'o') | list)
        ($texts | select('«lower;string»') | list)
        ($text).split(«;' '»)
        ($text).splitlines()
        ($text | list)
        ($people | map(attribute='name') | list)
        (review | list)""",
    "people": """
        ($people | sort(«attribute='age';attribute='age,name';true, attribute='name'») | list)
        ($people | selectattr('team', 'equalto', 'red') | list)
        ($people | rejectattr('tags') | list)
        ($people | selectattr('age', 'gt', $number) | list)
        ($people | unique(attribute='team') | list)
        ($people | reverse | list)
        $people[:2]""",
    "rows": """
        ({'a': $number, 'b': 2}.items() | list)
        (review | items | list)[:2]""",
}
CHOICE = re.compile("«([^»]*)»")
PART = re.compile(r"\$(0?)([a-z]+)")


class Generator:
    """Writes templates whose meaning Jinja2 and we agree on, from typed expressions."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.names: list[tuple[str, str]] = []

    def pick(self, *options: str | Callable[[], str]) -> str:
        chosen = self.random.choice(options)
        return chosen if isinstance(chosen, str) else chosen()

    def expression(self, kind: str, depth: int) -> str:
        if kind == "something":
            if self.random.random() < 0.2:
                return self.pick("review", "{'k': name, 'n': [count, none]}")
            kind = self.pick(*FORMS)
        names = [name for name, of in self.names if of == kind]
        if names and depth <= 0:
            return self.random.choice(names)
        forms = FORMS[kind].strip().splitlines()
        if kind in LEAVES:
            forms = [*forms, LEAVES[kind]] if depth > 0 else [LEAVES[kind]]
        form = CHOICE.sub(lambda found: self.pick(*found[1].split(";")), self.pick(*forms).strip())
        return PART.sub(lambda found: self.expression(found[2], 0 if found[1] else depth - 1), form)

    def number(self, depth: int) -> str:
        return self.expression("number", depth)

    def text(self, depth: int) -> str:
        return self.expression("text", depth)

    def anything(self) -> str:
        if self.random.random() < 0.4:
            return self.pick("missing", "review.missing.deeper")
        return self.expression("something", self.random.randint(0, 3))

    def body(self, depth: int) -> str:
        parts = [self.statement(depth) for _ in range(self.random.randint(1, 3))]
        return "".join(parts)

    def statement(self, depth: int) -> str:
        emit = lambda: f"{{{{ {self.anything()} }}}}"  # noqa: E731
        if depth <= 0:
            return self.pick("text ", emit, emit)
        return self.pick(
            "text\n",
            emit,
            emit,
            lambda: self._if(depth),
            lambda: self._for(depth),
            lambda: self._set(depth),
            lambda: "{% raw %}{{ raw }}{% endraw %}{# note #}",
            lambda: " \n{{- " + self.text(1) + " -}}\n ",
        )

    def _if(self, depth: int) -> str:
        first, other = (self.expression("truth", 1) for _ in range(2))
        then, otherwise = self.body(depth - 1), self.body(depth - 1)
        return f"{{% if {first} %}}{then}{{% elif {other} %}}b{{% else %}}{otherwise}{{% endif %}}"

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
            "{{ loop.previtem }}<{{ loop.nextitem }}",
            "",
        )
        head, kind = self.random.choice(
            [
                (f"{name} in {self.expression('numbers', 1)}", "number"),
                (f"{name} in {self.expression('texts', 1)}", "text"),
                (f"{name} in {self.expression('numbers', 1)} if {name} > 2", "number"),
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


def _cases(seed: int) -> Iterator[str]:
    generator = Generator(seed)
    for _ in range(TEMPLATES_PER_SEED):
        generator.names.clear()
        yield generator.body(2)


# How Jinja2 refuses a template; it looks for methods of texts in numbers, too.
REFUSALS = (
    *(jinja2.TemplateRuntimeError, TypeError, AttributeError, ArithmeticError, AssertionError),
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
