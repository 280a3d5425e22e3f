"""Asks a person after each attempt, and goes on with what they say."""

import asyncio
from dataclasses import dataclass

import whorl


@dataclass
class Letter:
    text: str
    approved: bool


@whorl.workflow(budget=0.50)
async def letter(subject: str) -> Letter:
    feedback = ""
    write = whorl.loop(Letter, at_most=5)
    async for turn in write:
        text = await whorl.ask(f"Write a letter about {subject}. {feedback}")
        decision = await whorl.approve("Shall it be sent?", show=text)
        turn.value = Letter(text, decision.approved)
        if decision.approved:
            turn.stop("approved")
        feedback = decision.feedback
    return write.result


async def main(subject: str, answers: list[tuple[bool, str]]) -> whorl.Result[Letter]:
    async with whorl.Session() as session:
        run = await session.start(letter, {"subject": subject})
        for approved, feedback in answers:
            await run.result()
            await (run.approve if approved else run.reject)(feedback=feedback)
        return await run.result()


if __name__ == "__main__":
    print(asyncio.run(main("the harbour", [(False, "Shorter."), (True, "")])).value)
