"""Any bytes give a workflow or InvalidWorkflow, nothing else."""

from __future__ import annotations

import json
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from campaign import amount
from fuzzing import changed, outcome, paths
from whorl.dialects import read_workflow

pytestmark = pytest.mark.threat(row="T16")

EVERYTHING: dict[str, Any] = yaml.safe_load(r"""
parameters:
  p: {type: string, defaultValue: d}
triggers:
  manual: {type: Request, inputs: {schema: {properties: {q: {}}}}}
staticResults:
  S: {status: Failed, outputs: {statusCode: 500}}
actions:
  init: {type: InitializeVariable, inputs: {variables: [{name: n, type: integer}]}}
  set: {type: setVariable, name: v, value: "@{variables('n')}"}
  dec: {type: DecrementVariable, inputs: {name: n, value: "@int('1')"}}
  text: {type: AppendToStringVariable, inputs: {name: t, value: "@{1}"}}
  call: {type: http, inputs: {method: GET, uri: "@{1}", headers: {}, queries: {}},
    retry: {type: exponential, count: 2, interval: PT1S, "on": ["500"]},
    runtimeConfiguration: {staticResult: {name: S}}, limit: {timeout: PT5S}}
  again: {type: retry, action: {type: actor, inputs: {actorType: "@{1}", input: 1}},
    retryPolicy: {type: fixed, count: 1}}
  ask: {type: ai, inputs: {prompt: "@{1}", context: "@createArray(1)"}}
  do: {type: activity, inputs: {activityType: a, b: 1}}
  wait: {type: wait, inputs: {interval: {count: "@int('1')", unit: second}}}
  if: {type: if, condition: {and: [{equals: ["@variables('n')", 1]}, {not: {empty: ["@{1}"]}}]},
    then: {type: terminate, inputs: {runStatus: Failed}}, else: {actions: {x: {type: compose,
    inputs: {"@{1}": ["@variables('n')", {a: null}]}}}}}
  switch: {type: switch, "on": "@body('do')", cases: {A: {type: compose, inputs: 1}, B: {case: 2,
    actions: {}}}, default: {actions: {}}}
  each: {type: foreach, foreach: "@createArray(1)", actions: {y: {type: response,
    inputs: {body: "@items('each')"}}}, runtimeConfiguration: {concurrency: {repetitions: 3}}}
  both: {type: parallel, actions: {z: {type: scope, actions: {}}}}
  loop: {type: until, name: outer, condition: "@equals(variables('loopIndex'), 3)",
    actions: {again2: {type: while, condition: true, actions: {}}}, limit: {count: "@int('5')",
    timeout: PT1H}, delay: {interval: {count: 1, unit: second}}}
  azure: {type: Until, expression: "@equals(1, 1)", actions: {}, runAfter: {}}
  parse: {type: ParseJson, inputs: {content: "@{1}", schema: {}}}
  query: {type: Query, inputs: {from: "@createArray(1)", where: "@true"}}
  select: {type: Select, inputs: {from: [1], select: {a: "@item()"}}}
  join: {type: Join, inputs: {from: [1], joinWith: ","}}
  table: {type: Table, inputs: {format: CSV, from: [], columns: [{header: h, value: 1}]}}
  now: {type: Expression, kind: GetPastTime, inputs: {interval: 1, timeUnit: Day}}
  mail: {type: ApiConnection, inputs: {}, runAfter: {now: [Failed]}}
outputs:
  o: {type: string, value: "@outputs('x')"}
""")
SCALARS: list[Any] = [
    *(None, True, 0, -1, 1.5, 10**18, "", "x", "@", "@@", "@{", "@{1}", "@add(1", "PT5S", "[x()]"),
    *({}, [], [1], {"a": 1}, {"type": "compose"}, "@variables('n')", "until", "Succeeded"),
    *("@item()", "@body('do')", "@outputs('nope')", "@result('each')", "@items('each')"),
    *("@iterationIndexes('outer')", "@variables('outer_loopIndex')", "@parameters('q')"),
]


PLACES = paths(EVERYTHING)


def test_everything_is_read() -> None:
    reading = read_workflow(json.dumps(EVERYTHING), "main.json")

    assert len(reading.workflow.body.nodes) == len(EVERYTHING["actions"])


@pytest.mark.slow
def test_each_part_may_be_missing() -> None:
    for path in PLACES:
        outcome(json.dumps(changed(EVERYTHING, path)), "main.json")


@pytest.mark.slow
@pytest.mark.campaign
@settings(max_examples=amount(100, 800), deadline=None, suppress_health_check=list(HealthCheck))
@given(st.sampled_from(PLACES), st.sampled_from(SCALARS))
def test_each_part_may_be_anything(path: tuple[Any, ...], value: Any) -> None:
    outcome(json.dumps(changed(EVERYTHING, path, value)), "main.json")
