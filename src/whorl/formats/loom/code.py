"""Tasks that run code of a file in a process with few rights: `javascript` and `xslt`."""

from __future__ import annotations

import json
import shutil
import sys
from typing import TYPE_CHECKING, Any

from whorl.dialects.reading.texts import json_in
from whorl.errors import ProviderError
from whorl.providers.json_values import clean, shorten
from whorl.providers.processes import Program, check_permission, last_line, late, run_program
from whorl.providers.task import Effect, Emit, Inputs, OwnTask, Reply, Request, Usage, time_limit

if TYPE_CHECKING:
    from whorl.language import Json
    from whorl.providers.processes import Finished

NODE = "node"
NODE_TIMEOUT_S = 60.0
# The result is alone on the last line, after the printed output of the body and this mark.
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
  let loaded;
  try { loaded = await load(source); }
  catch (fault) {
    if (!(fault instanceof SyntaxError) || !stripTypeScriptTypes) throw fault;
    loaded = await load(strip(source));
  }
  isRead = true;
  if (typeof loaded.default !== 'function') throw new Error('there is no default export');
  const value = await loaded.default(inputs);
  console.log('\\n' + mark + JSON.stringify({ value: value === undefined ? null : value }));
} catch (fault) {
  const message = fault instanceof Error ? `${fault.name}: ${fault.message}` : String(fault);
  const hint = fault instanceof SyntaxError && !isRead && !stripTypeScriptTypes
    ? `; ${/\\.[cm]?ts$/.test(name) ? 'it' : 'if it'} is TypeScript: Node ${process.version} `
      + 'cannot read that; install Node 22.13 or newer, or write it in JavaScript' : '';
  console.log('\\n' + mark + JSON.stringify({ error: message + hint }));
}
"""

# Code of a file that may reach nothing but its inputs, each of which is a name that it sees. Should
# it get out of its context: there are no variables of the environment, files and programs.
SEALED_RUNNER = """
const { createContext, Script } = await import('node:vm');
const mark = process.argv[1];
let text = '';
for await (const part of process.stdin) text += part;
const { code, inputs, seconds } = JSON.parse(text);
const codeGeneration = { strings: false, wasm: false };
const world = createContext(Object.create(null), { codeGeneration });
const run = (source) => new Script(source).runInContext(world, { timeout: seconds * 1000 });
let result;
try {
  const given = JSON.stringify(JSON.stringify(inputs));
  run(`Object.assign(globalThis, JSON.parse(${given}))`);
  result = await run(`(async () => {\\n${code}\\n})().then(
    (value) => JSON.stringify({ value: value === undefined ? null : value }),
    (fault) => JSON.stringify({ error: String(fault) }))`);
} catch (fault) { result = JSON.stringify({ error: String(fault) }); }
console.log('\\n' + mark + result);
"""
SEALED_MEMORY_MB = 128
_SEALED_FLAGS = (
    "--experimental-permission",
    "--disallow-code-generation-from-strings",
    f"--max-old-space-size={SEALED_MEMORY_MB}",
)
# The exit codes of Node for a run without a result, with their causes.
_NO_RESULTS = {
    9: "Node 20 or newer is needed",
    13: "it waits for something that never happens",
    -6: f"it needed more than {SEALED_MEMORY_MB} MB of memory",
}


class JavaScript(OwnTask):
    """Inputs: code (a body, or with `module` a module), inputs, name. Gives the returned value.

    With `sealed` the code sees only its inputs, by their names.
    """

    async def perform(self, request: Request, emit: Emit) -> Reply:
        inputs = Inputs("javascript", request.inputs)
        check_permission(self._settings, NODE)
        node = shutil.which(NODE, path=self._settings.environment.get("PATH", ""))
        if node is None:
            why = "was not found on PATH, and functions need it; install Node.js"
            raise ProviderError(f"{NODE!r} {why}", code="P109")
        is_sealed, timeout_s = inputs.flag("sealed"), request.timeout_s or NODE_TIMEOUT_S
        function: dict[str, Json] = {
            "code": clean(inputs.needed("code")),
            "module": inputs.flag("module"),
            "name": inputs.text("name"),
            "inputs": inputs.table("inputs"),
            "seconds": timeout_s,
        }
        flags, runner = (_SEALED_FLAGS, SEALED_RUNNER) if is_sealed else ((), RUNNER)
        program = Program(
            argv=(node, *flags, "--input-type=module", "--no-warnings", "-e", runner, MARK),
            environment={} if is_sealed else self._settings.environment,
            folder=self._settings.project_root,
            stdin=json.dumps(function).encode(),
        )
        async with time_limit(timeout_s + is_sealed, late("a function", timeout_s)):
            finished = await run_program(program, (lambda text: None) if is_sealed else emit)
        return _returned(finished, is_sealed)


def _returned(finished: Finished, is_sealed: bool) -> Reply:
    _, mark, result = finished.stdout.rpartition(MARK)
    returned = json_in(result) if mark else None
    if not isinstance(returned, dict):
        why = _NO_RESULTS.get(finished.exit_code, "") if is_sealed else ""
        last = f": {why}" if why else last_line(finished.stderr)
        message = f"a function gave no result (exit code {finished.exit_code}){last}"
        raise ProviderError(message, code="P109")
    if "error" in returned:
        why = shorten(str(returned["error"]), 500)
        raise ProviderError(f"a function failed: {why}", code="P109")
    return Reply(returned.get("value"), Usage(calls=1), {"exit_code": finished.exit_code})


# XML is transformed by a map in a process that reads no file and no address. It has a limit of
# time and one of memory, since a map is a program: it may never end.

TIME_S = 60.0
MEMORY_MB = 512
RESULT_MAX = 16_000_000
INSTALL = "pip install 'whorl[xslt]'"
XSLT_RUNNER = """
import json, resource, sys
given = json.load(sys.stdin)
for kind, most in ((resource.RLIMIT_AS, given["memory"]), (resource.RLIMIT_CPU, given["seconds"])):
    try:
        resource.setrlimit(kind, (most, most))
    except (ValueError, OSError):
        pass
def transform():
    try:
        from lxml import etree
    except ImportError:
        return {"missing": True}
    def read(text, what):
        parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False)
        root = etree.fromstring(text.encode(), parser)
        if root.getroottree().docinfo.doctype:
            raise ValueError(f"{what} has a document type, which is not read")
        return root
    try:
        source, sheet = read(given["content"], "the content"), read(given["map"], "the map")
        etree.XSLT.set_global_max_depth(1_000)
        made = etree.XSLT(sheet, access_control=etree.XSLTAccessControl.DENY_ALL)(source)
        method = "xml" if made.getroot() is not None else "text"
        output = sheet.find("{http://www.w3.org/1999/XSL/Transform}output")
        if output is not None:
            method = output.get("method") or method
        return {"text": str(made), "method": method}
    except MemoryError:
        return {"error": "it needs more memory than allowed"}
    except (etree.Error, ValueError) as fault:
        return {"error": str(fault)}
json.dump(transform(), sys.stdout)
"""


class Xslt(OwnTask):
    """Inputs: content (XML), map (a stylesheet of XSLT 1.0), name. Gives `{text, method}`."""

    effect: Effect = "none"
    calls = 0

    async def perform(self, request: Request, emit: Emit) -> Reply:
        inputs = Inputs("xslt", request.inputs)
        timeout_s = request.timeout_s or TIME_S
        given: dict[str, Json] = {name: clean(inputs.needed(name)) for name in ("content", "map")}
        given |= {"memory": MEMORY_MB << 20, "seconds": int(timeout_s) + 1}
        argv, stdin = (sys.executable, "-I", "-c", XSLT_RUNNER), json.dumps(given).encode()
        program = Program(argv=argv, environment={}, folder="/", stdin=stdin)
        what = f"the map {inputs.text('name')!r}"
        async with time_limit(timeout_s, late(what, timeout_s)):
            finished = await run_program(program, lambda text: None, output_max=RESULT_MAX)
        made: Any = json_in(finished.stdout)
        if made is None:
            ended = f"nothing (exit code {finished.exit_code})"
            made = {"error": f"it gave {'more output than allowed' if finished.cut else ended}"}
        if "missing" in made:
            raise ProviderError(f"{what} needs the extra `xslt`: {INSTALL}", code="P109")
        if "error" in made:
            raise ProviderError(f"{what} failed: {shorten(made['error'], 500)}", code="P109")
        return Reply(made)
