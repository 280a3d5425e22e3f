"""Twenty mistakes that new users make, and the advice that leads on.

Each row: a change of a good file (old text, new text), the command, and parts of its message.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from command_line import Whorl

NAME = """\
whorl: 1
name: name
inputs:
  product: string
  audience: {type: string, default: parents}
steps:
  naming:
    repeat:
      until: check.good
      at_most: {iterations: 5, cost: 0.05}
      carry: {advice: "{{ check.advice }}"}
      steps:
        idea: {ask: "Find a name for {{ product }} for {{ audience }}. {{ advice | default('') }}"}
        check:
          ask: "Is this a good name for {{ product }}? {{ idea }}"
          returns: {good: boolean, advice: string}
outputs: {name: "{{ naming.idea }}"}
"""
VALIDATE = "validate name.yaml"
MISTAKES = [
    ("product: string", "product: str", VALIDATE, ["must be a type", "did you mean 'string'?"]),
    ("product: string", "product: list[string]", VALIDATE, ["did you mean 'list'?"]),
    ("type: string,", "type: dict,", VALIDATE, ["must be a type", "did you mean 'json'?"]),
    ("good: boolean", "good: bool", VALIDATE, ["must be a type", "did you mean 'boolean'?"]),
    ("advice: string}", "advice: 'list[str]'}", VALIDATE, ["write [string]"]),
    ("at_most: {iterations: 5, cost: 0.05}", "max_iterations: 5", VALIDATE,
     ["loop 'naming' has no field 'max_iterations'", "did you mean 'at_most'?"]),
    ("at_most: {iterations: 5, cost: 0.05}", "limit: 5", VALIDATE, ["did you mean 'at_most'?"]),
    ("cost: 0.05", "cost: $0.05", VALIDATE, ["must be a number from 0", "write 0.05"]),
    ("idea: {ask:", "idea: {prompt:", VALIDATE,
     ["step 'idea' has no field 'prompt'", "did you mean 'ask'?"]),
    ("until:", "untill:", VALIDATE, ["has no field 'untill'", "did you mean 'until'?"]),
    ("until: check.good", "until: check.good = true", VALIDATE,
     ["unexpected '='", "to compare, write `a == b`"]),
    ("until: check.good", "until: check.good && true", VALIDATE, ["write `and` instead of `&&`"]),
    ("until: check.good", "until: '!check.bad || check.good'", VALIDATE,
     ["write `not x` instead of `!x`"]),
    ("until: check.good", "until: check.good != null", VALIDATE,
     ["unknown name 'null'", "write none"]),
    ("{{ naming.idea }}", "{{ idea }}", VALIDATE, ["unknown name 'idea'", "write naming.idea"]),
    ("{{ product }} for {{", "{{ product for {{", VALIDATE, ["'{{' is not closed by '}}'"]),
    ("default('')", "defualt('')", VALIDATE, ["unknown filter 'defualt'", "'default'"]),
    ("whorl: 1\n", "", VALIDATE,
     ["this is not a workflow file that Whorl knows", "add `whorl: 1` as the first line"]),
    ("  naming:", "  loop:", VALIDATE, ["'loop' is a reserved name", "'my_loop'"]),
    ("product: string", "product: string", "run name.yaml -i prodct=pram",
     ["has no input 'prodct'", "did you mean 'product'?"]),
]  # fmt: skip


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda mistake: mistake[1].strip() or mistake[0])
def test_a_message_leads_on(
    whorl: Whorl, project: Path, mistake: tuple[str, str, str, list[str]]
) -> None:
    old, new, command, words = mistake
    assert old in NAME
    (project / "name.yaml").write_text(NAME.replace(old, new))

    whorl(command).ends(2, "error[", *words)
