"""The words, objects and values of a file: how they are read, and which system's rules apply."""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import field
from http import HTTPStatus
from typing import TYPE_CHECKING

from whorl import ir
from whorl.dialects.reading import ReadContext
from whorl.dialects.reading.fields import check_spelling, duration_of, text_of, texts_of, words
from whorl.dialects.reading.texts import called, read_tree
from whorl.language import LanguageError, parse
from whorl.lazily import dataclass
from whorl.source import Mapping, Scalar, Sequence, plain

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from whorl.errors import Span
    from whorl.ir.nodes import Wanted
    from whorl.ir.values import PortType
    from whorl.language import Json
    from whorl.source import Entry, Value


# A whole string in brackets that begins with a call is computed when a template is deployed.
_CALL = re.compile(r"\[\s*+[A-Za-z][\w.]*+\(")
# The types of parameters with secret values, with the types of inputs.
_SECURE: dict[str, PortType] = {"securestring": "string", "secureobject": "json"}


def find(value: Value | None, *names: str) -> Value | None:
    """Returns the value at a path of keys; case counts only if a key has exactly this name."""
    for name in names:
        if not isinstance(value, Mapping):
            return None
        inner = value.get(name)
        if inner is None:
            lowered = name.lower()
            inner = next((e.value for e in value.entries if e.name.lower() == lowered), None)
        value = inner
    return value


def find_mapping(value: Value | None, *names: str) -> Mapping | None:
    """Returns the object at the end of a path of keys."""
    inner = find(value, *names)
    return inner if isinstance(inner, Mapping) else None


def text_at(value: Value | None, *names: str) -> str:
    """Returns the text at the end of a path of keys, or ""."""
    return text_of(find(value, *names))


def is_deployed(text: str) -> bool:
    """Returns whether a string is computed at deployment."""
    return text[-1:] == "]" and _CALL.match(text) is not None


def is_lenient(definition: Value) -> bool:
    """Returns whether a file follows the seed's rules.

    It does if it has `condition` or a type of the seed; it does not if it has `expression` or calls
    a connector. If a file has none of these, its lower-case letters decide.
    """
    actions = [part for name, part in objects_in(definition) if name]
    if any(map(_is_own, actions)):
        return True
    kinds = [text_at(action, "type") for action in actions]
    if any(kind.lower() in CONNECTORS or kind.lower() == "workflow" for kind in kinds) or any(
        find(action, "expression") is not None for action in actions
    ):
        return False
    return any(kind[:1].islower() for kind in kinds)


def _is_own(action: Mapping) -> bool:
    kind = text_at(action, "type").lower()
    if kind not in ("until", "if", "switch"):
        return kind in OWN
    holders = (action, find(action, "inputs"))
    own = ("condition", "on", "then")
    return any(find(holder, key) is not None for holder in holders for key in own)


def objects_in(
    value: Value | None, name: str = "", *, is_block: bool = False
) -> Iterator[tuple[str, Mapping]]:
    """Yields all objects in a value, at any depth; those under `actions` have names."""
    if isinstance(value, Mapping):
        yield name, value
        for entry in value:
            inner = entry.name if is_block else ""
            yield from objects_in(entry.value, inner, is_block=entry.name.lower() == "actions")
    for item in value if isinstance(value, Sequence) else ():
        yield from objects_in(item)


def secured(holder: Value | None) -> set[str]:
    """Returns which parts of an action or a trigger are secret: `inputs`, `outputs`."""
    secure = find(holder, "runtimeConfiguration", "secureData")
    listed = find(secure, "properties")
    if isinstance(listed, Sequence):
        return {text.lower() for text in texts_of(listed)}
    return set() if secure is None else {"inputs", "outputs"}


def secrets_in(parameters: Value | None) -> dict[str, PortType]:
    """Returns the parameters with secret values, by their names in lower case."""
    entries = parameters if isinstance(parameters, Mapping) else ()
    kinds = ((e.name.lower(), text_at(e.value, "type").lower()) for e in entries)
    return {name: _SECURE[kind] for name, kind in kinds if kind in _SECURE}


LIBRARY = "loom"

# The types that only this dialect has: a file that uses one follows the seed's rules.
OWN = frozenset({"ai", "actor", "activity", "while", "dountil", "retry", "parallel", "condition"})
LOOPS = frozenset({"until", "while", "dountil"})
# The types that hold other actions; Azure has no inputs of theirs.
HOLDING = LOOPS | {"if", "condition", "switch", "foreach", "scope", "parallel"}
# The types that set variables.
SETTING = frozenset({"setvariable", "incrementvariable", "decrementvariable"})
SETTING |= {"appendtoarrayvariable", "appendtostringvariable"}
CONNECTORS = frozenset(
    words(
        """apiconnection apiconnectionwebhook apiconnectionnotification apimanagement
        openapiconnection openapiconnectionwebhook serviceprovider function invokefunction
        httpwebhook sendtobatch javascriptcode csharpscriptcode powershellcode xslt xmlvalidation
        xmlcompose xmlparse liquid flatfileencoding flatfiledecoding
        integrationaccountartifactlookup parsedocument chunktext
        parsedocumentwithmetadata chunktextwithmetadata swiftmtencode swiftmtdecode
        rosettanetdecode rosettanetwaitforresponse agent agenthandoff swiftencode
        swiftdecode rosettanetencode as2decode as2encode x12decode x12encode edifactencode
        edifactdecode datamapper batch nestedagent mcpclienttool"""
    )
)
TYPES = (SETTING | HOLDING | OWN | CONNECTORS).union(
    words("compose wait delay terminate response parsejson query select join table expression"),
    words("initializevariable http workflow"),
)


def _table(text: str) -> dict[str, tuple[str, ...]]:
    """Reads lines of names, a colon and fields; each name has all these fields."""
    rows = (row.split(":") for row in text.split(";"))
    return {name: words(fields) for names, fields in rows for name in names.split()}


# The fields that any action may have, in the order in which advice names them.
COMMON = words(
    """type kind name inputs runAfter runtimeConfiguration operationOptions trackedProperties
    correlation conditions limit description metadata retry retryPolicy timeout circuitBreaker
    rateLimit"""
)
FIELDS = _table(
    """until while dountil: condition expression actions delay; retry: action;
    if condition: condition expression actions then else; switch: on expression cases default;
    foreach: foreach items actions; scope: actions; parallel: actions branches;
    http: method uri url headers queries query body cookie authentication;
    ai: model prompt system systemPrompt temperature maxTokens context input message;
    actor: actorType actorVersion actorId actor method args input;
    activity: activityType activityName activity input; wait delay: interval until count unit;
    agent: tools modelConfigurations parameters; response: statusCode headers body schema;
    terminate: runStatus runError; parsejson: content schema; query: from where;
    select: from select; join: from joinWith; table: from format columns;
    setvariable incrementvariable decrementvariable appendtoarrayvariable appendtostringvariable
    initializevariable: name variableName value variables"""
)
# The types whose inputs may have other fields, too.
OPEN = HOLDING | {"actor", "activity", "agent", "retry"}
# What actions cannot do without: their types, the names of the setting, and a value for advice.
NEEDED = (
    ("if condition", "condition expression", '"@equals(1, 1)"'),
    ("switch", "on expression", "\"@body('think').action\""),
    ("foreach", "foreach items", "\"@body('fetch').items\""),
    ("query select join table", "from", "\"@body('fetch')\""),
    ("query", "where", '"@greater(item(), 1)"'),
    ("http", "uri url", '"https://..."'),
    ("ai", "prompt input message", '"..."'),
    ("actor", "actorType actor", '"search"'),
    ("activity", "activityType activityName activity", '"search"'),
    ("javascriptcode", "code", '"return workflowContext.trigger.outputs.body"'),
    ("retry", "action", '{"type": "http", "inputs": {"uri": "https://..."}}'),
    ("initializevariable", "variables", '[{"name": "n", "type": "integer", "value": 0}]'),
    (" ".join(SETTING), "name variableName", '"n"'),
)
# The fields of objects in actions.
PART_FIELDS = _table(
    """limit: count timeout; delay: interval;
    retry retryPolicy: type count interval maxInterval maximumInterval minimumInterval on
    httpStatusCodes maxAttempts initialDelay maxDelay backoffMultiplier retryableErrors"""
)
# The fields of other objects of a file.
OBJECT_FIELDS = _table(
    """definition: contentVersion parameters triggers actions outputs staticResults description
    metadata name version kind;
    trigger: type kind inputs recurrence conditions runtimeConfiguration operationOptions splitOn
    splitOnConfiguration correlation description metadata evaluatedRecurrence;
    request: schema method relativePath; parameter: type defaultValue value allowedValues metadata;
    output: type value description metadata; variable: name type value; interval: count unit;
    case: case actions; column: header value; runError: code message;
    runtimeConfiguration: concurrency paginationPolicy contentTransfer secureData staticResult
    requestOptions; concurrency: runs repetitions maximumWaitingRuns"""
)
# The values of `operationOptions`.
OPTIONS = words(
    """Asynchronous DisableAsyncPattern DisableAutomaticDecompression EnableSchemaValidation
    FailWhenLimitsReached IncludeAuthorizationHeadersInOutputs Sequential SingleInstance
    SuppressWorkflowHeaders SuppressWorkflowHeadersOnResponse"""
)

# The names of status codes in the results that a definition writes down.
STATUS_CODES = {n.replace("_", "").lower(): int(s) for n, s in HTTPStatus.__members__.items()}
# The statuses that `runAfter` names.
RUN_AFTER: dict[str, Wanted] = {
    "succeeded": "succeeded",
    "failed": "failed",
    "skipped": "skipped",
    **dict.fromkeys(("timedout", "timeout"), "timed_out"),
    **dict.fromkeys(("cancelled", "canceled", "aborted"), "cancelled"),
}
# The variables that a loop of the seed gives to its actions.
LOOP_NAMES = ("loopIndex", "loopResult", "loopCount", "loopStartTime")


def is_of_a_loop(name: str) -> bool:
    """Returns whether a variable has a name that a loop defines."""
    return f"_{name.lower()}".endswith(tuple(f"_{word.lower()}" for word in LOOP_NAMES))


LOOP_WORDS: Json = {
    "limits": {
        "max_iterations": "Loop exceeded maximum iterations: {iterations}; raise limit.count",
        "timeout": "Loop timeout after {ms}ms; raise limit.timeout",
    }
}
AZURE_LOOP_WORDS: Json = {
    "limits": {
        "max_iterations": "the loop reached its limit.count of {iterations} iterations",
        "timeout": "the loop reached its limit.timeout of {ms} ms",
    }
}

# The fields of an event, each with its fact.
_ITERATION = (
    "workflowId=run actionName=node loopType=loop.type iteration=index conditionResult=checked "
    "result=told.result duration=duration_ms timestamp=time_text"
)
# The dialect's own words for what a run tells, as data that the interfaces can print.
VOCABULARY: dict[str, Json] = {
    # An event for each iteration, filled from the facts of the notes about it.
    "events": {
        "iteration_finished": {
            "event": "loop:iteration",
            "fields": {**dict(pair.split("=") for pair in _ITERATION.split())},
        }
    },
    # The lines of `status` about a run.
    "status": [
        "Workflow: {workflow}",
        "Status: {status}",
        "Current Action: {loop} ({type})",
        "  Iteration: {number}/{limit}",
        "  Condition: {condition}",
        "  Duration: {seconds}s",
        "  Last Result: {result}",
    ],
}


_NAMED = re.compile(
    r"""\b(variables|body|outputs)\(\s*(?:'((?:[^']|'')*)'|"((?:[^"]|"")*)")\s*\)""", re.IGNORECASE
)
# An expression ends at a brace outside of its literals; `@@{` begins no expression.
_PLACEHOLDER = re.compile(
    r"""@(?P<escaped>@\{)|@\{(?P<inner>[^'"}]*+(?:(?:'[^']*+'?|"[^"]*+"?)[^'"}]*+)*)\}?"""
)
READS_INPUTS = re.compile(
    r"""\bresult\(|\[\s*['"]inputs['"]\s*\]|\.inputs\b|\bactions?\([^()]*['"]inputs['"]""",
    re.IGNORECASE,
)
# Values that change by themselves, such as results of actions.
READS_RESULTS = re.compile(
    r"\b(?:body|outputs|actions|items?|result|action|iterationIndexes|utcNow|rand|guid)\(",
    re.IGNORECASE,
)
_UNITS_S = {"millisecond": 0.001, "second": 1, "minute": 60, "hour": 3_600, "day": 86_400}
_UNITS_S |= {"week": 604_800, "month": 2_592_000}


def jinja(source: str) -> ir.Expression:
    """Returns an expression of the engine over names that it provides, such as `it`."""
    return ir.Expression("jinja", source, LIBRARY)


IT = jinja("it")


def computed(function: str, *arguments: Json | ir.Expression) -> ir.Expression:
    """Returns a call of a function of this dialect; `it` is passed by name, all else as JSON."""
    written = [a.source if isinstance(a, ir.Expression) else literal(a) for a in arguments]
    return jinja(called(function, *written))


def literal(value: Json) -> str:
    return json.dumps(value, ensure_ascii=False)


def fields(**values: ir.Value | Json) -> ir.Fields:
    """Returns an object; an entry that is a plain JSON value becomes a constant."""
    kinds = (ir.Constant, ir.Expression, ir.Items, ir.Fields)
    made = {k: v if isinstance(v, kinds) else ir.Constant(v) for k, v in values.items()}
    return ir.Fields(tuple(made.items()))


def has_expression(text: str) -> bool:
    """Returns whether a string is more than a literal."""
    return len(text) > 1 and (text[0] == "@" or "@{" in text)


def is_expression(value: Value | None) -> bool:
    return isinstance(value, Scalar) and isinstance(value.value, str) and has_expression(value.text)


def names_read(text: str, *functions: str) -> list[tuple[str, str]]:
    """Returns the names that a string passes to functions like `variables`, with the function."""
    found = ((name.lower(), single, double) for name, single, double in _NAMED.findall(text))
    read = (part for part in found if part[0] in functions)
    return [(n, s.replace("''", "'") or d.replace('""', '"')) for n, s, d in read]


def scalars_in(value: Value | None) -> list[Scalar]:
    """Returns all strings of a value; keys are included if they are expressions."""
    if isinstance(value, Scalar):
        return [value] if isinstance(value.value, str) else []
    items: list[Value] = [*value] if isinstance(value, Sequence) else []
    for entry in value if isinstance(value, Mapping) else ():
        items += [entry.key, entry.value] if has_expression(entry.name) else [entry.value]
    return [scalar for item in items for scalar in scalars_in(item)]


def as_term(value: Scalar) -> str:
    """Returns a scalar of a file as a part of an expression."""
    return text_term(value.value) if isinstance(value.value, str) else literal(value.value)


def text_term(text: str) -> str:
    """Returns a string of a file as a part of an expression: literal, expression, or both."""
    if not has_expression(text):
        return quote(text)
    if text.startswith("@@"):
        return quote(text[1:])
    if text[0] == "@" and text[1] != "{":
        return text[1:]
    parts: list[str] = []
    end = 0
    for match in _PLACEHOLDER.finditer(text):
        literal = text[end : match.start()] + (match["escaped"] or "")
        parts += [quote(literal)] if literal else []
        parts += [match["inner"]] if match["escaped"] is None else []
        end = match.end()
    if end < len(text):
        parts.append(quote(text[end:]))
    return f"concat({', '.join(parts)})"


def parses(expression: ir.Expression) -> bool:
    try:
        parse(expression)
    except LanguageError:
        return False
    return True


def quote(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


@dataclass(slots=True)
class LoomContext(ReadContext):
    """The data that the readers of the parts of one file share.

    A lenient file follows the seed's rules (missing values are null, actions run in the order of
    the file); any other file follows Azure's rules. Names are kept in lower case.
    """

    lenient: bool = False
    # The variables as their declaration or first use spells them; the types of declared ones.
    variables: dict[str, str] = field(default_factory=dict)
    types: dict[str, str] = field(default_factory=dict)
    # How many actions declare or set each.
    setters: Counter[str] = field(default_factory=Counter)
    # The first place of each name of an action.
    named: dict[str, Span] = field(default_factory=dict)
    # The names of what starts the workflow.
    triggers: tuple[str, ...] = ()
    # Whether some expression reads what actions were given.
    reads_inputs: bool = False
    # The loops by path, with the words that their authors wrote.
    loops: dict[str, Json] = field(default_factory=dict)
    # The values of parameters in a file beside this one.
    beside: Mapping | None = None
    # The app settings that workflows need which this one calls.
    settings: list[str] = field(default_factory=list)
    # What answers in place of an action, by the name that its settings give.
    static_results: Mapping | None = None
    is_trigger_secret: bool = False
    # The names of the actions inside of each scope and loop, and the responses, as they are read.
    scopes: dict[str, list[str]] = field(default_factory=dict)
    responses: list[str] = field(default_factory=list)
    # All responses of the definition, wherever they stand.
    answering: list[str] = field(default_factory=list)
    sends_headers: bool = False
    # The agents of the definition; others may hand over to them.
    agents: dict[str, Entry] = field(default_factory=dict)
    # Whether the caller is not to wait for a response, but to fetch it.
    answers_later: bool = False
    # The actions that declare variables.
    declaring: set[str] = field(default_factory=set)

    def variable(self, name: str) -> str:
        return self.variables.get(name.lower(), name)

    def expression(self, scalar: Scalar, source: str | None = None) -> ir.Expression:
        """Returns the expression of a string of the file; `source` replaces the string's text."""
        syntax = "logic-lenient" if self.lenient else "logic"
        own = ir.Expression(syntax, scalar.text)
        if source is not None and is_expression(scalar) and not parses(own):
            # A mistake is reported with the author's own text.
            source = None
        made = own if source is None else ir.Expression(syntax, source)
        if source is None and scalar.lines is not None:
            self.places.remember(made, scalar)
        else:
            self.places.remember_part(made, scalar.span)
        return made

    def value(self, value: Value | None) -> ir.Value:
        """Returns a JSON value whose strings and keys may hold expressions."""

        def read(scalar: Scalar) -> ir.Value:
            text = scalar.value
            if isinstance(text, str) and not self.lenient and is_deployed(text):
                # Only Azure knows what it is; the expressions in it are parts of texts there.
                return ir.Constant(text)
            return self.expression(scalar) if is_expression(scalar) else ir.Constant(text)

        def read_key(key: Scalar) -> str | ir.Expression:
            return self.expression(key) if has_expression(key.text) else key.text

        return read_tree(value, read, read_key=read_key, folds=True)

    def condition(self, value: Value, *, inverted: bool = False) -> ir.Expression:
        """Returns the expression of a condition; inverted, it is true if the condition is false.

        A condition is a string, or an object of functions: `{"and": [{"equals": ["@a", 1]}]}`.
        """
        if isinstance(value, Scalar):
            text = value.text if isinstance(value.value, str) else as_term(value)
            if text.startswith("@{") and text.endswith("}") and text.find("@{", 2) < 0:
                text = text[2:-1]
            term = text.removeprefix("@")
        else:
            term = self._condition_term(value)
            value = Scalar("", value.span)
        source = f"@not({term})" if inverted else f"@{term}"
        return self.expression(value, None if source == value.text else source)

    def _condition_term(self, value: Value) -> str:
        if isinstance(value, Scalar):
            return as_term(value)
        if isinstance(value, Mapping) and len(value) > 0:
            calls = [self._condition_call(entry.name, entry.value) for entry in value]
            if all(calls):
                return calls[0] if len(calls) == 1 else f"and({', '.join(calls)})"
        if any("@" in scalar.text for scalar in scalars_in(value)):
            message = "a condition cannot contain an array or object with expressions"
            advice = "compute it in a Compose action, and compare its outputs"
            self.report("W007", message, value.span, label="not possible here", help=advice)
        return f"json({quote(literal(plain(value)))})"

    def _condition_call(self, function: str, value: Value) -> str:
        """Returns a call of a function; "" if the value cannot be the arguments of a function."""
        if isinstance(value, Sequence):
            terms = [self._condition_term(item) for item in value]
            if not terms:
                return {"and": "true", "or": "false"}.get(function.lower(), f"{function}()")
            return f"{function}({', '.join(terms)})"
        if isinstance(value, Mapping) or function.lower() in ("not", "empty"):
            return f"{function}({self._condition_term(value)})"
        return ""

    def seconds(self, value: Value | None, default: float) -> float:
        """Returns a duration such as PT5S in seconds; reports any other value."""
        duration = duration_of(value)
        if value is not None and duration is None:
            message, advice = "this is not a duration", "write PT5S or PT1H"
            self.report("W007", message, value.span, label="not a duration", help=advice)
        return default if duration is None else duration

    def check_spelling(
        self, item: Value | None, names: Collection[str], owner: str, *, warns: bool = False
    ) -> bool:
        """Returns whether all fields of an object are spelt correctly, and reports the others.

        `warns`: other fields have no effect there, which is a warning.
        """
        if not isinstance(item, Mapping):
            return True
        entries = Mapping(tuple(e for e in item if e.name[:1] not in "$@"), item.span)
        drawn = () if warns else None
        return check_spelling(self, entries, names, owner, ignore_case=True, drawn=drawn)

    def interval(self, value: Value | None) -> ir.Value | None:
        """Returns an interval `{count, unit}` as seconds."""
        if not self.check_spelling(value, OBJECT_FIELDS["interval"], "an interval"):
            return None
        count, unit = find(value, "count"), text_at(value, "unit").lower().rstrip("s") or "second"
        if not isinstance(count, Scalar) or unit not in _UNITS_S:
            span = value.span if value is not None else self.document.root.span
            advice = 'write {"count": 5, "unit": "second"}, or minute, hour, day, week'
            self.report("W007", "this is not an interval", span, label="not valid", help=advice)
            return None
        if is_expression(count):
            return self.expression(count, f"@mul(int({text_term(count.text)}), {_UNITS_S[unit]})")
        return ir.Constant(self.seconds(count, 0) * _UNITS_S[unit])
