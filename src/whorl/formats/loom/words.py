"""The words of the dialect: types of actions with their fields, statuses, limits, events."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whorl.dialects.reading.fields import words

if TYPE_CHECKING:
    from whorl.ir.nodes import Wanted
    from whorl.language import Json

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

# The fields that any action may have, in the order in which advice names them.
COMMON = words(
    """type kind name inputs runAfter runtimeConfiguration operationOptions trackedProperties
    correlation conditions limit description metadata retry retryPolicy timeout circuitBreaker
    rateLimit"""
)
_IF = ("condition", "expression", "actions", "then", "else")
FIELDS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(LOOPS, ("condition", "expression", "actions", "delay")),
    "retry": ("action",),
    "if": _IF,
    "condition": _IF,
    "switch": ("on", "expression", "cases", "default"),
    "foreach": ("foreach", "items", "actions"),
    "scope": ("actions",),
    "parallel": ("actions", "branches"),
    "http": ("method", "uri", "url", "headers", "queries", "query", "body", "cookie"),
    "ai": ("model", "prompt", "system", "systemPrompt", "temperature", "maxTokens", "context"),
    "actor": ("actorType", "actorVersion", "actorId", "actor", "method", "args", "input"),
    "activity": ("activityType", "activityName", "activity", "input"),
    "wait": ("interval", "until"),
    "agent": ("tools", "modelConfigurations", "parameters"),
    **dict.fromkeys((*SETTING, "initializevariable"), words("name variableName value variables")),
}

# The fields of objects that stand in actions.
_RETRY = words(
    """type count interval maxInterval maximumInterval minimumInterval on httpStatusCodes
    maxAttempts initialDelay maxDelay backoffMultiplier retryableErrors"""
)
PART_FIELDS = {
    "limit": ("count", "timeout"),
    "delay": ("interval",),
    "retry": _RETRY,
    "retryPolicy": _RETRY,
}
# The fields of `inputs` of the types that hand nothing else on.
INPUT_FIELDS: dict[str, tuple[str, ...]] = {
    "http": (*FIELDS["http"], "authentication", "retryPolicy"),
    "ai": (*FIELDS["ai"], "input", "message", "retry", "retryPolicy"),
    "response": words("statusCode headers body schema"),
    "terminate": words("runStatus runError"),
    "parsejson": words("content schema"),
    "query": words("from where"),
    "select": words("from select"),
    "join": words("from joinWith"),
    "table": words("from format columns"),
    **dict.fromkeys(("wait", "delay"), words("interval until count unit")),
    **dict.fromkeys(SETTING, words("name variableName value")),
    "initializevariable": ("variables",),
}
# The fields of other objects of a file.
OBJECT_FIELDS = {
    "definition": words(
        """contentVersion parameters triggers actions outputs staticResults description metadata
        name version kind"""
    ),
    "trigger": words(
        """type kind inputs recurrence conditions runtimeConfiguration operationOptions splitOn
        splitOnConfiguration correlation description metadata evaluatedRecurrence"""
    ),
    "request": words("schema method relativePath"),
    "parameter": words("type defaultValue value allowedValues metadata"),
    "output": words("type value description metadata"),
    "variable": words("name type value"),
    "interval": words("count unit"),
    "case": words("case actions"),
    "column": words("header value"),
    "runError": words("code message"),
    "runtimeConfiguration": words(
        "concurrency paginationPolicy contentTransfer secureData staticResult requestOptions"
    ),
    "concurrency": words("runs repetitions maximumWaitingRuns"),
}
# What `operationOptions` may hold.
OPTIONS = words(
    """Asynchronous DisableAsyncPattern DisableAutomaticDecompression EnableSchemaValidation
    FailWhenLimitsReached IncludeAuthorizationHeadersInOutputs Sequential SingleInstance
    SuppressWorkflowHeaders SuppressWorkflowHeadersOnResponse"""
)

# The statuses that `runAfter` names.
RUN_AFTER: dict[str, Wanted] = {
    "succeeded": "succeeded",
    "failed": "failed",
    "skipped": "skipped",
    "timedout": "timed_out",
    "timeout": "timed_out",
    "cancelled": "cancelled",
    "canceled": "cancelled",
    "aborted": "cancelled",
}
# The variables that a loop of the seed gives to its actions.
LOOP_NAMES = ("loopIndex", "loopResult", "loopCount", "loopStartTime")


def is_of_a_loop(name: str) -> bool:
    """Whether a variable bears the name of one that a loop gives."""
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

# The dialect's own words for what a run tells, as data that the interfaces can print.
VOCABULARY: dict[str, Json] = {
    # An event for each iteration, filled from the facts of the notes about it.
    "events": {
        "iteration_finished": {
            "event": "loop:iteration",
            "fields": {
                "workflowId": "run",
                "actionName": "node",
                "loopType": "loop.type",
                "iteration": "index",
                "conditionResult": "checked",
                "result": "told.result",
                "duration": "duration_ms",
                "timestamp": "time_text",
            },
        }
    },
    # What `status` prints about a run, line by line.
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
