"""Files of mcp-cli: what they can say comes back, and the rest is listed."""

from __future__ import annotations

import pytest

from whorl.dialects import read_workflow
from whorl.dialects.writing import read_again, write_workflow

SAYABLE = """
whorl: 1
name: refine
inputs:
  input: {type: string, default: ""}
model: openai/gpt-5-mini
steps:
  plan: {ask: "Plan {{ input }}", tools: [files], max_turns: 4}
  go:
    repeat:
      until: {judge: The text says DONE}
      at_most: {iterations: 3, time: 10m, each_time: 1m}
      on_failure: {retry: 2}
      steps:
        write: {ask: "Write {{ plan }}, round {{ iteration }}: {{ previous.review }}"}
        review: {ask: "Review {{ write }}", temperature: 0.5, model: local}
  output:
    ask: "Sum up {{ go.review }}"
    if: plan != 'no'
    timeout: 90s
    retry: {times: 2, on: '*'}
"""


def test_prompts_and_judged_loops_are_written() -> None:
    workflow = read_workflow(SAYABLE, "refine.yaml").workflow
    written = write_workflow(workflow, "mcp-cli", "refine.yaml")

    assert [loss.words() for loss in written.losses] == []
    assert (
        written.text
        == """$schema: workflow/v2.0
name: refine
execution:
  provider: openai
  model: gpt-5-mini
steps:
  - name: plan
    run: Plan {{input}}
    servers: [files]
    max_iterations: 4
  - name: go
    loop:
      workflow: refine-go
      with:
        plan: "{{plan}}"
      until: The text says DONE
      max_iterations: 3
      timeout_per_item: 1m
      total_timeout: 10m
      on_failure: retry
      max_retries: 2
  - name: output
    run: Sum up {{go}}
    if: "{{plan}} != 'no'"
    timeout: 1m30s
    on_failure: retry
    max_retries: 2
"""
    )
    assert (
        written.files["refine-go.yaml"]
        == """$schema: workflow/v2.0
name: go
execution:
  provider: openai
  model: gpt-5-mini
steps:
  - name: write
    run: "Write {{plan}}, round {{loop.iteration}}: {{loop.last.output}}"
  - name: review
    run: Review {{write}}
    model: local
    temperature: 0.5
"""
    )
    assert read_again(written, "mcp-cli").workflow.name == "refine"


LOST = {
    "the outputs 'text'": "steps: {a: {ask: x}}\noutputs: {text: '{{ a }}'}",
    "a loop that no condition ends": (
        "steps: {output: {repeat: {at_most: 2, steps: {a: {ask: x}}}}}"
    ),
    "a loop that an expression ends": (
        "steps: {output: {repeat: {until: a == 'x', steps: {a: {ask: x}}}}}"
    ),
    "'cost' of the limits of a loop": (
        "steps: {output: {repeat: {until: {judge: q}, at_most: {cost: 1}, steps: {a: {ask: x}}}}}"
    ),
    "'carry' of a loop": (
        "steps: {output: {repeat: {until: {judge: q}, carry: {b: '{{a}}'}, steps: {a: {ask: x}}}}}"
    ),
    "a step of kind 'http'": "steps: {output: {http: 'https://example.com'}}",
    "a step of kind 'compute'": "steps: {output: {value: 1}}",
    "'returns' of a task": "steps: {output: {ask: x, returns: {a: string}}}",
    "the input 'system' of a prompt": "steps: {output: {ask: x, system: y}}",
    "a value that is computed": "steps: {a: {ask: x}, output: {ask: '{{ a | upper }}'}}",
    "the input 'task'": "inputs: {task: string}\nsteps: {output: {ask: '{{ task }}'}}",
    "an order of its own": "steps: {a: {ask: x}, output: {ask: y, after: []}}",
    "a condition that compares nothing": "steps: {a: {ask: x}, output: {ask: y, if: a}}",
    "how it is retried": "steps: {output: {ask: x, retry: 2}}",
    "a step that is tried once": "steps: {output: {ask: x, retry: 0}}",
    "braces stand for variables": "steps: {output: {ask: '{% raw %}{{ x }}{% endraw %}'}}",
    "'limits' of a workflow": "budget: 2\nsteps: {output: {ask: x}}",
}


@pytest.mark.parametrize("words", LOST)
def test_what_cannot_be_said_is_listed(words: str) -> None:
    workflow = read_workflow(f"whorl: 1\n{LOST[words]}\n", "a.yaml").workflow
    losses = [loss.words("a.yaml") for loss in write_workflow(workflow, "mcp-cli").losses]

    assert any(words in loss for loss in losses), losses
