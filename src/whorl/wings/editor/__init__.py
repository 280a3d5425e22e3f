"""The editor: pictures of files, operations on them, undo, and tries of single steps."""

from whorl.plugins import Wing

WING = Wing(
    commands={
        "edit": (
            "file",
            0,
            "whorl.wings.editor.commands:edit",
            "Change a workflow file by operations.",
        ),
        "try": (
            "Run",
            1,
            "whorl.wings.editor.commands:try_command",
            "Run one step, or one iteration of a loop.",
        ),
    },
    routers=("whorl.wings.editor.routes:router",),
    names={"edit": "whorl.wings.editor.files"},
    offers={"editor": "whorl.wings.editor.files:EDITOR"},
)
