"""Tests of workflows: mocks by the names of steps, in virtual time; nothing is called.

places    which steps a key such as `polish[2]/review` means
mocks     what a mock says, and which answer a call gets
running   a run of a workflow with mocks, and what came of it
files     the test files beside a workflow
checking  what a test expects against what came of its run
coverage  which steps, branches and exits were reached
saving    a test file that is made from a run
"""

from whorl.plugins import FileKind, Wing

WING = Wing(
    commands={
        "test": (
            "Write",
            "whorl.wings.testing.commands:test",
            "Run the tests of workflows, or replay a recorded run.",
        ),
    },
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
