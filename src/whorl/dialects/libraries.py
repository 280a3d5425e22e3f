"""The function libraries of our dialects, by the names under which expressions ask for them."""

from __future__ import annotations

LIBRARIES = {
    "loom": "whorl.dialects.loom.expressions:LOOM",
    "logic": "whorl.dialects.loom.expressions:LOGIC",
    "logic-lenient": "whorl.dialects.loom.expressions:LENIENT_LOGIC",
    "mcp-cli": "whorl.dialects.mcp_cli.functions:LIBRARY",
    "orka": "whorl.dialects.orka.functions:LIBRARY",
    "shodan": "whorl.dialects.shodan.functions:LIBRARY",
    "studio": "whorl.dialects.studio.functions:LIBRARY",
}
