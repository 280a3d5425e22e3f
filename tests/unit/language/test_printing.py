"""Printed trees are read back as the same trees, in every syntax."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from campaign import amount
from whorl.language import Expression, MappingScope, evaluate, parse, tree
from whorl.language.core import find
from whorl.language.printing import CannotSay, is_same, print_tree, translate

NAMES = st.sampled_from(["a", "b", "review", "loop_2", "größe"])
TEXTS = st.text(st.sampled_from("ab '\"\\{}%#@\n\r\tü"), max_size=8)
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-99, 99),
    st.floats(0, 1e9, allow_nan=False),
    TEXTS,
)
FILTERS = ["trim", "length", "upper", "first"]
TESTS = ["defined", "string", "none", "odd"]


def _filtered(name: str, subject: tree.Expr) -> tree.Expr:
    entry = find("", "filter", name)
    defaults = tuple(tree.Literal(value) for _, value in entry.optional)
    return tree.Apply(entry, (subject, *defaults), (), (), 0)


def _tested(name: str, subject: tree.Expr) -> tree.Expr:
    return tree.Apply(find("", "test", name), (subject,), (), (), 0)


def _default(subject: tree.Expr, value: tree.Expr) -> tree.Expr:
    entry = find("", "filter", "default")
    rest = tuple(tree.Literal(one) for _, one in entry.optional[1:])
    return tree.Apply(entry, (subject, value, *rest), (), (), 0)


def _calculation(symbols: list[str], first: tree.Expr, operands: list[tree.Expr]) -> tree.Expr:
    rest = tuple(zip(symbols, operands, strict=False))
    is_nested = isinstance(first, tree.Arithmetic)
    # Jinja's reader makes one chain of calculations that begin with another one.
    return tree.Arithmetic(tree.Name("x", 0) if is_nested else first, rest, 0)  # type: ignore[arg-type]


def _compound(inner: st.SearchStrategy[tree.Expr]) -> st.SearchStrategy[tree.Expr]:
    two = st.lists(inner, min_size=2, max_size=3)
    return st.one_of(
        st.builds(tree.Member, inner, NAMES, st.just(0)),
        st.builds(tree.Item, inner, inner, st.just(0)),
        st.builds(tree.Slice, inner, inner, st.none() | inner, st.none() | inner, st.just(0)),
        st.builds(lambda items: tree.ListDisplay(tuple(items), 0), st.lists(inner, max_size=3)),
        st.builds(lambda key, value: tree.ObjectDisplay(((key, value),), 0), inner, inner),
        st.builds(tree.Unary, st.sampled_from(["not", "-", "+"]), inner, st.just(0)),
        st.builds(
            _calculation, st.lists(st.sampled_from("+-"), min_size=1, max_size=2), inner, two
        ),
        st.builds(
            _calculation, st.lists(st.sampled_from(["*", "/", "//", "%"]), min_size=1), inner, two
        ),
        st.builds(_calculation, st.just(["**"]), inner, two),
        st.builds(
            lambda first, symbol, second: tree.Comparison(first, ((symbol, second),), 0),
            inner,
            st.sampled_from(["==", "!=", "<", ">=", "in", "not in"]),
            inner,
        ),
        st.builds(lambda parts: tree.Concat(tuple(parts), 0), two),
        st.builds(_logic, st.sampled_from(["and", "or"]), two),
        st.builds(tree.Conditional, inner, inner, st.none() | inner, st.just(0)),
        st.builds(_filtered, st.sampled_from(FILTERS), inner),
        st.builds(_tested, st.sampled_from(TESTS), inner),
        st.builds(_default, inner, inner),
        st.builds(lambda target: tree.MethodCall(target, "upper", (), (), 0), inner),
    )


def _logic(operator: str, operands: list[tree.Expr]) -> tree.Expr:
    first, *rest = operands
    if isinstance(first, tree.Logic) and first.operator == operator:
        first = tree.Name("x", 0)
    return tree.Logic(operator, (first, *rest), 0)  # type: ignore[arg-type]


LEAVES = st.one_of(
    st.builds(tree.Literal, SCALARS), st.builds(lambda name: tree.Name(name, 0), NAMES)
)
EXPRESSIONS = st.recursive(LEAVES, _compound, max_leaves=12)


def _whole(value: tree.Expr) -> tree.Tree:
    return tree.Tree("jinja", "", value, (), frozenset())


@pytest.mark.campaign
@settings(max_examples=amount(100, 800))
@given(EXPRESSIONS)
def test_every_expression_is_printed_and_read_back(value: tree.Expr) -> None:
    printed = print_tree(_whole(value), "jinja")

    assert is_same(_whole(value), parse(printed))


@pytest.mark.campaign
@settings(max_examples=amount(100, 800))
@given(EXPRESSIONS)
def test_an_expression_keeps_its_type_as_a_template(value: tree.Expr) -> None:
    printed = print_tree(_whole(value), "template")

    assert parse(printed).value is not None


def _statements(body: st.SearchStrategy[tree.Body]) -> st.SearchStrategy[tree.Body]:
    small = st.recursive(LEAVES, _compound, max_leaves=4)
    case = st.tuples(small, body)
    statement = st.one_of(
        st.builds(
            lambda cases, rest: tree.If(tuple(cases), rest), st.lists(case, min_size=1), body
        ),
        st.builds(
            lambda name, items, test, inner, rest: tree.For(
                name, items, test, inner, rest, False, 0
            ),
            NAMES,
            small,
            st.none() | small,
            body,
            body,
        ),
        st.builds(tree.Assign, NAMES, small, st.just(0)),
        st.builds(
            lambda name, inner: tree.Capture(name, inner, tree.Name(tree.CAPTURED, 0), 0),
            NAMES,
            body,
        ),
        st.builds(
            lambda inner: tree.Filtered(inner, _filtered("trim", tree.Name(tree.CAPTURED, 0)), 0),
            body,
        ),
        st.builds(
            lambda name, value, inner: tree.With(((name, value),), inner, 0), NAMES, small, body
        ),
    )
    return st.lists(statement | _pieces(), max_size=3).map(tuple)


def _pieces() -> st.SearchStrategy[tree.Stmt]:
    return st.one_of(
        st.builds(tree.Text, st.text(st.sampled_from("ab {}%#'\\"), max_size=8)),
        st.builds(lambda value: tree.Emit(value, 0), st.recursive(LEAVES, _compound, max_leaves=4)),
    )


BODIES = st.recursive(st.lists(_pieces(), max_size=3).map(tuple), _statements, max_leaves=5)


@pytest.mark.campaign
@settings(max_examples=amount(100, 800), deadline=None)
@given(BODIES)
def test_every_template_is_printed_and_read_back(body: tree.Body) -> None:
    source = tree.Tree("template", "", None, body, frozenset())
    printed = print_tree(source, "template")

    assert is_same(source, parse(printed))


@pytest.mark.parametrize(
    "source",
    [
        "{% macro m(a, b=1) %}{{ caller() }}{% endmacro %}{% call(x) m(1) %}{{ x }}{% endcall %}",
        "{% for a, (b, c) in rows if a %}{{ loop.index }}{% else %}-{% endfor %}",
        "{% set ns = namespace(n=0) %}{% set ns.n = ns.n + 1 %}{{ ns.n }}",
        "{% set t | upper | trim %} x {% endset %}{{ t }}",
        "{% raw %}{{ as it is }}{% endraw %} and {{ 'b' }}",
        "{{ x }}\n",
    ],
)
def test_templates_with_tags_are_printed_and_read_back(source: str) -> None:
    read = parse(Expression("template", source))

    assert is_same(read, parse(print_tree(read, "template")))


@pytest.mark.parametrize(
    ("source", "printed"),
    [
        ("(a)|default( 'x' ) | upper", "a | default('x') | upper"),
        ("(a + b) * c", "(a + b) * c"),
        ("a + (b * c)", "a + b * c"),
        ("not (a is defined)", "a is not defined"),
        ('"it\'s"', '"it\'s"'),
        ("(a if b else c) if d else e", "(a if b else c) if d else e"),
    ],
)
def test_only_needed_parentheses_and_arguments_are_printed(source: str, printed: str) -> None:
    assert printed == print_tree(parse(Expression("jinja", source)), "jinja").source


@pytest.mark.parametrize(
    "source",
    [
        "@concat('it''s ', variables('x')?['a b'], 1.5, null)",
        "@if(and(equals(1, 2), not(false)), body('a'), coalesce(null, 2))",
        "text @{variables('x')} and @@{no}",
        "@@literal",
        "@or(true)",
    ],
)
def test_logic_expressions_are_printed_and_read_back(source: str) -> None:
    read = parse(Expression("logic", source))

    assert is_same(read, parse(print_tree(read, "logic")))


def test_a_text_of_one_value_stays_a_text() -> None:
    plain = tree.Tree("template", "", None, (tree.Emit(tree.Name("n", 0), 0),), frozenset())

    printed = print_tree(plain, "template")

    assert evaluate(printed, MappingScope({"n": 5})) == "5"


@pytest.mark.parametrize(
    ("source", "syntax"),
    [
        ("a + 1", "plain"),
        ("a.b", "logic"),
        ("a | upper", "plain"),
        ("[a]", "logic"),
    ],
)
def test_what_a_syntax_lacks_is_refused(source: str, syntax: str) -> None:
    with pytest.raises(CannotSay):
        print_tree(parse(Expression("jinja", source)), syntax)


def test_a_literal_that_looks_like_a_place_is_refused_in_plain_text() -> None:
    read = parse(Expression("template", "{% raw %}{{ a }}{% endraw %}"))

    with pytest.raises(CannotSay):
        print_tree(read, "plain")


def test_an_expression_that_needs_no_change_is_kept_as_it_is_written() -> None:
    expression = Expression("template", "{{a}}  {{- b -}}")

    assert translate(expression, "template") is expression


def test_names_are_replaced_where_they_are_free() -> None:
    expression = Expression("template", "{% for a in items %}{{ a }}{% endfor %}{{ b }}")
    names = {"a": tree.Name("never", 0), "b": tree.Name("other", 0)}

    said = translate(expression, "template", names=names.get)

    assert said.source == "{% for a in items %}{{ a }}{% endfor %}{{ other }}"


def test_a_name_that_a_template_also_binds_is_not_replaced() -> None:
    expression = Expression("template", "{{ a }}{% set a = 1 %}{{ a }}")

    with pytest.raises(CannotSay):
        translate(expression, "template", names=lambda name: tree.Name("other", 0))


@pytest.mark.parametrize(
    ("expression", "syntax"),
    [
        (Expression("logic", "@body('a')"), "jinja"),
        (Expression("logic", "is @{length('a')}"), "template"),
        (Expression("logic", "@concat('a', true)"), "jinja"),
        (Expression("jinja", "a == 'x'"), "logic"),
        (Expression("jinja", "a", "orka"), "jinja"),
    ],
)
def test_syntaxes_that_print_values_in_other_ways_are_not_mixed(
    expression: Expression, syntax: str
) -> None:
    with pytest.raises(CannotSay):
        translate(expression, syntax)


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("@if(and(greater(add(1, 2), 3), true), 'a', 'b')", "'a' if 1 + 2 > 3 and true else 'b'"),
        ("@equals(toLower('A'), 'a')", "'A' | lower == 'a'"),
        ("@coalesce(null, 1)", "none if none is not none else 1"),
    ],
)
def test_functions_of_logic_apps_have_words_in_jinja(source: str, said: str) -> None:
    assert translate(Expression("logic", source), "jinja").source == said
