"""JSON actions with expressions: files of Loom, and definitions of Azure Logic Apps."""

from whorl.plugins import Mark, Wing

WING = Wing(
    rank=5,
    readers={"loom": "whorl.formats.loom.reader:LoomReader"},
    libraries={
        "deployment": "whorl.formats.loom.functions.deployment:LIBRARY",
        "loom": "whorl.formats.loom.expressions:LOOM",
        "logic": "whorl.formats.loom.expressions:LOGIC",
        "logic-lenient": "whorl.formats.loom.expressions:LENIENT_LOGIC",
    },
    tasks={
        "javascript": "whorl.formats.loom.code:JavaScript",
        "xslt": "whorl.formats.loom.code:Xslt",
    },
    marks=(Mark("host.json", rb"ExtensionBundle\.Workflows"),),
    find_named="whorl.formats.loom.references:find_named",
)
