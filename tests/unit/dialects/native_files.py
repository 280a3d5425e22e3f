"""Short ways to read native files in tests."""

from __future__ import annotations

from textwrap import dedent
from typing import TypeVar

from whorl import ir
from whorl.dialects import read_workflow

N = TypeVar("N")

EVERYTHING = """\
whorl: 1
name: everything
description: uses every part of the format
inputs:
  task: string
  tone: string?
  count: {type: integer, default: 3, description: how many}
model: [openai/gpt-5-mini, anthropic/claude]
system: "You write about {{ task }}"
budget: {cost: 2.00, tokens: 1m, calls: 500, time: 1h}
steps:
  plan:
    ask: "Plan {{ task }}"
    temperature: 0.2
    max_tokens: 500
    tools: [search]
    returns: {points: [string], kind: {enum: [short, long]}}
  code: {agent: codex, prompt: "Do {{ plan.points[0] }}", folder: src, session: dev}
  shell: {run: "echo {{ task }}", env: {A: "1"}, stdin: "{{ plan }}", timeout: 10s}
  list: {run: [ls, "{{ task }}"], delivery: at_most_once}
  get:
    http: {method: POST, url: "https://example.com/{{ task }}", body: {a: ["{{ count }}"]}}
    retry: {times: 3, wait: 2s, backoff: 3, on: [timeout, 429]}
  lookup: {use: lookup, with: {word: "{{ task }}"}}
  keep: {set: {total: 0, text: "{{ plan.kind }}"}}
  sum: {value: "{{ total + 1 }}", if: total is defined}
  decide:
    if: sum > 1
    then: {yes: {value: 1}}
    else: {steps: {no: {value: 2}}}
  triage:
    choose:
      on: plan.kind
      cases:
        short: {brief: {ask: "short"}}
        long: {full: {ask: "long"}}
      default: {odd: {value: odd}}
  all:
    each: plan.points
    as: point
    at_once: 4
    steps: {one: {ask: "Point {{ point }}"}}
  both:
    together:
      left: {value: 1}
      right: {value: 2}
      after_left: {value: "{{ left }}", after: left}
  pause: {wait: 5s}
  later: {wait: 2030-01-31T09:00:00Z}
  okay: {approve: {message: "Good?", show: "{{ all }}", timeout: 1h}, after: {pause: any}}
  polish:
    after: okay
    repeat:
      until:
        - review.approved
        - score: {from: review.score, at_least: 0.95, low: 0, high: 1}
        - judge: {question: "No open points?", model: openai/x, votes: 3, of: write}
        - stable: {threshold: 0.9, of: "{{ write }}"}
        - plateau: {patience: 2, min_delta: 0.01}
        - branch: {route: true}
        - {all: [iteration > 2, {any: [review.approved, {judge: "Enough?"}]}]}
      check: after
      at_most: {iterations: 5, time: 10m, each_time: 2m, cost: 0.50, tokens: 100k}
      on_limit: pause
      carry:
        feedback: "{{ review.feedback }}"
        hint: {first: "{{ tone }}", then: "{{ previous.review.feedback }}"}
      return: best
      on_failure: {retry: 2}
      wait: 2s
      ask_person: at_limit
      collect: {drafts: {all: "{{ write }}"}, top: {best: "{{ write }}"}}
      memory: {keep: 20, across_runs: true, record: {score: "{{ review.score }}"}}
      session: continue
      steps:
        write:
          ask: "Write {{ task }} ({{ iteration }}). {{ feedback | default('none') }} {{ hint }}"
        review:
          ask: "Review: {{ write }}, {{ best }}, {{ history | length }}, {{ past }}, {{ person }}"
          returns: {approved: boolean, feedback: string, score: number}
        route:
          choose:
            on: review.approved
            cases: {"true": {done: {continue: true}}}
            default: {more: {value: 1}}
        leave: {break: polish, if: iteration > 3}
  finish:
    stop: {status: succeeded, message: "{{ polish.write }}", output: "{{ polish.drafts }}"}
    if: false
outputs:
  text: "{{ polish.write }}"
  rounds: "{{ polish.loop.iterations }}"
"""


def template(source: str) -> ir.Expression:
    return ir.Expression("template", source)


def read(text: str, file: str = "test.yaml") -> ir.Workflow:
    """Reads a native file without its first line."""
    return read_workflow(f"whorl: 1\n{dedent(text)}", file).workflow


def read_step(step: str, kind: type[N]) -> N:
    """Reads a file with one step, `s`, given as flow YAML, behind a step `a` and inputs x, y."""
    workflow = read(f"inputs: {{x: string, y: json}}\nsteps:\n  a: {{value: 1}}\n  s: {step}\n")
    node = workflow.body.nodes[1]
    assert isinstance(node, kind)
    return node


def read_loop(fields: str) -> ir.Loop:
    """Reads a file with one loop, given its fields as lines."""
    lines = "\n".join(f"      {line}" for line in dedent(fields).strip("\n").splitlines())
    text = f"inputs: {{x: string}}\nsteps:\n  l:\n    repeat:\n{lines}\n"
    if "steps:" not in fields:
        text += "      steps: {w: {ask: Write, returns: json}, r: {ask: Rate, returns: json}}\n"
    loop = read(text).body.nodes[0]
    assert isinstance(loop, ir.Loop)
    return loop
