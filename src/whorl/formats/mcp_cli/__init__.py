"""Workflows of mcp-cli: steps with needs, and loops whose condition a model judges."""

from whorl.plugins import Mark, Wing

# Many programs have a file of this name: a section of it must hold what only this one has.
_PATTERN = (
    rb"^includes[ \t]*:[ \t]*(?:\{[^}\n]*|(?:#.*)?\n(?:[ \t].*\n|#.*\n|\n)*?[ \t]+)"
    rb"(?:settings|providers|servers|workflows)[ \t]*:"
)
WING = Wing(
    rank=1,
    readers={"mcp-cli": "whorl.formats.mcp_cli.reader:McpCliReader"},
    libraries={"mcp-cli": "whorl.formats.mcp_cli.functions:LIBRARY"},
    marks=(Mark("config.yaml", _PATTERN, "whorl.formats.mcp_cli.configuration:read_sections"),),
    find_named="whorl.formats.mcp_cli.steps:find_named",
)
