"""Tests of workflows: steps are mocked by name, and time is virtual. No real call is made.

`mocks`     What a mock says, the steps that its key means, and the answer of each call.
`running`   A run of a workflow with mocks, and its outcome.
`files`     The test files of a workflow: reading, running, and writing one from a run.
`api`       `whorl.testing`.
"""

from whorl.plugins import FileKind, Wing

WING = Wing(
    commands={
        "test": ("Start", 3, "whorl.wings.testing.commands:test", "Run the tests of workflows.")
    },
    offers={"mocks": "whorl.wings.testing.files:mocked_run"},
    files=(
        FileKind(
            "tests",
            "whorl.wings.testing.mocks:SCHEMA",
            "whorl.wings.testing.commands:check_file",
            infix=".test.",
            ending=".test.yaml",
        ),
    ),
)
