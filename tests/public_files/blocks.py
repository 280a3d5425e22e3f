"""Completes blocks of documentation: pieces of files that leave out what their readers know.

What is added is the least that makes a file of a block: a head, the agents, steps and workflows
that it only names, and fields that it leaves to the reader. What it says itself stays.
"""

from __future__ import annotations

import re
from typing import Any

import yaml

HEAD = '$schema: "workflow/v2.0"\nname: block\nversion: 1.0.0\nexecution: {provider: a, model: b}\n'
STUB = 'steps:\n  - {name: only, run: "Go on with {{input}}"}\n'
WORKFLOW = HEAD.replace("block", "{name}") + STUB
_UNTIL = re.compile(r'^until: (".*?")', re.MULTILINE)
_TYPES = (
    ("graphscout|proposer|architect", "graph-scout"),
    ("executor", "path_executor"),
    ("validator", "plan_validator"),
    ("memory", "memory"),
    ("", "openai-answer"),
)
SCORED = {"score_extraction_pattern": r"SCORE:\s*([0-9.]+)"}
SCORER = {"id": "rater", "type": "openai-answer", "prompt": "Rate {{ get_past_loops() | length }}"}


# What blocks of definitions leave to the reader: actions, a limit, who sets what a loop waits for.
_LEFT_OUT = re.compile(r'"(\w+)": \{ \.\.\. \}')
_SET = '{"type": "setVariable", "name": "%s", "value": %s}'
_PIECES = {
    "actions": '{"work": ' + _SET % ("result", '"success"') + "}",
    "limit": '{"count": 5}',
    "processResult": _SET % ("status", '"complete"'),
    "processItem": _SET % ("page", "null"),
}
_AGENT = '"observe": {'
_AGENT_DONE = '"finish": ' + _SET % ("agentStatus", "\"@body('think').action\"") + ", "


def complete_actions(text: str) -> str:
    """A block of a definition with all its actions."""
    compose = '{"type": "compose", "inputs": 1}'
    whole = _LEFT_OUT.sub(lambda found: f'"{found[1]}": {_PIECES.get(found[1], compose)}', text)
    if "agentStatus" in whole:
        whole = whole.replace(_AGENT, _AGENT_DONE + _AGENT)
    return whole


def complete_steps(text: str) -> str:
    """A block of steps and loops as a whole file."""
    conditions = _UNTIL.findall(text)
    if conditions:
        # Each of the conditions that it shows ends a loop.
        rows = (
            f"  - {{name: l{at}, workflow: work, max_iterations: 5, until: {condition}}}\n"
            for at, condition in enumerate(conditions)
        )
        return HEAD + "loops:\n" + "".join(rows)
    if text.lstrip().startswith("- name:"):
        text = "steps:\n" + re.sub("^", "  ", text, flags=re.MULTILINE)
    if re.search("^loop:", text, re.MULTILINE):
        # A loop alone is one of a step; steps behind it are those of the workflow that it calls.
        loop = text.partition("# Child")[0]
        inner = re.sub("^", "    ", loop, flags=re.MULTILINE)
        text = f"env: {{items_json: '[1, 2]'}}\nsteps:\n  - name: go\n{inner}\n"
    text = re.sub(r"^(  - )(workflow|consensus):", r"\1name: \2_1\n    \2:", text, flags=re.M)
    if "executions:" not in text:
        text = re.sub(r"^(      )(require: unanimous)$", _with_voters, text, flags=re.M)
    text = re.sub(r"^  - name: (\w+)\n(    needs: .*\n)?(?!    )", _with_prompt, text, flags=re.M)
    text = _with_limits(text)
    if "$schema" not in text:
        own = "execution:" in text
        text = (HEAD.rpartition("execution:")[0] if own else HEAD) + text
    return text + _missing_steps(text)


def _with_voters(found: re.Match[str]) -> str:
    voters = f"{found[1]}executions: [{{provider: a, model: b}}, {{provider: c, model: d}}]\n"
    return voters + found[0]


def _with_prompt(found: re.Match[str]) -> str:
    return f"  - name: {found[1]}\n{found[2] or ''}    run: Go\n"


def _with_limits(text: str) -> str:
    """Loops that say no limit get one behind the workflow that they call."""
    lines = text.split("\n")
    made: list[str] = []
    for at, line in enumerate(lines):
        made.append(line)
        called = re.match(r"( +)(?:- )?workflow: ", line)
        if called is None:
            continue
        indent = line.index("workflow")
        around = [*_beside(lines, at, 1, indent), *_beside(lines, at, -1, indent)]
        if not any("max_iterations:" in other for other in around):
            made.append(f"{' ' * indent}max_iterations: 5")
    return "\n".join(made)


def _beside(lines: list[str], at: int, step: int, indent: int) -> list[str]:
    """The lines of the same object before or behind a line."""
    found: list[str] = []
    at += step
    while 0 <= at < len(lines):
        line = lines[at]
        depth = len(line) - len(line.lstrip())
        is_new = line.lstrip().startswith("- ") and depth == indent - 2
        if line.strip() and (depth < indent - 2 or (step > 0 and is_new)):
            break
        found.append(line)
        if is_new:
            break
        at += step
    return found


def _missing_steps(text: str) -> str:
    """Steps that others need or mention, and that the block leaves out."""
    known = set(re.findall(r"name: ([\w-]+)", text))
    needed = {n.strip() for part in re.findall(r"needs: \[(.*?)\]", text) for n in part.split(",")}
    needed |= set(re.findall(r"\{\{step\.(\w+)", text))
    rows = (f"  - {{name: {name}, run: 'List it'}}\n" for name in sorted(needed - known))
    extra = "".join(rows)
    return f"\nsteps:\n{extra}" if extra else ""


def complete_agents(text: str) -> str:
    """A block of agents as a whole file."""
    # A block that was cut too late holds the prose behind it.
    document: Any = yaml.load(text.partition("\n## ")[0], yaml.CSafeLoader)
    if isinstance(document, list):
        document = {"agents": document}
    _complete_section(document, [])
    return yaml.safe_dump(document, sort_keys=False)


def _complete_section(section: dict[str, Any], around: list[str]) -> None:
    agents = [_agent(agent) for agent in section.get("agents") or []]
    names: list[str] = []
    for agent in agents:
        if agent["id"] in names:
            agent["id"] += "_2"
        names.append(agent["id"])
    wanted = [*section.get("orchestrator", {}).get("agents", [])]
    for agent in agents:
        wanted += [name for branch in agent.get("targets", []) for name in branch]
        routes = agent.get("params", {}).get("routing_map", {})
        wanted += [name for targets in routes.values() for name in targets]
    missing = dict.fromkeys(n for n in wanted if n not in names and n not in around)
    agents += [_agent(name) for name in missing]
    loops = [agent for agent in agents if agent["type"] == "loop"]
    for agent in agents:
        if agent["type"] == "path_executor" and "path_source" not in agent:
            agent["path_source"] = loops[0]["id"]
    for loop in loops:
        _complete_loop(loop, [*around, *(agent["id"] for agent in agents)])
    section["agents"] = agents


def _agent(written: Any) -> dict[str, Any]:
    """An agent with a type, by what its name says."""
    agent = {"id": written} if isinstance(written, str) else dict(written)
    if "type" not in agent:
        agent["type"] = next(kind for words, kind in _TYPES if re.search(words, agent["id"]))
    if agent["type"] not in ("loop", "fork", "join", "router", "failover", "path_executor"):
        agent.setdefault("prompt", "Work on {{ input }}")
    return agent


def _complete_loop(loop: dict[str, Any], around: list[str]) -> None:
    inner = loop.get("internal_workflow") or {"agents": [dict(SCORER)]}
    loop["internal_workflow"] = inner
    _complete_section(inner, around)
    scores = ("scoring", "score_extraction_pattern", "score_extraction_config")
    validates = any("validator" in str(agent["type"]) for agent in inner["agents"])
    if not validates and not any(name in loop for name in scores):
        loop |= SCORED
