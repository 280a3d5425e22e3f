"""Workflows of mcp-cli: steps with needs, and loops whose condition a model judges."""

from whorl.plugins import Mark, Wing

# Many programs have a file of this name: a section of it must hold what only this one has.
_SECTION = (
    rb"^(?:%s)[ \t]*:[ \t]*"
    rb"(?:\{[^}\n]*|(?:#.*)?\n(?:[ \t].*\n|#.*\n|\n)*?[ \t]+)(?:%s)[ \t]*:"
)
_PATTERN = b"|".join(
    (
        _SECTION % (b"includes", b"settings|providers|servers|workflows"),
        _SECTION % (b"ai", b"default_provider|interfaces"),
    )
)
WING = Wing(
    rank=1,
    readers={"mcp-cli": "whorl.formats.mcp_cli.reader:McpCliReader"},
    libraries={"mcp-cli": "whorl.formats.mcp_cli.functions:LIBRARY"},
    marks=(Mark("config.yaml", _PATTERN, "whorl.formats.mcp_cli.configuration:read_sections"),),
    find_named="whorl.formats.mcp_cli.steps:find_named",
)
