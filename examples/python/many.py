"""Summarises fifty pages, ten at once, within a budget, and says what all of them cost."""

import whorl


async def summarise(page: str) -> str:
    return await whorl.ask(f"Summarise in one sentence: {page}", max_tokens=100, retry=2)


@whorl.workflow(budget=0.25)
async def summaries(pages: list[str]) -> list[str]:
    return await whorl.each(summarise, pages, at_once=10)


if __name__ == "__main__":
    result = whorl.run_sync(summaries, {"pages": [f"Page {n}" for n in range(50)]})
    print(result.status, len(result.value), result.usage.cost_usd)
