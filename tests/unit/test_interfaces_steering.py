"""What a person asks for has a name of its own, each time."""

from __future__ import annotations

from whorl.services.steering import asked, cancelled, resumed


def test_every_request_has_a_name_of_its_own() -> None:
    made = [asked("run.paused", {"by": "person"}), asked("run.paused"), resumed(), cancelled()]

    names = [event.body["request"] for event in made]
    assert len(set(names)) == 4
    assert all(isinstance(name, str) and len(name) == 32 for name in names)
    assert made[0].body["by"] == "person"
