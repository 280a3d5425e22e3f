"""Asks a person after each attempt, and continues with the answer."""

import asyncio

import whorl


@whorl.workflow(budget=0.50)
def letter(subject: str) -> dict[str, object]:
    with whorl.loop({"feedback": ""}, at_most=5) as write:
        text = whorl.ask(f"Write a letter about {subject}. {write.state['feedback']}")
        decision = whorl.approve("Shall it be sent?", show=text)
        write.state["feedback"] = decision.feedback
        write.until(decision.approved)
    return {"text": text, "approved": decision.approved}


async def main(subject: str, answers: list[tuple[bool, str]]) -> whorl.Result:
    async with whorl.Session() as session:
        run = await session.start(letter, {"subject": subject})
        for approved, feedback in answers:
            await run.result()
            answer = run.approve if approved else run.reject
            await answer(feedback=feedback)
        return await run.result()


if __name__ == "__main__":
    print(asyncio.run(main("the harbour", [(False, "Shorter."), (True, "")])).outputs)
