"""Searches the web and a server of tools until there is enough to answer a question."""

from dataclasses import dataclass

import whorl


@dataclass
class Next:
    enough: bool
    query: str
    answer: str


@whorl.workflow(budget=1.00)
def research(question: str, search_url: str) -> dict[str, object]:
    with whorl.loop({"query": question, "notes": ""}, at_most=4) as search:
        state = search.state
        with whorl.together():
            page = whorl.http(search_url, query={"q": state["query"]}, retry=2, timeout=30)
            memo = whorl.tool("notes/find", query=state["query"])
        state["notes"] = f"{state['notes']}\n{page.body}\n{memo}"
        plan = whorl.ask(f"{question}\nIs this enough to answer? {state['notes']}", returns=Next)
        state["query"] = plan.query
        search.until(plan.enough)
    return {"answer": plan.answer, "searches": search.facts.iterations}


if __name__ == "__main__":
    given = {"question": "Why do tides differ?", "search_url": "https://example.com/search"}
    print(whorl.run_sync(research, given).outputs)
