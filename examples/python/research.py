"""Searches the web and a server of tools until there is enough to answer a question."""

import asyncio
from dataclasses import dataclass

import whorl


@dataclass
class Next:
    enough: bool
    query: str
    answer: str


@dataclass
class Answer:
    text: str
    searches: int


@whorl.workflow(budget=1.00)
async def research(question: str, search_url: str) -> Answer:
    query, notes, answer = question, "", ""
    search = whorl.loop(at_most=4)
    async for turn in search:
        page, memo = await asyncio.gather(
            whorl.http(search_url, query={"q": query}, retry=2, timeout=30, name="page"),
            whorl.tool("notes/find", query=query),
        )
        notes += f"\n{page.body}\n{memo}"
        plan = await whorl.ask(f"{question}\nIs this enough to answer? {notes}", returns=Next)
        query, answer = plan.query, plan.answer
        if plan.enough:
            turn.stop("enough")
    return Answer(answer, search.iterations)


if __name__ == "__main__":
    given = {"question": "Why do tides differ?", "search_url": "https://example.com/search"}
    print(whorl.run_sync(research, given).value)
