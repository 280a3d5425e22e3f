"""Writes, reviews and revises, and gives the best of three attempts."""

from dataclasses import dataclass, replace

import whorl


@dataclass
class Essay:
    text: str
    score: float
    why: str


@dataclass
class Review:
    score: float
    feedback: str


@whorl.workflow(budget=0.50)
async def essay(topic: str) -> Essay:
    text, feedback = "", ""
    polish = whorl.loop(Essay, at_most=3, keep="best", plateau=2)
    async for turn in polish:
        text = await whorl.ask(f"Write about {topic}.\n{text}\n{feedback}")
        review = await whorl.ask(f"Review this, and score it from 0 to 1: {text}", returns=Review)
        turn.score(review.score, at_least=0.9)
        turn.value = Essay(text, review.score, "")
        feedback = review.feedback
    return replace(polish.result, why=polish.exit_reason)


if __name__ == "__main__":
    print(whorl.run_sync(essay, {"topic": "harbours"}).value)
