"""Every kind of step of the native format, and the fields that all of them have."""

from __future__ import annotations

import pytest
from native_files import EVERYTHING, read, read_step

from whorl import ir
from whorl.dialects import read_workflow


def template(source: str) -> ir.Expression:
    return ir.Expression("template", source)


def expression(source: str) -> ir.Expression:
    return ir.Expression("jinja", source)


def inputs(task: ir.Task) -> dict[str | ir.Expression, ir.Value]:
    return dict(task.inputs.entries)


def test_the_whole_format_is_read() -> None:
    workflow = read_workflow(EVERYTHING, "everything.yaml").workflow

    assert [node.name for node in workflow.body.nodes][:3] == ["plan", "code", "shell"]
    assert len(workflow.body.nodes) == 17
    assert ir.from_json(ir.to_json(workflow)) == workflow


def test_ask() -> None:
    task = read_step(
        '{ask: "Hi {{ x }}", model: [a/b, c/d], system: Be, temperature: 0.1, max_tokens: 5,'
        " tools: [search], session: talk}",
        ir.Task,
    )

    assert task.kind == "ask"
    assert task.session == "talk"
    assert inputs(task) == {
        "prompt": template("Hi {{ x }}"),
        "model": ir.Constant(["a/b", "c/d"]),
        "system": ir.Constant("Be"),
        "temperature": ir.Constant(0.1),
        "max_tokens": ir.Constant(5),
        "tools": ir.Constant(["search"]),
    }


@pytest.mark.parametrize(
    ("returns", "schema"),
    [
        ("boolean", {"type": "boolean"}),
        ("[string]", {"type": "array", "items": {"type": "string"}}),
        (
            "{approved: boolean, note: string?, tags: [string]}",
            {
                "type": "object",
                "properties": {
                    "approved": {"type": "boolean"},
                    "note": {"type": "string"},
                    "tags": {"type": "array", "items": {"type": "string"}},
                },
                "required": ["approved", "tags"],
                "additionalProperties": False,
            },
        ),
        (
            "{kind: {enum: [a, b]}, score?: {type: number, minimum: 0}, in: {deep: any}}",
            {
                "type": "object",
                "properties": {
                    "kind": {"type": "string", "enum": ["a", "b"]},
                    "score": {"type": "number", "minimum": 0},
                    "in": {
                        "type": "object",
                        "properties": {"deep": {}},
                        "required": ["deep"],
                        "additionalProperties": False,
                    },
                },
                "required": ["kind", "in"],
                "additionalProperties": False,
            },
        ),
        (
            "{type: string, description: string?}",
            {
                "type": "object",
                "properties": {"type": {"type": "string"}, "description": {"type": "string"}},
                "required": ["type"],
                "additionalProperties": False,
            },
        ),
        (
            "{note: {type: 'string?', description: why}}",
            {
                "type": "object",
                "properties": {"note": {"type": "string", "description": "why"}},
                "required": [],
                "additionalProperties": False,
            },
        ),
        ("{type: string, description: why}", {"type": "string", "description": "why"}),
        ("{schema: {type: integer, minimum: 1}}", {"type": "integer", "minimum": 1}),
    ],
)
def test_returns_becomes_json_schema(returns: str, schema: object) -> None:
    assert read_step(f"{{ask: Hi, returns: {returns}}}", ir.Task).returns == schema


def test_agent() -> None:
    task = read_step(
        "{agent: codex, prompt: Go, folder: src, session: dev, returns: boolean}", ir.Task
    )

    assert task.kind == "agent"
    assert task.session == "dev"
    assert task.returns == {"type": "boolean"}
    assert inputs(task) == {
        "agent": ir.Constant("codex"),
        "prompt": ir.Constant("Go"),
        "folder": ir.Constant("src"),
    }


def test_run_of_a_list_is_arguments() -> None:
    task = read_step('{run: [ls, "{{ x }}", -1], folder: src, env: {A: b}, stdin: in}', ir.Task)

    assert inputs(task) == {
        "argv": ir.Items((ir.Constant("ls"), template("{{ x }}"), ir.Constant(-1))),
        "folder": ir.Constant("src"),
        "env": ir.Constant({"A": "b"}),
        "stdin": ir.Constant("in"),
    }


def test_run_of_a_text_is_a_script_with_variables() -> None:
    task = read_step("{run: \"echo {{ x }} '{{ y.z }}'\"}", ir.Task)

    assert inputs(task) == {
        "script": ir.Constant("echo \"${WHORL_1}\" ''\"${WHORL_2}\"''"),
        "variables": ir.Fields((("WHORL_1", expression(" x ")), ("WHORL_2", expression(" y.z ")))),
    }


def test_http() -> None:
    task = read_step(
        '{http: {method: PUT, url: "https://a/{{ x }}", headers: {A: b}, query: {q: "{{ x }}"},'
        ' body: {list: [1, "{{ x }}"], c: 2}}}',
        ir.Task,
    )

    assert task.kind == "http"
    assert inputs(task) == {
        "method": ir.Constant("PUT"),
        "url": template("https://a/{{ x }}"),
        "headers": ir.Constant({"A": "b"}),
        "query": ir.Fields((("q", template("{{ x }}")),)),
        "body": ir.Fields(
            (
                ("list", ir.Items((ir.Constant(1), template("{{ x }}")))),
                ("c", ir.Constant(2)),
            )
        ),
    }


def test_http_of_a_text_is_a_url() -> None:
    assert inputs(read_step("{http: https://a}", ir.Task)) == {"url": ir.Constant("https://a")}


def test_use() -> None:
    task = read_step('{use: look, with: {a: "{{ x }}", b: 1}}', ir.Task)

    assert task.kind == "use"
    assert inputs(task) == {
        "task": ir.Constant("look"),
        "with": ir.Fields((("a", template("{{ x }}")), ("b", ir.Constant(1)))),
    }


def test_tasks_say_how_they_are_delivered_and_whether_they_are_secure() -> None:
    task = read_step("{ask: Hi, delivery: at_most_once, secure: true}", ir.Task)

    assert (task.delivery, task.secure) == ("at_most_once", True)


def test_set() -> None:
    assign = read_step('{set: {a1: 1, b1: "{{ x }}"}}', ir.Assign)

    assert assign.sets == (("a1", ir.Constant(1)), ("b1", template("{{ x }}")))


def test_value() -> None:
    compute = read_step('{value: {a: "{{ x }}"}}', ir.Compute)

    assert compute.value == ir.Fields((("a", template("{{ x }}")),))


def test_if_then_else() -> None:
    branch = read_step("{if: x == 'a', then: {t: {value: 1}}, else: {e: {value: 2}}}", ir.Branch)

    assert branch.when is None
    assert branch.cases[0].name == "then"
    assert branch.cases[0].when == expression("x == 'a'")
    assert branch.default is not None
    assert branch.default.name == "else"
    assert branch.cases[0].body.open
    assert [node.name for node in branch.default.body.nodes] == ["e"]


@pytest.mark.parametrize(
    "choose",
    [
        "{on: y.kind, cases: {a: {s1: {value: 1}}, b: {steps: {s2: {value: 2}}}},"
        " default: {s3: {value: 3}}}",
        "{on: y.kind, a: {s1: {value: 1}}, b: {s2: {value: 2}}, default: {s3: {value: 3}}}",
        '{on: "{{ y.kind }}", a: {s1: {value: 1}}, b: {s2: {value: 2}}, default: {s3: {value: 3}}}',
    ],
)
def test_choose_on_a_value(choose: str) -> None:
    branch = read_step(f"{{choose: {choose}}}", ir.Branch)

    assert isinstance(branch.subject, ir.Expression)
    assert "y.kind" in branch.subject.source
    assert [case.name for case in branch.cases] == ["a", "b"]
    assert [case.equals for case in branch.cases] == [ir.Constant("a"), ir.Constant("b")]
    assert branch.default is not None
    assert branch.default.name == "default"
    assert branch.default.body.nodes[0].name == "s3"


def test_choose_by_conditions() -> None:
    branch = read_step("{choose: {cases: {big: {if: y > 3, steps: {s1: {value: 1}}}}}}", ir.Branch)

    assert branch.subject is None
    assert branch.cases[0].when == expression("y > 3")
    assert branch.cases[0].equals is None


def test_each() -> None:
    each = read_step(
        "{each: y.items, as: e, index: n, at_once: 4, steps: {s1: {ask: '{{ e }}{{ n }}'}}}",
        ir.ForEach,
    )

    assert each.items == expression("y.items")
    assert (each.item_name, each.index_name, each.concurrency) == ("e", "n", 4)
    assert not each.body.open


@pytest.mark.parametrize(
    ("written", "items"),
    [
        ("[1, 2]", ir.Constant([1, 2])),
        ('["{{ x }}"]', ir.Items((template("{{ x }}"),))),
        ('"{{ y }}"', template("{{ y }}")),
        ("y", expression("y")),
    ],
)
def test_each_takes_a_list_or_what_gives_one(written: str, items: ir.Value) -> None:
    each = read_step(f"{{each: {written}, steps: {{s1: {{value: 1}}}}}}", ir.ForEach)

    assert each.items == items
    assert each.item_name == "item"
    assert each.concurrency == 1


@pytest.mark.parametrize(
    "together",
    [
        "{together: {l: {value: 1}, r: {value: 2}, t: {value: 3, after: [l, r]}}}",
        "{together: {steps: {l: {value: 1}, r: {value: 2}, t: {value: 3, after: [l, r]}}}}",
        "{together: true, steps: {l: {value: 1}, r: {value: 2}, t: {value: 3, after: [l, r]}}}",
        "{together: , steps: {l: {value: 1}, r: {value: 2}, t: {value: 3, after: [l, r]}}}",
    ],
)
def test_together_has_no_order_but_after(together: str) -> None:
    group = read_step(together, ir.Group)

    assert group.body.open
    assert [node.after for node in group.body.nodes] == [
        (),
        (),
        (ir.After("l"), ir.After("r")),
    ]


@pytest.mark.parametrize(
    ("written", "duration", "until"),
    [
        ("5s", ir.Constant(5.0), None),
        ("PT5S", ir.Constant(5.0), None),
        ("5", ir.Constant(5.0), None),
        ("2030-01-31T09:00:00Z", None, ir.Constant("2030-01-31T09:00:00Z")),
        ('"{{ x }}"', template("{{ x }}"), None),
    ],
)
def test_wait(written: str, duration: ir.Value | None, until: ir.Value | None) -> None:
    wait = read_step(f"{{wait: {written}}}", ir.Wait)

    assert (wait.duration, wait.until) == (duration, until)


def test_approve() -> None:
    gate = read_step(
        '{approve: {message: Good?, show: "{{ x }}", timeout: 1h, on_timeout: reject}}', ir.Gate
    )

    assert gate.message == ir.Constant("Good?")
    assert gate.show == template("{{ x }}")
    assert gate.timeout_s == 3_600
    assert (gate.on_timeout, gate.on_reject) == ("reject", "result")


def test_approve_of_a_text_is_the_question() -> None:
    assert read_step("{approve: Good?}", ir.Gate).message == ir.Constant("Good?")


@pytest.mark.parametrize(
    ("written", "status", "message"),
    [
        ("true", "succeeded", ir.Constant(None)),
        ("", "succeeded", ir.Constant(None)),
        ("enough", "succeeded", ir.Constant("enough")),
        ("{status: failed, message: bad}", "failed", ir.Constant("bad")),
    ],
)
def test_stop(written: str, status: str, message: ir.Value) -> None:
    stop = read_step(f"{{stop: {written}}}", ir.Stop)

    assert (stop.status, stop.message, stop.output) == (status, message, None)


def test_break_and_continue_mean_the_innermost_or_the_named_loop() -> None:
    workflow = read(
        """
        steps:
          outer:
            repeat:
              steps:
                inner:
                  repeat:
                    steps:
                      w: {ask: Hi}
                      b1: {break: true, if: iteration > 1}
                      b2: {break: outer, if: iteration > 2}
                      c1: {continue: , if: iteration > 3}
                c2: {continue: true}
        """
    )
    outer = workflow.body.nodes[0]
    assert isinstance(outer, ir.Loop)
    inner = outer.body.nodes[0]
    assert isinstance(inner, ir.Loop)
    named = [node.loop for node in inner.body.nodes if isinstance(node, ir.Break | ir.Continue)]
    last = outer.body.nodes[1]
    assert isinstance(last, ir.Continue)

    assert named == ["inner", "outer", "inner"]
    assert last.loop == "outer"


def test_steps_wait_for_the_step_before_them() -> None:
    workflow = read("steps: {a: {value: 1}, b: {value: 2}, c: {value: 3}}")

    assert [node.after for node in workflow.body.nodes] == [
        (),
        (ir.After("a", ("passed",)),),
        (ir.After("b", ("passed",)),),
    ]


@pytest.mark.parametrize(
    ("written", "after"),
    [
        ("a", (ir.After("a"),)),
        ("[a]", (ir.After("a"),)),
        ("[]", ()),
        ("{a: failed}", (ir.After("a", ("failed",)),)),
        ("{a: [failed, timed_out]}", (ir.After("a", ("failed", "timed_out")),)),
        (
            "{a: any}",
            (ir.After("a", ("succeeded", "failed", "skipped", "timed_out", "cancelled")),),
        ),
    ],
)
def test_after_replaces_the_order(written: str, after: tuple[ir.After, ...]) -> None:
    assert read_step(f"{{value: 1, after: {written}}}", ir.Compute).after == after


@pytest.mark.parametrize(
    ("written", "when"),
    [("x == 'a'", "x == 'a'"), ('"{{ x }}"', "{{ x }}"), ("true", "true"), ("false", "false")],
)
def test_if_skips_a_step(written: str, when: str) -> None:
    assert read_step(f"{{value: 1, if: {written}}}", ir.Compute).when == expression(when)


@pytest.mark.parametrize(
    ("written", "retry"),
    [
        ("retry: 2", ir.Retry(2)),
        ("retry: 0", ir.Retry(0)),
        (
            "retry: {times: 3, wait: 5s, backoff: 1.5, on: [timeout, 429]}",
            ir.Retry(3, wait_s=5.0, backoff=1.5, on=("timeout", "429")),
        ),
        ("retry: {times: 1, wait: 2m}", ir.Retry(1, wait_s=120.0, wait_max_s=120.0)),
        (
            "retry: {times: 1, wait_max: 10s, on: timeout}",
            ir.Retry(1, wait_max_s=10.0, on=("timeout",)),
        ),
        ("retry: {times: 0}", ir.Retry(0)),
        ("on_failure: {retry: 4}", ir.Retry(4, on=("*",))),
        ("on_failure: {retry: 0}", ir.Retry(0, on=("*",))),
    ],
)
def test_retry(written: str, retry: ir.Retry | None) -> None:
    assert read_step(f"{{ask: Hi, {written}}}", ir.Task).retry == retry


def test_timeout_and_on_failure() -> None:
    task = read_step("{ask: Hi, timeout: 2m, on_failure: continue}", ir.Task)

    assert (task.timeout_s, task.on_failure) == (120.0, "continue")


def test_steps_know_where_they_stand() -> None:
    assert read_step("{ask: Hi}", ir.Task).place == "5:3"


def test_names_with_a_dash_are_read_by_results() -> None:
    workflow = read("steps: {first-draft: {ask: Hi}, b: {ask: \"{{ results['first-draft'] }}\"}}")

    assert workflow.body.nodes[0].name == "first-draft"
