"""The task `javascript`: a function body run by Node, only with leave for commands."""

from __future__ import annotations

import asyncio
import json
import shutil
from typing import TYPE_CHECKING

from whorl.errors import ProviderError
from whorl.providers.inputs import Inputs
from whorl.providers.programs import Program, run_program
from whorl.providers.task import Estimate, Reply, Usage
from whorl.providers.texts import clean

if TYPE_CHECKING:
    from whorl.language import Json
    from whorl.providers.context import Context
    from whorl.providers.programs import Finished
    from whorl.providers.settings import Settings
    from whorl.providers.task import Effect, Emit, Request

PROGRAM = "node"
TIMEOUT_S = 60.0
# The result stands alone on the last line, behind this mark and whatever the body prints.
MARK = "\x1ewhorl:"
RUNNER = """
const mark = process.argv[1];
let text = '';
for await (const part of process.stdin) text += part;
const { code, module, name, inputs } = JSON.parse(text);
const { stripTypeScriptTypes } = await import('node:module');
const strip = (source) => {
  try { return stripTypeScriptTypes(source); }
  catch (fault) {
    if (fault.code !== 'ERR_UNSUPPORTED_TYPESCRIPT_SYNTAX') throw fault;
    return stripTypeScriptTypes(source, { mode: 'transform' });
  }
};
const load = (source) => import('data:text/javascript,' + encodeURIComponent(source));
const wrap = (source) => `export default async function (inputs) {\\n${source}\\n}`;
let isRead = false;
try {
  const source = module ? code : wrap(code);
  let found;
  try { found = await load(source); }
  catch (fault) {
    if (!(fault instanceof SyntaxError) || !stripTypeScriptTypes) throw fault;
    found = await load(strip(source));
  }
  isRead = true;
  if (typeof found.default !== 'function') throw new Error('there is no default export');
  const value = await found.default(inputs);
  console.log('\\n' + mark + JSON.stringify({ value: value === undefined ? null : value }));
} catch (fault) {
  const said = fault instanceof Error ? `${fault.name}: ${fault.message}` : String(fault);
  const hint = fault instanceof SyntaxError && !isRead && !stripTypeScriptTypes
    ? `; ${/\\.[cm]?ts$/.test(name) ? 'it' : 'if it'} is TypeScript: Node ${process.version} `
      + 'cannot read that; install Node 22.13 or newer, or write it in JavaScript' : '';
  console.log('\\n' + mark + JSON.stringify({ error: said + hint }));
}
"""


class JavaScript:
    """Inputs: code (a body, or with `module` a whole module with a default export), inputs, name.

    The value is what the function returns, as JSON.
    """

    effect: Effect = "outside"

    def __init__(self, context: Context) -> None:
        self._settings = context.settings

    def estimate(self, request: Request) -> Estimate:
        """A call, without a price."""
        return Estimate(calls=1)

    async def perform(self, request: Request, emit: Emit) -> Reply:
        """Runs it to its end. Raises ProviderError."""
        inputs = Inputs("javascript", request.inputs)
        program = _program(inputs, self._settings)
        timeout_s = request.timeout_s or TIMEOUT_S
        try:
            async with asyncio.timeout(timeout_s) as deadline:
                finished = await run_program(program, emit)
        except TimeoutError:
            if not deadline.expired():
                raise
            raise ProviderError(
                f"a function took longer than {timeout_s:g} s and was stopped; raise timeout of "
                "the step",
                code="P108",
                retryable=True,
            ) from None
        return Reply(_value(finished), Usage(calls=1), {"exit_code": finished.exit_code})


def check_node(settings: Settings) -> None:
    """Raises ProviderError when functions may not run, or cannot: no leave, no Node."""
    allowed = settings.allow.commands
    if allowed is not True and not (isinstance(allowed, tuple) and PROGRAM in allowed):
        raise ProviderError(
            f"commands are not allowed: {PROGRAM!r} was not started; to allow it, set [allow] "
            f'commands = true, or commands = ["{PROGRAM}"], in whorl.toml',
            code="R110",
        )
    if shutil.which(PROGRAM, path=settings.environment.get("PATH", "")) is None:
        raise ProviderError(
            f"{PROGRAM!r} was not found on PATH, and functions need it; install Node.js",
            code="P109",
        )


def _program(inputs: Inputs, settings: Settings) -> Program:
    check_node(settings)
    told: dict[str, Json] = {
        "code": clean(inputs.needed("code")),
        "module": inputs.flag("module", default=False),
        "name": inputs.text("name"),
        "inputs": inputs.table("inputs"),
    }
    return Program(
        argv=(PROGRAM, "--input-type=module", "--no-warnings", "-e", RUNNER, MARK),
        environment=settings.environment,
        folder=settings.project_root,
        stdin=json.dumps(told).encode(),
    )


def _value(finished: Finished) -> Json:
    _, mark, said = finished.stdout.rpartition(MARK)
    try:
        told = json.loads(said) if mark else None
    except ValueError:
        told = None
    if not isinstance(told, dict):
        lines = finished.stderr.strip().splitlines()
        words = f": {lines[-1][:300]}" if lines else ""
        raise ProviderError(
            f"a function gave no result (exit code {finished.exit_code}){words}", code="P109"
        )
    if "error" in told:
        raise ProviderError(f"a function failed: {str(told['error'])[:500]}", code="P109")
    value: Json = told.get("value")
    return value
