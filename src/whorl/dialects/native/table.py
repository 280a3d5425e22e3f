"""The native format as one table: the rows that describe its fields, those of each section."""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import fields as attributes_of
from typing import TYPE_CHECKING, Any

from whorl.dialects.native import forms
from whorl.ir.nodes import ITERATIONS_MAX

if TYPE_CHECKING:
    from collections.abc import Mapping


# The native format as one table: every field with what it holds, what it says of the IR, a line.
#
# A row has a field (`*`: required, `~`: only converted files need it, `^`: not written), the name
# of its form, the attribute of the IR (`=`: of the same name, `*`: several), and a line about it.
# Rows such as `retry.times` belong to a section of their own, which is where it is needed.

TABLE = """
[file]
whorl*             whole 1 1  format  the version of the format: 1
name               label     =  what it is called; default: the name of the file
description        text      =  what the workflow does, for its readers
~dialect           dialect   =  the format that it was converted from
~expressions       library   =  the functions of its expressions; {expr: ..., in: ..., library:
    ...} is an expression of another kind, {literal: ...} a plain value, and names may be any texts
inputs             inputs    =  what a run is given, by name; a ? after the type makes it optional
~main_input        text      =  the input that a run is given without a name
model              model     inputs.model  the default for all steps: provider/model; in a
    list, the next one is used when one fails
system             template  inputs.system  the default system prompt of all `ask` steps
~defaults          defaults  =  inputs that tasks have by default, by their kind
budget             budget    limits  dollars for the whole run, or {cost, tokens, calls, time}
~variables         sets      =  variables of the run with their first values
steps*             steps     body  the steps by name, in this order
~block             block     *  how its steps run together
outputs            outputs   =  what a run gives back, by name; default: the result of the last step
~hidden_outputs    texts     =  outputs that are not shown to people
~early_outputs     texts     =  outputs that a failed run has, too
~trigger           trigger   =  what starts it other than people, and by which rules
workflows          workflows  =  workflows that steps of this file call by these names
trigger.name*      text      =  what it is called
input.type         type      =  string, number, integer, boolean, json, list, file, files, any, or
    secret: a text that is never shown, and is stored only encrypted
input.default      raw       =  the value if none is given
input.required     truth     =  whether it must be given
input.description  text      =  what the input is for
input.secret       truth     =  whether its value is never shown; default: as the type says
budget.cost        number 0 1000000  cost_usd  dollars
budget.tokens      count     =  tokens, read and written
budget.calls       count     =  calls of models, agents, commands, web services and tasks
budget.time        duration  time_s  how long the run may take

[step]
after              after       =       the steps that it waits for, instead of the order of the file
if                 expression  when    the step is skipped if this is false
retry              retry       =       how often and when it is tried again after a failure
timeout            duration    timeout_s  the longest time that one attempt may take
on_failure         on_failure  *       halt (default), continue, or {retry: n}
description        text        =       what the step does, for its readers
~secure_outputs    truth       =       hides its outputs
retry.times*       whole 0 100  =      how often it is tried again
retry.wait         duration    wait_s  before the first new try; default 1s
retry.backoff      number 1 100  =     each wait is this much longer; default 2
retry.wait_max     duration    wait_max_s  the longest wait; default 60s
retry.on           codes       =       error codes, HTTP statuses or words such as timeout; '*'
    means every fault
on_failure.retry*  whole 0 100  times  how often it is tried again

[task]
delivery         one of at_least_once at_most_once ask  =  whether a call that a crash left in doubt
    is repeated, fails, or a person decides
secure           truth   =         hides its inputs and outputs
~secure_outputs  truth   =         hides its outputs; default: as `secure` says
~inputs          fields  inputs.*  inputs that have no field of their own

[ask: asks a model]
ask*         prompt       inputs.prompt  the prompt, or {file: a file that contains it}
system       prompt       inputs.system  the system prompt
model        model        inputs.model  provider/model; in a list, the next one is
    used when one fails
returns      returns      =  a typed answer, which is checked; its fields are read as step.field
strict       truth        inputs.strict  whether a field that `returns` does not name is refused;
    by default it is left out of the result
temperature  number 0 10  inputs.temperature  how freely the model chooses its words
top_p        number 0 1   inputs.top_p  the share of the most likely words that it chooses from
max_tokens   whole 1 10000000  inputs.max_tokens  the longest answer
max_turns    whole 1 100  inputs.max_turns  how many turns it may take with tools; default 10
images       paths        inputs.images  files of the project that the model looks at: a path or
    several; PNG, JPEG, GIF or WebP
files        paths        inputs.files  files that the model reads: images, PDF, or texts
tools        servers      inputs.tools  MCP servers and tasks that the model may use, by name
session      name         =  steps with the same session continue one conversation
~provider    value        inputs.provider  the provider of the model
~model_url   value        inputs.model_url  the address of the model server
~messages    value        inputs.messages  messages before the prompt

[agent: runs an agent program]
agent*   template  inputs.agent  claude-code, codex, gemini or a configured one
prompt*  prompt    inputs.prompt  what it is asked to do, or {file: a file that contains it}
system   prompt    inputs.system  the system prompt
model    model     inputs.model  provider/model; in a list, the next one is
    used when one fails
returns  returns   =             a typed answer, which is checked; its fields are read as step.field
strict   truth     inputs.strict  whether a field that `returns` does not name is refused;
    by default it is left out of the result
folder   template  inputs.folder  where it works, relative to the project
tools    tools     inputs.tools  tools that it may use
session  name      =             steps with the same session continue one conversation

[run: runs a command, if the operator allows it; result: stdout, stderr, exit_code]
run*    command   *              the command as a list, or a text for the shell
folder  template  inputs.folder  where it runs, relative to the project
env     env       inputs.env     variables of its environment
stdin   value     inputs.stdin   what it reads from standard input
check   truth     inputs.check   whether an exit code other than 0 is a failure; by default it is,
    unless an expression of the file reads the step's exit_code

[http: calls a URL; result: status, headers, body]
http*            request   *               a URL, or {method, url, headers, query, body, key}
request.method   template  inputs.method   default GET
request.url*     template  inputs.url      the address
request.headers  headers   inputs.headers  by name
request.query    query     inputs.query    by name
request.body     value     inputs.body     a text, or a value that is sent as JSON
request.key      name      inputs.key      the name of one of the operator's [keys]; it is
    sent only to its own host
request.accept_status  value  inputs.accept_status  statuses that are results, too: 404, 4xx, any
request.~auth    value     inputs.auth     how the request is authenticated
request.~poll    value     inputs.poll     whether it asks again after a 202
request.~hide_reply  value  inputs.hide_reply  hides the reply
request.~inputs  fields    inputs.*        inputs that have no field of their own

[read: reads a file of the project; result: path, size, content]
read*  template  inputs.path  the file, relative to the project
as     one of text json csv binary  inputs.mode  what the content is: a text (default), JSON, rows
    of CSV, or base64

[write: writes a file, if the operator allows it; result: path, size]
write*    template  inputs.path  the file, relative to the project
content*  value     inputs.content  what is written; a value that is not a text is written as JSON
as        one of text json csv binary  inputs.mode  what the content is: a text (default), JSON,
    rows for CSV, or base64
how       one of overwrite append create  inputs.write  if the file exists: replace it (default),
    add to its end, or fail

[prompt]
file*  reference  =  the file, relative to the folder of this one

[use: uses a task by name from the operator's configuration or a plugin]
use*     task_name  inputs.task  the name of the task
with     fields     inputs.with  its inputs by name
returns  returns    =            a typed answer, which is checked; its fields are read as step.field

[~task: does work of any kind (in converted files)]
task*            any_task  *  {kind, inputs}
returns          returns   =  a typed answer, which is checked; its fields are read as step.field
session          name      =  steps with the same session continue one conversation
any_task.kind*   name      =  the kind of the task
any_task.inputs  fields    =  its inputs

[call: runs another workflow file, which sees only `with`]
call*  called  workflow  the file, or the name of one under `workflows`
with   fields  inputs    its inputs by name

[set: sets variables of the run]
set*  sets  sets  names with values

[value: computes a value]
value*  value  =  any value; its texts may hold {{ }}

[if: takes one of two branches]
if*    expression  test       the condition
then*  then        =          the steps if it is true
else   else        otherwise  the steps if it is false

[choose: takes one of several branches]
choose*        choose      *        {on: expression, cases: {name: steps}, default: steps}
cases.on       on          subject  its value, as a text, is the name of the case that is taken
cases.cases    cases       =        the cases by name; without `on` each one has {if, steps}, and
    the first true one is taken
cases.default  default     =        the steps if no case fits
case.if        expression  when     the case is taken if this is true
case.~equals   value       =        the value for which the case is taken
default.~name  text        =        what it is called
body.steps*    steps       body     the steps of the case
body.~block    block       *        how its steps run together

[each: runs its steps for each item of a list; result: the list of results in order]
each*    list           items        the list
as       item_name      item_name    what an item is called; default: item
index    item_name      index_name   what the item's number, from 0, is called
at_once  whole 1 10000  concurrency  how many items at the same time; default 1
steps*   steps          body         what is done with each item
~block   block          *            how its steps run together

[together: runs its steps at the same time]
together*  together  body  the steps that run at the same time

[repeat: the loop]
repeat*  repeat  *  how and what to repeat

[loop]
until               condition   =  when it stops: a condition, or a list; any one of them stops it
check               one of after before, between  =  when the condition is checked
at_most             limits      limits  iterations, or {iterations, time, each_time, cost, tokens}
on_limit            one of finish fail pause, time_out  =  at a limit: finish (default), fail, or
    ask
carry               carry       =  values that the next iteration sees, by name; {first, then} gives
    the first iteration another value
return              one of last best first all  returns  the iteration that is the result; default:
    the last
on_failure          failed      on_iteration_failure  of an iteration: halt (default), continue,
    {retry: n}
wait                delay       delay  between iterations
ask_person          one of never each at_limit  ask  when a person decides
collect             collect     =  named results beside the returned iteration
memory              memory      =  records of past iterations, seen as `past`
session             one of fresh continue  =  whether conversations with agents and models
    continue over iterations
~facts              facts       =  what an iteration receives about the loop, by name
~history_keep       whole       =  how many iterations `history` has
steps*              steps       body  what is repeated
~block              block       *  how its steps run together
limits.iterations   iterations  =  default 10
limits.time         time        time_s  of the whole loop
limits.each_time    duration    iteration_time_s  of one iteration
limits.cost         number 0 1000000  cost_usd  dollars
limits.tokens       count       =  tokens, read and written
limits.calls        count       =  calls of models, agents, commands, web services and tasks
memory.keep         whole 1 10000  =  how many records; default 20
memory.across_runs  truth       =  whether later runs see them, too
memory.record       record      =  what is remembered of an iteration
memory.key          label       =  loops with the same key share their records

[condition]
when               when        =        met when the expression is true
score              score       =        measures the iteration; met at `at_least` or more
judge              judge       =        a model answers yes or no
stable             stable      =        two results in a row are this similar
plateau            plateau     =        no better score for some iterations
branch             branch      =        the branch that a `choose` or `if` step took
any                any_of      =        one of these is met
all                all_of      =        all of these are met
when.test          expression  =        the expression
score.^from        measured    source   the number
score.pattern      pattern     =        the first group of its first match in the text is the score
score.of           of          source   what it reads; default: the last step
score.at_least     number      =        the loop stops at this score; without it, it only measures
score.low          number      =        a lower score never counts
score.high         number      =        a higher score never counts
judge.question*    template    =        a model answers yes or no to it
judge.model        model       =        provider/model; in a list, the next one is
    used when one fails
judge.votes        whole 1 99  =        how many answers; the majority counts
judge.of           of          subject  what it reads; default: the last step
judge.reason       truth       =        whether it says why; by default it does
judge.evidence     truth       =        whether it also quotes what decided; default false
stable.threshold   number 0 1  =        how similar, from 0 to 1; default 0.95
stable.of          of          subject  what it reads; default: the last step
plateau.patience*  whole 1 100000  =    iterations without a better score
plateau.min_delta  number 0    =        a gain up to this does not count; default 0

[wait: waits]
wait*            moment  *  5s, PT5S, or a time
moment.duration  value   =  how long
moment.until     value   =  until when

[approve: asks a person; result: approved, feedback; value if the person edited what is shown]
approve*            question            *  the question, or {message, show, timeout}
question.message*   template            =  the question
question.show       value               =  what the person looks at
question.^timeout   duration            timeout_s  how long to wait for an answer
question.on_timeout  one of approve reject fail  =  default fail
question.on_reject  one of result fail  =  whether a rejection is a result (default) or a
    failure

[stop: ends the run]
stop*        stop      *  true, a message, or {status, message, code, output}
end.status   one of succeeded failed cancelled  =  how the run ends; default succeeded
end.message  template  =  why
end.code     template  =  your own code for the reason; programs read it in `error.detail.code`
end.output   value     =  what the run gives back

[break: ends a loop; the iteration counts]
break*  jump  loop  a loop around the step; true: the innermost

[continue: ends this iteration of a loop]
continue*  jump  loop  a loop around the step; true: the innermost
"""


TEMPLATE = forms.Template("a text, which may hold {{ }}")
EXPRESSION = forms.Condition()
VALUE = forms.Anything()
MODEL = forms.Texts(
    forms.Text("a model such as openai/gpt-5-mini"), forms.ListOf(forms.Text("a model"), least=1)
)
_FORMS: dict[str, forms.Form] = {
    "codes": forms.Texts(forms.Text("an error code, HTTP status or word"), forms.ListOf(VALUE)),
    "count": forms.Count(),
    "defaults": forms.MapOf(forms.FieldsOf(VALUE, names="any"), names="any"),
    "delay": forms.Duration(template=True, is_delay=True),
    "dialect": forms.Text("the name of a dialect"),
    "duration": forms.Duration(),
    "env": forms.MapOf(VALUE, "variables by name", "any"),
    "expression": EXPRESSION,
    "facts": forms.MapOf(forms.Text(), names="any"),
    "fields": forms.FieldsOf(VALUE, "inputs by name", "any"),
    "headers": forms.MapOf(VALUE, "headers by name", "any"),
    "iterations": forms.Number(1, ITERATIONS_MAX, whole=True, template=True, is_limit=True),
    "label": forms.Text("a name"),
    "library": forms.Text("the name of a library"),
    "measured": forms.Computed("an expression or a text with {{ }}, or a number"),
    "model": MODEL,
    "name": forms.Text("a name", needed=True),
    "outputs": forms.MapOf(VALUE, "outputs by name, such as {text: '{{ write }}'}", "dashed"),
    "paths": forms.OneOf(TEMPLATE, forms.Values(least=1)),
    "pattern": forms.Text("a regular expression with a group in parentheses"),
    "query": forms.MapOf(VALUE, "parameters by name", "any"),
    "raw": forms.Raw(),
    "record": forms.FieldsOf(VALUE, "names with values", "any"),
    "servers": forms.ListOf(forms.Text("the name of an MCP server or task")),
    "sets": forms.MapOf(VALUE, "variables with values"),
    "template": TEMPLATE,
    "text": forms.Text(),
    "texts": forms.ListOf(forms.Text()),
    "time": forms.Duration(template=True),
    "tools": forms.ListOf(forms.Text("the name of a tool")),
    "truth": forms.Boolean(),
    "value": VALUE,
}
# The form of an IR attribute without a row, by its type.
_BY_TYPE: dict[str, forms.Form] = {
    "str": forms.Text(),
    "bool": forms.Boolean(),
    "int": forms.Number(whole=True),
    "float": forms.Number(),
    "Value": VALUE,
    "Expression": EXPRESSION,
    "tuple[str, ...]": forms.ListOf(forms.Text()),
    "tuple[tuple[str, Value], ...]": forms.MapOf(VALUE, names="any"),
    "tuple[tuple[str, str], ...]": forms.MapOf(forms.Text(), names="any"),
    "tuple[tuple[Part, str], ...]": forms.MapOf(forms.Text(), names="any"),
    "tuple[Expression, ...]": forms.ListOf(EXPRESSION),
}


def _sections() -> tuple[dict[str, str], dict[str, list[list[str]]]]:
    """Returns the heading text of each section, and its rows."""
    docs: dict[str, str] = {}
    rows: dict[str, list[list[str]]] = defaultdict(list)
    joined = re.sub(r"\n +", " ", TABLE)
    for part in re.split(r"^\[", joined, flags=re.MULTILINE)[1:]:
        heading, *lines = part.split("\n")
        name, _, doc = heading.removesuffix("]").partition(": ")
        docs[name] = doc
        for line in filter(None, lines):
            field, *rest = re.split(r"\s{2,}", line, maxsplit=3)
            section, _, field = field.rpartition(".")
            rows[section or name].append([field, *rest])
    return docs, rows


DOCS, _ROWS = _sections()


def fields(
    section: str,
    own: Mapping[str, forms.Form] | None = None,
    maker: Any = None,
    *without: str,
    **derive: forms.Derive,
) -> forms.FieldTable:
    """Returns the fields of a section of the table, and one for each other attribute of a class.

    `own` are forms that the section has beside the common ones; the default of a field may be
    derived from others.
    """
    table: forms.FieldTable = {}
    for mark, form, attribute, doc in _ROWS[section]:
        name = mark.strip("~^*")
        is_rare = mark.startswith("~")
        table[name] = forms.Field(
            (own or {}).get(form) or _FORMS.get(form) or _plain_form(form),
            f"{doc} (in converted files)" if is_rare else doc,
            name if attribute == "=" else attribute,
            required=mark.endswith("*"),
            rare=is_rare,
            is_read_only=mark.startswith("^"),
            derive=derive.get(name),
        )
    return table if maker is None else {**table, **_others(table, maker, without)}


def _plain_form(words: str) -> forms.Form:
    kind, _, rest = words.partition(" ")
    if kind == "one":
        choices, _, others = rest.removeprefix("of ").partition(", ")
        return forms.Choice(tuple(choices.split()), tuple(others.split()))
    assert kind in ("number", "whole"), words
    low, high = (*(int(bound) for bound in rest.split()), None, None)[:2]
    return forms.Number(low, high, whole=kind == "whole")


def _others(table: forms.FieldTable, maker: Any, without: tuple[str, ...]) -> forms.FieldTable:
    """Returns a rare field for each attribute of a class that has no other field."""
    excluded = {field.attribute for field in table.values()} | {"place", *without}
    rest: forms.FieldTable = {}
    for attribute in attributes_of(maker):
        name, kind = attribute.name.removesuffix("_s"), str(attribute.type).removesuffix(" | None")
        form: forms.Form = _BY_TYPE.get(kind) or forms.Raw()
        if name != attribute.name:
            form = forms.Duration()
        elif kind.startswith("Literal"):
            form = forms.Choice(tuple(re.findall(r"\w+", kind.removeprefix("Literal"))))
        if attribute.name not in excluded:
            doc = f"{attribute.name!r} of the engine (in converted files)"
            rest[name] = forms.Field(form, doc, attribute.name, rare=True)
    return rest
