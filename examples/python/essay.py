"""Writes, reviews and revises, and gives the best of three attempts."""

from dataclasses import dataclass

import whorl


@dataclass
class Attempt:
    text: str = ""
    feedback: str = ""


@dataclass
class Review:
    score: float
    feedback: str


@whorl.workflow(budget=0.50)
def essay(topic: str) -> dict[str, object]:
    with whorl.loop(Attempt(), at_most=3, best=True) as polish:
        state = polish.state
        state.text = whorl.ask(f"Write about {topic}.\n{state.text}\n{state.feedback}")
        review = whorl.ask(f"Review this, and score it from 0 to 1: {state.text}", returns=Review)
        state.feedback = review.feedback
        polish.score(review.score, at_least=0.9)
        polish.plateau(2)
    return {"text": state.text, "score": review.score, "why": polish.facts.exit_reason}


if __name__ == "__main__":
    print(whorl.run_sync(essay, {"topic": "harbours"}).outputs)
