"""Tests of workflows: mocks by the names of steps, in virtual time; nothing is called.

format    what may stand in a test file
mocks     what a mock says, which steps its key means, and which answer a call gets
running   a run of a workflow with mocks, and what came of it
files     the test files beside a workflow, what they expect, and those that are made from runs
api       `whorl.testing`
"""

from whorl.plugins import FileKind, Wing

WING = Wing(
    commands={
        "test": (
            "Start",
            3,
            "whorl.wings.testing.commands:test",
            "Run the tests of workflows.",
        ),
    },
    offers={"mocks": "whorl.wings.testing.files:mocked_run"},
    files=(
        FileKind(
            "tests",
            "whorl.wings.testing.format:SCHEMA",
            "whorl.wings.testing.commands:check_file",
            infix=".test.",
            ending=".test.yaml",
        ),
    ),
)
