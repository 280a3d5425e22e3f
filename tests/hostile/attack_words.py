"""What attacks are made of: tricks of parsers, expressions, patterns, paths, addresses, names."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

_LAUGHS = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 9)
)
YAML_TRICKS: dict[str, Callable[[str], str | bytes]] = {
    "an object of Python": lambda t: t + "z: !!python/object/apply:os.system ['touch canary']\n",
    "a name of Python": lambda t: t + "z: !!python/name:os.system\n",
    "a tag of its own": lambda t: t + "z: !include /etc/passwd\n",
    "a variable of the environment": lambda t: t + "z: !ENV ${OPENAI_API_KEY}\n",
    "a thousand million laughs": lambda t: _LAUGHS + t,
    "an alias in itself": lambda t: t + "z: &z [*z]\n",
    "a merge key": lambda t: t + "z: {<<: {a: 1}}\n",
    "a key twice": lambda t: t + "zz: 1\nzz: 2\n",
    "a hundred thousand brackets": lambda t: t + "z: " + "[" * 100_000,
    "three hundred levels": lambda t: t + "".join(" " * n + f"k{n}:\n" for n in range(300)),
    "three megabytes": lambda t: t + "z: " + "x" * 3_000_000,
    "two documents": lambda t: t + "---\n" + t,
    "a directive": lambda t: "%TAG ! tag:yaml.org,2002:python/\n---\n" + t,
    "a zero": lambda t: t + "z: a\0b\n",
    "another encoding": lambda t: t.encode("utf-16"),
    "bytes that are no text": lambda t: t.encode() + b"z: \xff\xfe\n",
    "a quote without its end": lambda t: t + "z: 'open\n",
    "a key that is a list": lambda t: t + "? [a, b]\n: 1\n",
}
JSON_TRICKS: dict[str, Callable[[str], str | bytes]] = {
    "not a number": lambda t: t.replace('"Hello"', "NaN"),
    "beyond all numbers": lambda t: t.replace('"Hello"', "1e999"),
    "a number of ten thousand digits": lambda t: t.replace('"Hello"', "9" * 10_000),
    "a key twice": lambda t: t.rstrip("}\n") + ', "zz": 1, "zz": 2}',
    "a hundred thousand brackets": lambda t: t.replace('"Hello"', "[" * 100_000),
    "a hundred thousand braces": lambda t: t.replace('"Hello"', '{"a":' * 100_000),
    "a comma too many": lambda t: t.rstrip("}\n") + ",}",
    "a comment": lambda t: "// hello\n" + t,
    "a zero": lambda t: t.replace("Hello", "a\0b"),
    "another encoding": lambda t: t.encode("utf-16"),
    "bytes that are no text": lambda t: t.encode().replace(b"Hello", b"\xff\xfe"),
    "half of a character": lambda t: t.replace("Hello", "\\ud800"),
    "three megabytes": lambda t: t.replace("Hello", "x" * 3_000_000),
    "a key of JavaScript": lambda t: t.rstrip("}\n") + ', "__proto__": {"admin": true}}',
}
ESCAPES = (
    *("{{ ''.__class__.__mro__[1].__subclasses__() }}", "{{ [].__class__.__base__ }}"),
    "{{ self.__init__.__globals__ }}",
    "{{ cycler.__init__.__globals__.os.popen('touch canary').read() }}",
    "{{ lipsum.__globals__['os'].system('touch canary') }}",
    *("{{ namespace.__init__.__globals__ }}", "{{ range.__self__ }}", "{{ ''|attr('__class__') }}"),
    "{{ ['x']|map(attribute='__class__')|list }}",
    "{{ '{0.__class__.__init__.__globals__}'.format('x') }}",
    *("{{ '%(__class__)s'|format(a=1) }}", "{{ config }}{{ request }}{{ settings.secrets }}"),
    "{{ __import__('os').system('touch canary') }}",
    "{{ eval('1') }}{{ exec('1') }}{{ compile('1', '', 'eval') }}",
    *("{{ open('/etc/passwd').read() }}", "{% include '/etc/passwd' %}"),
    *("{% import 'os' as os %}{{ os.system('touch canary') }}", "{% extends 'base' %}"),
    "{% macro m() %}{% endmacro %}{{ m.__globals__ }}",
    "{% set x = ''.__class__ %}{{ x.mro() }}",
    *("{% for x in [1] %}{{ loop.__class__ }}{% endfor %}", "{{ (1).__class__.__bases__ }}"),
)
BOMBS = (
    *("{{ 'a' * 1000000000 }}", "{{ [0] * 1000000000 }}", "{{ range(1000000000)|list }}"),
    *("{{ 9 ** 9 ** 9 ** 9 }}", "{{ 'a'|center(1000000000) }}", "{{ '%1000000000d'|format(1) }}"),
    *("{{ '{:>1000000000}'.format(1) }}", "{{ ('a' * 900000)|replace('a', 'a' * 900000) }}"),
    *("{{ (['a' * 900000] * 90000)|join }}", "{{ (['a' * 900000] * 90000)|sort|length }}"),
    "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}",
    "{% macro m() %}{{ m() }}{{ m() }}{% endmacro %}{{ m() }}",
    "{% set ns = namespace(x=[1]) %}{% for i in range(40) %}{% set ns.x = [ns.x, ns.x] %}"
    "{% endfor %}{{ ns.x }}",
    "{% set ns = namespace(x='ab') %}{% for i in range(64) %}{% set ns.x = ns.x ~ ns.x %}"
    "{% endfor %}",
    "{{ " + "(" * 100_000 + "1" + ")" * 100_000 + " }}",
    *("{{ " + "[" * 5_000 + "]" * 5_000 + " }}", "{{ a" + ".b" * 100_000 + " }}"),
    *("{{ 1 " + "+ 1 " * 60_000 + "}}", "{{ ('[' * 100000)|fromjson }}"),
    *("{{ ('a' * 190000)|regex_search('((a{0,30}){0,30})*b') }}", "{# " * 80_000),
)
# For formats whose places are names, paths and pipes.
OTHER_ESCAPES = (
    *("{{ ''.__class__ }}", "{{__class__.__mro__}}", "{{input.__class__}}"),
    "{{constructor.constructor('return process')()}}",
    "${process.env.OPENAI_API_KEY} #{7*7} <%= 7*7 %>",
    "{{#with this}}{{lookup . '__proto__'}}{{/with}}",
    "$(touch canary) `touch canary` ; touch canary",
)
OTHER_BOMBS = (
    *("{{" * 60_000, "{{a" + ".b" * 60_000 + "}}", "{{input}}" * 20_000),
    "{{ input" + " | upper" * 20_000 + " }}",
)
LOGIC_ESCAPES = (
    *("@eval('1')", "@string(__import__('os'))", "@{''.__class__}", "@json('{}')?.__class__"),
    *("@variables('x').__globals__", "@workflow()['run']['__class__']"),
    *("@parameters('$connections')", "@appsetting('OPENAI_API_KEY')", "@listCallbackUrl()"),
    "@xml('<!DOCTYPE a [<!ENTITY b SYSTEM \"file:///etc/passwd\">]><a>&b;</a>')",
    "@xpath(xml('<a/>'), 'document(\"/etc/passwd\")')",
)
LOGIC_BOMBS = (
    *("@range(0, 1000000000)", "@string(range(0, 100000))@{range(0, 100000)}"),
    "@replace(concat('aaaaaaaaaa', 'aaaaaaaaaa'), '', 'b')",
    "@mul(9223372036854775807, 9223372036854775807)",
    *("@formatNumber(1, '" + "0" * 100_000 + "')", "@" + "not(" * 3_000 + "true" + ")" * 3_000),
    *("@concat(" + ",".join(["'a'"] * 60_000) + ")", "@json('" + "[" * 100_000 + "')"),
    *("@addToTime('2024-01-01', 9223372036854775807, 'Year')", "@{" * 60_000),
    "@xml('" + "<a>" * 20_000 + "')",
)
PATTERNS = (
    *("(a+)+$", "(a|aa)+$", "(.*)*x", "((a{0,30}){0,30})*b", "((a{100}){100}){100}", "(" * 5_000),
    *("(a)\\1", "(?=a)a"),
)
PATHS = """
    ../../../../etc/passwd /etc/passwd ~/.ssh/id_rsa %2e%2e/secret.txt ..\\..\\secret.txt
    file:///etc/passwd http://127.0.0.1:9/x.yaml link.yaml pipe /dev/zero
"""
URLS = """
    http://127.0.0.1:9/ http://localhost:9/ http://[::1]:9/ http://2130706433:9/
    http://0x7f.1:9/ http://169.254.169.254/latest/meta-data/ http://[::ffff:127.0.0.1]:9/
    http://[64:ff9b::7f00:1]:9/ http://10.0.0.1/ https://good.example@127.0.0.1:9/
    file:///etc/passwd gopher://127.0.0.1:9/_x
"""
NAMES = {
    "a path": "../../etc/passwd",
    "a name of Python": "__class__",
    "a name of JavaScript": "__proto__",
    "a template": "{{ 7 * 7 }}",
    "a page": "<img src=x onerror=alert(1)>",
    "colours of a terminal": "\x1b[31mred\x1b[0m",
    "written from right to left": "a\u202eb",
    "ten thousand letters": "n" * 10_000,
    "a zero": "a\0b",
    "SQL": "x'; DROP TABLE runs; --",
}
