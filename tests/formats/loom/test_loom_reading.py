"""What reading a file finds: warnings, files beside it, the limits of the operator."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from loom_project import run_in

from whorl import ir
from whorl.dialects import read_workflow

if TYPE_CHECKING:
    from pathlib import Path

TURN = {
    "type": "until",
    "condition": "@equals(variables('loopIndex'), 9)",
    "actions": {"x": {"type": "compose", "inputs": "@variables('loopIndex')"}},
}


SETTING = {"definition": {"actions": {"Show": {"type": "Compose", "inputs": "@appsetting('Url')"}}}}


def test_app_settings_are_those_of_the_project(tmp_path: Path) -> None:
    settings = {"IsEncrypted": False, "Values": {"URL": "https://a.example", "Api-Key": "sesame"}}
    (tmp_path / "local.settings.json").write_text(json.dumps(settings))
    ran = run_in(tmp_path, SETTING)

    assert ran.output == "https://a.example"
    assert run_in(tmp_path, SETTING, given={"Url": "given"}).output == "given"
    keyed = {"type": "Compose", "inputs": "@length(appsetting('Api-Key'))"}
    ran = run_in(tmp_path, {"definition": {"actions": {"Show": keyed}}})
    assert ran.output == len("sesame")
    assert b"sesame" not in ran.bytes_stored()


def test_the_operator_sets_the_usual_limits_of_loops() -> None:
    text = json.dumps({"actions": {"turn": TURN}})
    own = json.dumps({"actions": {"turn": TURN | {"limit": {"count": 7, "timeout": "PT2M"}}}})
    usual = {"iterations": 5, "time": 90.0}

    def limits(text: str, **given: Any) -> ir.LoopLimits:
        loop = read_workflow(text, "w.json", **given).workflow.body.nodes[-1]
        assert isinstance(loop, ir.Loop)
        return loop.limits

    assert limits(text) == ir.LoopLimits(60, 3_600.0)
    assert limits(text, limits=usual) == ir.LoopLimits(5, 90.0)
    assert limits(own, limits=usual) == ir.LoopLimits(7, 120.0)
