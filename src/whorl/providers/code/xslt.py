"""The task `xslt`: transforms XML by a map, in a process that reads no file and no address.

It has a limit of time and one of memory, since a map is a program: it may never end.
"""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

from whorl.errors import ProviderError
from whorl.providers.commands import late
from whorl.providers.context import OwnTask
from whorl.providers.json_values import clean, shorten
from whorl.providers.processes import Program, run_program
from whorl.providers.task import Effect, Emit, Inputs, Reply, Request, time_limit

if TYPE_CHECKING:
    from whorl.language import Json

TIME_S = 60.0
MEMORY_MB = 512
RESULT_MAX = 16_000_000
INSTALL = "pip install lxml"
RUNNER = """
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
        program = Program(
            argv=(sys.executable, "-I", "-c", RUNNER),
            environment={},
            folder="/",
            stdin=json.dumps(given).encode(),
        )
        what = f"the map {inputs.text('name')!r}"
        async with time_limit(timeout_s, late(what, timeout_s)):
            finished = await run_program(program, lambda text: None, output_max=RESULT_MAX)
        try:
            made = json.loads(finished.stdout)
        except ValueError:
            ended = f"nothing (exit code {finished.exit_code})"
            made = {"error": f"it gave {'more output than allowed' if finished.cut else ended}"}
        if "missing" in made:
            why = f"{what} needs the extra `xslt`: {INSTALL}"
            raise ProviderError(why, code="P109")
        if "error" in made:
            raise ProviderError(f"{what} failed: {shorten(made['error'], 500)}", code="P109")
        return Reply(made)
