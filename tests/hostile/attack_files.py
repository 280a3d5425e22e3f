"""Hostile workflow files, numbered, by class and format; and 15 that only look like them (T15).

What they try: to be executed, to read or write files, to reach addresses, to tell secrets, to take
all the time or memory there is, and to make a reader fall over.
"""

from __future__ import annotations

import json
from itertools import islice, product
from typing import TYPE_CHECKING, Any

import attack_words
from attack_bases import YAML, Attack, asking, loom, mcp_cli, named, native, orka, shodan, studio

if TYPE_CHECKING:
    from collections.abc import Iterator

COUNT = 442
# What a command would leave behind, were one run.
TOUCH = "touch canary"


def _parsers() -> Iterator[Attack]:
    for dialect, text in YAML.items():
        for about, trick in attack_words.YAML_TRICKS.items():
            yield Attack("yaml", dialect, about, trick(text))
    for dialect in ("loom", "studio"):
        for about, trick in attack_words.JSON_TRICKS.items():
            yield Attack("json", dialect, about, trick(asking(dialect, "Hello")))


def _expressions() -> Iterator[Attack]:
    for dialect in ("native", "orka"):
        for source in attack_words.ESCAPES:
            yield Attack("escape", dialect, source[:40], asking(dialect, source))
        for source in attack_words.BOMBS:
            yield Attack("bomb", dialect, source[:40], asking(dialect, source))
    for dialect in ("mcp-cli", "shodan", "studio"):
        for source in attack_words.OTHER_ESCAPES:
            yield Attack("escape", dialect, source[:40], asking(dialect, source))
        for source in attack_words.OTHER_BOMBS:
            yield Attack("bomb", dialect, source[:40], asking(dialect, source))
    for source in (*attack_words.LOGIC_ESCAPES, *attack_words.LOGIC_BOMBS):
        kind = "escape" if source in attack_words.LOGIC_ESCAPES else "bomb"
        action = {"type": "compose", "inputs": source}
        yield Attack(kind, "loom", source[:40], loom({"a": action}))
    for source in attack_words.PATTERNS:
        until = {"score": {"from": "{{ a }}", "pattern": source, "at_least": 1}}
        loop = {"repeat": {"until": until, "at_most": 1, "steps": {"a": {"ask": "Hello"}}}}
        yield Attack("pattern", "native", source[:40], native({"l": loop}))
        inner = {"orchestrator": {"id": "i", "strategy": "sequential", "agents": ["a"]}}
        inner["agents"] = [{"id": "a", "type": "openai-answer", "prompt": "Hello"}]  # type: ignore[assignment]
        agent = {"id": "l", "type": "loop", "max_loops": 1, "score_threshold": 0.9}
        agent |= {"score_extraction_pattern": source, "internal_workflow": inner}
        yield Attack("pattern", "orka", source[:40], orka(agent))


def _outside() -> Iterator[Attack]:
    for path in attack_words.PATHS.split():
        yield Attack("path", "native", path[:40], native({"a": {"call": path}}))
        loop = {"name": "l", "workflow": path, "max_iterations": 1, "until": "It is done"}
        yield Attack("path", "mcp-cli", path[:40], mcp_cli({"name": "a", "run": "x"}, loops=[loop]))
        component = {"nodeType": "component", "workflowPath": path}
        yield Attack("path", "shodan", path[:40], shodan(component))
        yield Attack("path", "studio", f"read {path[:40]}", studio(("file_read", {"path": path})))
        write = ("file_write", {"path": path, "content": "owned"})
        yield Attack("path", "studio", f"write {path[:40]}", studio(write))
    for url in attack_words.URLS.split():
        yield Attack("address", "native", url[:40], native({"a": {"http": {"url": url}}}))
        yield Attack("address", "studio", url[:40], studio(("http_request", {"url": url})))
        action = {"type": "http", "inputs": {"method": "GET", "uri": url}}
        yield Attack("address", "loom", url[:40], loom({"a": action}))
    for about, dialect, text in _commands():
        yield Attack("command", dialect, about, text)


def _commands() -> Iterator[tuple[str, str, str]]:
    yield "a script", "native", native({"a": {"run": TOUCH}})
    yield "a program", "native", native({"a": {"run": ["touch", "canary"]}})
    loop = {"repeat": {"at_most": 2, "steps": {"a": {"run": TOUCH}}}}
    yield "a script in a loop", "native", native({"l": loop})
    yield "an agent", "native", native({"a": {"agent": "claude", "prompt": TOUCH}})
    yield "a tool server", "native", native({"a": {"ask": "Hello", "tools": ["notes"]}})
    yield "a function", "native", native({"a": {"use": "python:os:system"}})
    for node in ("shell", "script", "function"):
        fields = {"script": TOUCH, "file": "x.sh", "code": "require('child_process')"}
        yield f"a {node} node", "shodan", shodan({"nodeType": node, **fields})
    for runner in ("claude-code", "codex", "gemini-cli"):
        node = {"nodeType": "agent", "runner": runner, "prompt": TOUCH}
        yield f"the runner {runner}", "shodan", shodan(node)
    yield "a shell node", "studio", studio(("shell_exec", {"command": TOUCH}))
    tool = {"toolName": "builtin__shell", "arguments": {"command": TOUCH}}
    yield "the shell as a tool", "studio", studio(("tool", tool))
    code = {"type": "JavaScriptCode", "inputs": {"code": "process.exit()"}}
    yield "code", "loom", loom({"a": code})
    activity = {"type": "activity", "inputs": {"activityType": "os.system", "a": TOUCH}}
    yield "an activity", "loom", loom({"a": activity})


def _structures() -> Iterator[Attack]:
    for about, dialect, text in _shapes():
        yield Attack("structure", dialect, about, text)
    for about, name in attack_words.NAMES.items():
        for dialect in ("native", "mcp-cli", "orka", "shodan"):
            yield Attack("name", dialect, about, named(dialect, name))


def _shapes() -> Iterator[tuple[str, str, str]]:
    yield from _native_shapes()
    yield from _step_shapes()
    yield from _graph_shapes()


def _native_shapes() -> Iterator[tuple[str, str, str]]:
    step: dict[str, Any] = {"value": 1}
    yield "it waits for itself", "native", native({"a": {**step, "after": "a"}})
    yield "a circle", "native", native({"a": {**step, "after": "b"}, "b": {**step, "after": "a"}})
    yield "it calls itself", "native", native({"a": {"call": "x.yaml"}})
    yield "9,000 steps", "native", native({f"s{n}": step for n in range(9_000)})
    deep: dict[str, Any] = {"ask": "Hello"}
    for _ in range(40):
        deep = {"repeat": {"at_most": 1_000, "steps": {"a": deep}}}
    yield "forty loops in each other", "native", native({"a": deep})
    each = {"each": "{{ range(1000000000) }}", "as": "i", "steps": {"a": step}}
    yield "each of a thousand million", "native", native({"l": each})
    million = {"repeat": {"at_most": 10**12, "until": "true", "steps": {"a": step}}}
    yield "at most a million million", "native", native({"l": million})
    retry = {"ask": "Hello", "retry": {"times": 10**9, "wait": "1ms"}}
    yield "a thousand million retries", "native", native({"a": retry})
    keys = "".join(f"k{n}: 1\n" for n in range(100_001))
    yield "a hundred thousand keys", "native", YAML["native"] + keys
    yield "no steps", "native", native({})
    yield "steps that are a text", "native", '{"whorl": 1, "steps": "touch canary"}'
    yield "a budget below nothing", "native", native({"a": step}, budget=-1)
    secret = '{{ env.OPENAI_API_KEY }}{{ secrets.x }}{{ settings }}{{ environ["OPENAI_API_KEY"] }}'
    yield "the key, by every name", "native", native({"a": {"ask": secret}})
    key = {"value": "${OPENAI_API_KEY} $OPENAI_API_KEY"}
    yield "the key in a value", "native", native({"a": key})


def _step_shapes() -> Iterator[tuple[str, str, str]]:
    call = {"name": "l", "workflow": "x", "max_iterations": 3, "until": "It is done"}
    yield "it calls itself", "mcp-cli", mcp_cli({"name": "a", "run": "Hello"}, loops=[call])
    circle = [{"name": a, "run": "x", "needs": [b]} for a, b in ("ab", "ba")]
    yield "needs a circle", "mcp-cli", mcp_cli(*circle)
    below = {"name": "l", "workflow": "part", "max_iterations": -1, "until": "It is done"}
    hello = {"name": "a", "run": "Hello"}
    yield "fewer iterations than none", "mcp-cli", mcp_cli(hello, loops=[below])
    yield "the key by its name", "mcp-cli", mcp_cli({"name": "a", "run": "{{env.OPENAI_API_KEY}}"})
    routes = {"decision_key": "a", "routing_map": {"x": ["b"]}}
    router = {"id": "a", "type": "router", "params": routes}
    yield "an agent that is not there", "orka", orka(router)
    own = {"id": "a", "type": "os.system", "prompt": TOUCH}
    yield "an agent of a type of its own", "orka", orka(own)
    waits = [
        {"id": one, "type": "openai-answer", "prompt": "Hi", "depends_on": [other]}
        for one, other in ("ab", "ba")
    ]
    yield "a circle of agents", "orka", orka(*waits)
    names = [{"id": f"a{n}", "type": "openai-answer", "prompt": "Hi"} for n in range(3_000)]
    yield "three thousand agents", "orka", orka(*names)
    keys = "".join(f"key{n}: &n{n} {n}\n" for n in range(50_000))
    yield "fifty thousand unknown keys with anchors", "orka", keys + YAML["orka"]
    yield "fifty thousand unknown keys", "mcp-cli", keys + YAML["mcp-cli"]
    inputs = "".join(f"  k{n}: &n{n} {n}\n" for n in range(50_000))
    text = f"whorl: 1\ninputs:\n{inputs}steps: {{a: {{value: 1}}}}\n"
    yield "fifty thousand wrong inputs", "native", text
    near = ("".join(letters) for letters in product("orchesta", repeat=6))
    keys = "".join(f"orchst{name}: 1\n" for name in islice(near, 50_000))
    yield "fifty thousand keys that resemble a known one", "orka", keys + YAML["orka"]


def _graph_shapes() -> Iterator[tuple[str, str, str]]:
    node = {"nodeType": "agent", "runner": "one", "prompt": "Hello"}
    edges = ({"source": "n0", "target": "n1"}, {"source": "n1", "target": "n0"})
    yield "a circle", "shodan", shodan(node, node, edges=edges)
    yield "an edge to itself", "shodan", shodan(node, edges=({"source": "n0", "target": "n0"},))
    yield "an edge from nowhere", "shodan", shodan(node, edges=({"source": "z", "target": "n0"},))
    itself = {"nodeType": "component", "workflowPath": "x.yaml"}
    yield "a component that is itself", "shodan", shodan(itself)
    yield "a circle", "studio", studio(("llm", {"prompt": "a"})).replace('"out"', '"n0"')
    yield "loops without an end", "studio", studio(("loop", {"maxIterations": -1}), ("exit", {}))
    yield "nodes that are a text", "studio", '{"nodes": "touch canary", "edges": []}'
    compose: dict[str, Any] = {"type": "compose", "inputs": 1, "runAfter": {"a": ["Succeeded"]}}
    yield "it runs after itself", "loom", loom({"a": compose})
    actions = {f"a{n}": {"type": "compose", "inputs": n} for n in range(4_000)}
    yield "four thousand actions", "loom", loom(actions)
    compose = {"type": "compose", "inputs": "@workflow()?.run?.environment"}
    yield "a variable that is the run itself", "loom", loom({"a": compose})


def _schemas() -> Iterator[Attack]:
    """Schemas that refer to what lies elsewhere."""
    for about, where in (("a file", "file:///etc/passwd"), ("an address", "http://127.0.0.1:9/x")):
        schema: dict[str, Any] = {"$ref": where}
        typed = {"a": {"ask": "Hello", "returns": {"schema": schema}}}
        yield Attack("schema", "native", about, native(typed))
        validator = ("validator", {"schema": json.dumps(schema)})
        yield Attack("schema", "studio", about, studio(validator))
        parse = {"type": "ParseJson", "inputs": {"content": "{}", "schema": schema}}
        yield Attack("schema", "loom", about, loom({"a": parse}))
    node = {"nodeType": "agent", "runner": "one", "prompt": "Hello"}
    outside = json.dumps({"$ref": "http://127.0.0.1:9/x"})
    yield Attack("schema", "shodan", "an address", shodan({**node, "outputSchema": outside}))


def _numbered() -> dict[str, Attack]:
    found = [*_parsers(), *_expressions(), *_outside(), *_schemas(), *_structures()]
    return {
        f"A-{number:03} {one.kind} {one.dialect}: {one.about}": one
        for number, one in enumerate(found, 1)
    }


ATTACKS = _numbered()


def _harmless() -> Iterator[tuple[str, str, str, Any]]:
    """A format, what it looks like, the file, and a part of what it has to give."""
    for about, value, expected in (
        ("braces in a text", "{{ '{{ 7 * 7 }}' }}", "{{ 7 * 7 }}"),
        ("a hundred thousand letters", "{{ ('ab' * 50000) | length }}", 100_000),
        ("ninety levels less than too deep", "{{ '[' * 20 ~ ']' * 20 }}", "[[[["),
        ("many ways", "{{ ('a' * 500) | regex_search('(a+)+$') | length }}", 500),
    ):
        yield "native", about, native({"a": {"value": value}}), expected
    words = "__class__ and __import__('os') are words"
    yield "native", "words of Python", native({"a": {"value": words}}), words
    steps = {"a": {"value": "{{ iteration }}"}}
    loop = {"repeat": {"at_most": 50, "steps": steps}}
    yield "native", "a long loop", native({"l": loop}), 50
    yield "native", "a file of the project", native({"a": {"call": "part.yaml"}}), "part"
    text = YAML["native"].replace("value: 1", 'value: "yes: no # [x] &a *a !t"')
    yield "native", "marks of YAML in quotes", text, "&a *a !t"
    yield "mcp-cli", "percent and braces", asking("mcp-cli", "50 % of {this} and }}"), "ok"
    text = YAML["mcp-cli"] + "steps:\n  - {name: b, run: Again}\n"
    yield "mcp-cli", "two lists of steps", text, "ok"
    yield "orka", "a for loop", asking("orka", "{% for i in range(3) %}{{ i }}{% endfor %}"), "ok"
    node = {"nodeType": "constant", "value": "$(touch canary); `touch canary`"}
    yield "shodan", "a constant like a command", shodan(node), "$(touch canary)"
    yield "studio", "a prompt like SQL", asking("studio", "'; DROP TABLE runs; --"), "ok"
    yield "loom", "an at sign", loom({"a": {"type": "compose", "inputs": "@@me and @{1}"}}), "@me"
    nested: Any = 1
    for _ in range(30):
        nested = [nested]
    yield "loom", "thirty levels", loom({"a": {"type": "compose", "inputs": nested}}), "[[[["


CONTROLS = {
    f"C-{number:02} {dialect}: {about}": (Attack("control", dialect, about, text), expected)
    for number, (dialect, about, text, expected) in enumerate(_harmless(), 1)
}
PART = json.dumps({"whorl": 1, "name": "part", "steps": {"a": {"value": "part"}}})
