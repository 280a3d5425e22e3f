"""The workflows of the shop, tested with mocks by name: `pytest examples/logic-apps`."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from whorl.testing import Whorl

ORDER = {"item": "eggs", "count": 2}


def test_an_order_is_priced_and_told(whorl: Whorl) -> None:
    whorl.mock("Post_message", {"outputs": {"statusCode": 201, "body": {"id": "m7"}}})
    given = {"body": ORDER, "relativePathParameters": {"shop": "north"}}
    outcome = whorl.run("Order/workflow.json", given)

    assert outcome.outputs["statusCode"] == 201
    assert outcome.outputs["body"] == {"total": 6, "told": "m7"}
    (told,) = outcome.calls("Post_message")
    assert "2 x eggs for north" in str(told.inputs)


def test_an_order_fails_when_nobody_can_be_told(whorl: Whorl) -> None:
    whorl.mock("Post_message", {"status": "Failed", "error": {"code": "Busy", "message": "later"}})
    given = {"body": ORDER, "relativePathParameters": {"shop": "north"}}

    assert whorl.run("Order/workflow.json", given).status == "failed"


def test_the_agent_asks_for_the_price(whorl: Whorl) -> None:
    rules = [
        {"match": '"total"', "replies": ["They cost 12."]},
        {
            "match": "How much",
            "replies": [{"calls": [{"id": "1", "name": "Get_price", "arguments": {"Count": 4}}]}],
        },
    ]
    given = {"body": {"question": "How much are 4 eggs?"}}
    outcome = whorl.run("Advise/workflow.json", given, models=rules)

    assert outcome.outputs["body"] == {"answer": "They cost 12."}
    assert outcome.loop("Clerk").iterations == 2
