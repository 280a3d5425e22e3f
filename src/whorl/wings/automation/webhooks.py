"""The webhooks that other systems call to start a workflow: secrets, signatures and inputs.

Two formats: that of standardwebhooks.com, which signs an id and a time with the body, and GitHub's,
which signs the body alone. The id of a call ensures that it starts one run only.
"""

from __future__ import annotations

import base64
import hmac
import json
import re
import secrets
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from whorl.errors import StoreError, UsageError, did_you_mean
from whorl.runtimes.sqlite.store import HookRow

if TYPE_CHECKING:
    from collections.abc import Mapping

    from whorl.interpreter.frames import Values
    from whorl.ir import Workflow
    from whorl.language import Json
    from whorl.runtimes.journal.keys import Seals
    from whorl.runtimes.sqlite import SqliteStore
    from whorl.services.project import Project

Format: TypeAlias = Literal["standard", "github"]

CODE: Final = "R135"
TOLERANCE_S: Final = 300.0
NAME: Final = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")
_ID: Final = re.compile(r"[!-~]{1,200}")
_PREFIX: Final = "whsec_"
_TAKEN: Final = ("workflows", "runs")
# The same for every address, so that callers cannot learn which hooks exist.
_NOT_OURS: Final = "there is no such hook, or the signature is missing or wrong"
_HEADERS: Final = (
    "a call has the headers webhook-id, webhook-timestamp and webhook-signature; one of GitHub has "
    "X-Hub-Signature-256"
)


def standard_signature(secret: str, delivery: str, at: str, body: bytes) -> str:
    """Returns the signature of standardwebhooks.com, version 1, over an id, a time and a body."""
    key = base64.b64decode(secret.removeprefix(_PREFIX))
    content = f"{delivery}.{at}.".encode() + body
    return f"v1,{base64.b64encode(hmac.digest(key, content, 'sha256')).decode()}"


def github_signature(secret: str, body: bytes) -> str:
    return f"sha256={hmac.new(secret.encode(), body, 'sha256').hexdigest()}"


def new_secret(form: Format) -> str:
    if form == "github":
        return secrets.token_hex(32)
    return _PREFIX + base64.b64encode(secrets.token_bytes(32)).decode()


def delivery_of(
    hook: HookRow | None, seals: Seals, headers: Mapping[str, str], body: bytes, now: float
) -> str:
    """Returns the id of a call that is signed and in time. Raises UsageError R135 otherwise."""
    row = hook or HookRow("", "", "", "standard", 0.0, "")
    known = _secrets_of(row, seals, now)
    if row.format == "github":
        delivery, at = headers.get("x-github-delivery", ""), ""
        given = [headers.get("x-hub-signature-256", "")]
        expected = [github_signature(secret, body) for secret in known]
    else:
        delivery, at = headers.get("webhook-id", ""), headers.get("webhook-timestamp", "")
        given = headers.get("webhook-signature", "").split(" ")[:10]
        expected = [standard_signature(secret, delivery, at, body) for secret in known]
    # All are compared, so that the time it takes tells nothing.
    equal = [hmac.compare_digest(e.encode(), g.encode()) for e in expected for g in given]
    if hook is None or not any(equal):
        raise UsageError(_NOT_OURS, help=_HEADERS, code=CODE)
    is_time = re.fullmatch(r"[0-9]{1,12}", at) is not None
    if row.format == "standard" and not (is_time and abs(now - int(at)) <= TOLERANCE_S):
        words = f"the time of the call is off by more than {TOLERANCE_S / 60:g} minutes"
        raise UsageError(words, help="check the clock of the caller, and sign again", code=CODE)
    if _ID.fullmatch(delivery) is None:
        words = "the call has no valid id"
        raise UsageError(words, help="1 to 200 characters of ASCII, without spaces", code=CODE)
    return delivery


def _secrets_of(row: HookRow, seals: Seals, now: float) -> list[str]:
    """Returns the valid secrets of a hook, or a random one if there is no such hook."""
    if not row.name:
        return [new_secret("standard")]
    sealed = [row.secret, *([row.old_secret] if row.old_secret and now < row.old_until else [])]
    try:
        return [seals.open(text, "hook", row.name) for text in sealed]
    except StoreError as fault:
        words = f"the secret of hook {row.name!r} cannot be opened with the key that is here"
        advice = f"restore the key, or make another secret: `whorl server hook rotate {row.name}`"
        raise StoreError(words, code=fault.code, help=advice) from fault


def key_of(hook: HookRow, delivery: str) -> str:
    """Returns the key under which a call starts one run, on any server and for any repeat.

    A hook that was deleted and made again under the same name has other keys.
    """
    return f"hook:{hook.name}:{hook.created_at:.0f}:{delivery}"


def inputs_from(workflow: Workflow, body: Json) -> Values:
    """Returns the inputs that a body has by name, or else the body as the main input.

    If the main input is a text, other values are given as JSON.
    """
    names = {name for port in workflow.inputs for name in (port.name, *port.aliases)}
    if body is None or (isinstance(body, dict) and set(body) <= names):
        return {} if body is None else dict(body)
    port = next((port for port in workflow.inputs if port.name == workflow.main_input), None)
    if port is None:
        return {}
    is_text = port.type == "string" and not isinstance(body, str)
    return {port.name: json.dumps(body, ensure_ascii=False) if is_text else body}


async def add_hook(
    project: Project, store: SqliteStore, file: str, *, name: str, workflow: str, form: Format
) -> tuple[HookRow, str]:
    """Adds a hook; returns it with its secret, which is shown only once."""
    reading = project.read(file, workflow)
    chosen = name or re.sub(r"[^a-z0-9._-]+", "-", reading.workflow.name.lower()).strip("-._")[:64]
    if NAME.fullmatch(chosen) is None or chosen in _TAKEN:
        words = f"{chosen!r} cannot be the name of a hook"
        advice = "give --name: lower-case letters, digits, '.', '_' and '-', up to 64"
        raise UsageError(words, help=advice)
    path, root = Path(project.locate(file)).resolve(), project.root.resolve()
    if not path.is_relative_to(root):
        raise UsageError(f"{file!r} is not a file of the project {str(root)!r}")
    secret = new_secret(form)
    sealed = store.seals.seal(secret, "hook", chosen)
    row = HookRow(chosen, str(path.relative_to(root)), workflow, form, time.time(), sealed)
    if not await store.add_hook(row):
        words = f"there is a hook {chosen!r} already"
        raise UsageError(words, help="give another one with --name, or see `whorl server hook ls`")
    return row, secret


async def rotate_hook(store: SqliteStore, name: str, keep_s: float) -> str:
    """Returns a new secret for a hook; the old one stays valid for `keep_s` seconds."""
    row = known_hook(store, name)
    secret = new_secret("github" if row.format == "github" else "standard")
    await store.rotate_hook(name, store.seals.seal(secret, "hook", name), time.time() + keep_s)
    return secret


def known_hook(store: SqliteStore, name: str) -> HookRow:
    row = store.hook(name)
    if row is None:
        advice = did_you_mean(name, [each.name for each in store.hooks()])
        advice = advice or "`whorl server hook ls` lists them"
        raise UsageError(f"there is no hook {name[:80]!r}", help=advice)
    return row
