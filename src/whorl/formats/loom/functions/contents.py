"""What actions make of contents: calls and answers, JSON, arrays as texts and tables."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING

from whorl.formats.loom.functions.strings import join
from whorl.formats.loom.values import printing
from whorl.formats.loom.values.arguments import type_name
from whorl.language.core.conversion import from_json
from whorl.language.faults import EvaluationError
from whorl.language.schema import STEPS_MAX, misfits
from whorl.language.values import UNDEFINED, kind_of

if TYPE_CHECKING:
    from whorl.language.calls import Run
    from whorl.language.schema import SchemaError
    from whorl.language.values import Value


_MISFITS_SHOWN = 3
_QUOTED = (",", '"', "\n", "\r")


def parsed(run: Run, answer: Value) -> Value:
    """An answer that is a JSON object or array as that, and any other as it is."""
    if not isinstance(answer, str):
        return answer
    inner = answer.strip()
    if inner.startswith("```"):
        inner = inner.strip("`").removeprefix("json").strip()
    if not inner.startswith(("{", "[")):
        return answer
    try:
        return from_json(run, inner)
    except EvaluationError:
        return answer


def checked_content(run: Run, inputs: dict[str, Value]) -> Value:
    """JSON content, parsed where it is a text, and checked against its schema."""
    assert isinstance(inputs, dict)
    content, schema = inputs.get("content"), inputs.get("schema")
    if printing.is_envelope(content):
        content = printing.content_bytes(run, content).decode("utf-8-sig", "replace")
    value = from_json(run, content) if isinstance(content, str) else content
    if not schema:
        return value
    run.weigh(value)
    faults = [_fault_text(misfit) for misfit in misfits(schema, value)]  # type: ignore[arg-type]
    if faults:
        more = f" (and {len(faults) - _MISFITS_SHOWN} more)" if len(faults) > _MISFITS_SHOWN else ""
        raise EvaluationError(
            f"The schema validation failed. {'; '.join(faults[:_MISFITS_SHOWN])}{more}"
        )
    return value


def _fault_text(misfit: SchemaError) -> str:
    """What does not fit a schema, in the words of Logic Apps where it has some."""
    words = misfit.words
    if misfit.rule == "required":
        words = f"Required properties are missing from object: {misfit.wanted[0]}"
    elif misfit.rule == "type":
        wanted = ", ".join(name.capitalize() for name in misfit.wanted)
        words = f"Invalid type. Expected {wanted} but got {type_name(misfit.value)}"
    elif misfit.rule == "steps":
        words = f"The check of the schema takes more than {STEPS_MAX} steps"
    return f"{words}. Path '{misfit.path[1:].lstrip('.')}'"


def http_outputs(run: Run, reply: Value) -> Value:
    """The reply of a web service as outputs; content that is no JSON and no text is wrapped."""
    if not isinstance(reply, dict) or "status" not in reply:
        return {"statusCode": 200, "body": reply}
    headers = reply.get("headers")
    outputs: dict[str, Value] = {"statusCode": reply.get("status"), "headers": headers}
    body = reply.get("body")
    if body == "":
        return outputs
    if printing.is_envelope(body):
        return outputs | {"body": unfolded(run, body)}
    written = headers.get("content-type") if isinstance(headers, dict) else None
    kind = written.partition(";")[0].strip().lower() if isinstance(written, str) else ""
    is_text = kind.startswith("text/") or not kind
    if not isinstance(body, str) or (is_text and "encoding" not in reply):
        return outputs | {"body": body}
    if kind == "application/json" or kind.endswith("+json"):
        return outputs | {"body": body}
    content = printing.decode(run, body) if "encoding" in reply else body.encode("utf-8", "replace")
    wrapped = printing.envelope(content, str(written or printing.OCTETS))
    return outputs | {"body": unfolded(run, wrapped)}


def unfolded(run: Run, wrapped: dict[str, Value]) -> Value:
    """Content with the values of a form, or the parts of a message, where it is such."""
    written = str(wrapped["$content-type"])
    kind, content = written.partition(";")[0].strip().lower(), printing.content_bytes(run, wrapped)
    if kind == "application/x-www-form-urlencoded":
        text = content.decode("utf-8", "replace")
        return {**wrapped, "$formdata": printing.form_pairs(run, text)}
    if kind.startswith("multipart/"):
        return {**wrapped, "$multipart": printing.multipart_bodies(run, content, written)}
    return wrapped


def transformed(run: Run, made: Value) -> Value:
    """What a map made: XML or HTML as content of its type, and a text as it is."""
    if not isinstance(made, dict) or not isinstance(text := made.get("text"), str):
        return made
    kind = {"xml": "application/xml", "html": "text/html"}.get(str(made.get("method")))
    return printing.envelope(text.encode(), f"{kind}; charset=utf-8") if kind else text


def trigger_body(run: Run, body: Value, given: Value) -> Value:
    """What a run was started with: its body, or else the fields that it was given."""
    if body is not None and body is not UNDEFINED:
        return unfolded(run, body) if printing.is_envelope(body) else parsed(run, body)
    if not isinstance(given, dict):
        return None
    fields = {name: value for name, value in given.items() if value is not None}
    return fields or None


def joined(run: Run, inputs: dict[str, Value]) -> Value:
    """The items of an array as one text."""
    assert isinstance(inputs, dict)
    return join(run, inputs.get("from"), inputs.get("joinWith"))


def table_of(run: Run, inputs: dict[str, Value]) -> str:
    """An array of objects as a table, in HTML or CSV."""
    assert isinstance(inputs, dict)
    rows = inputs.get("rows")
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise EvaluationError(f"a table needs an array of objects, not {kind_of(rows)}")
    objects = [row for row in rows if isinstance(row, dict)]
    headers = list(dict.fromkeys(name for row in objects for name in row))
    cells = len(rows) * max(1, len(headers))
    run.check_items(cells, "table")
    run.spend(cells)
    lines = [
        headers,
        *([printing.print_text(run, row.get(name)) for name in headers] for row in objects),
    ]
    if str(inputs.get("format")).upper() == "CSV":
        text = "".join(",".join(map(_cell, line)) + "\r\n" for line in lines)
    else:
        text = _html(lines)
    run.check_text(len(text), "table")
    return text


def _cell(text: str) -> str:
    is_plain = not any(mark in text for mark in _QUOTED)
    return text if is_plain else '"' + text.replace('"', '""') + '"'


def _html(lines: list[list[str]]) -> str:
    head = "".join(f"<th>{html.escape(text)}</th>" for text in lines[0])
    body = "".join(
        f"<tr>{''.join(f'<td>{html.escape(text)}</td>' for text in line)}</tr>"
        for line in lines[1:]
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
