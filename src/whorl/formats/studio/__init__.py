"""Canvas files: nodes and edges as React Flow stores them, with loops between Loop and Exit."""

from whorl.plugins import Database, Wing

_TABLES = ("_meta", "workflows", "triggers")
WING = Wing(
    rank=3,
    readers={"studio": "whorl.formats.studio.reader:StudioReader"},
    libraries={"studio": "whorl.formats.studio.functions:LIBRARY"},
    databases=(
        Database(
            frozenset(("_meta", "workflows")), _TABLES, "whorl.formats.studio.database:take_over"
        ),
    ),
)
