"""Every promise of the document about loops has a test."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from studio_files import ROOT, SHARED

SEEDS = sorted((SHARED / "seeds").glob("002_*.txt"))
needs_seed = pytest.mark.skipif(not SEEDS, reason="the document is not beside the project")

EXACTLY = "The limit alone: it runs exactly that often"
DECIDED = "A router decides: continue goes round, done leaves"
APPEND = "Append: the input grows by each result"
TEXT_ONLY = "Append takes text only"
STABLE = "Stable: two results in a row that are alike"
NOTHING = "Nothing follows continue: the router's own value goes round"
CLAMPED = "A limit out of range is drawn in, with a warning"
BETWEEN = "test_the_body_is_what_lies_between"
WORDS = "test_events_of_the_dialect_are_told_as_data"
ALIKE = "test_how_alike_two_results_are"

# A sentence of the document, and the case (by its title) or the test (by its name) that holds it.
PROMISES = {
    "**Self-critique loops**": "test_a_text_refines_itself",
    "**Agentic reasoning**": "test_a_tool_searches_until_it_is_enough",
    "**Convergence workflows**": "test_a_summary_is_written_when_it_stops_changing",
    "**Multi-pass extraction**": "Replace passes any JSON on",
    "| **Input** | Array of items | Single initial value |": EXACTLY,
    "| **Per-iteration input** | One item from array |": "Items in order, merged",
    "| **Termination** | All items processed | Condition met OR max iterations |": STABLE,
    "Aggregator (collects all results) | Exit (passes final result through) |": EXACTLY,
    "Cycle detection still works": "A circle that is no loop",
    "| maxIterations | int | 5 | Hard cap on iterations (safety valve, 1-50) |": CLAMPED,
    "| exitCondition | enum | `max_iterations` |": "Five iterations, unless it says otherwise",
    "| stabilityThreshold | float | 0.95 |": "Stable: the threshold must be exceeded",
    "| feedbackMode | enum | `replace` |": EXACTLY,
    "| input | text/json | yes | Initial value for first iteration |": "Replace passes any JSON on",
    "| output | text/json | Final iteration result |": EXACTLY,
    "| iterations | json | Array of all intermediate results |": EXACTLY,
    "| count | number | How many iterations ran |": EXACTLY,
    "Run exactly `maxIterations` times. Output = last iteration's result.": EXACTLY,
    "The subgraph must contain a **Router node**": "No router decides",
    "`done` handle → Exit node receives value → loop stops": DECIDED,
    "`continue` handle → that value becomes next iteration's input": NOTHING,
    "must include `selectedBranch` in its `NodeOutput.value`": "test_a_route_by_a_models_answer",
    "Loop reads the Router's output value as the next iteration's input": NOTHING,
    "it can use an LLM to decide whether the result is good enough": DECIDED,
    "Stop when similarity exceeds `stabilityThreshold`": STABLE,
    "Similarity = `1.0 - (edit_distance / max(len_a, len_b))`": ALIKE,
    "truncated to 10,000 chars before comparison": ALIKE,
    "(compact, deterministic key order) before comparison": (
        "Stable: objects are compared by their sorted keys"
    ),
    "the truncation cap keeping it fast": "test_long_results_are_compared_in_no_time",
    "Input → [Loop] → LLM (draft) → LLM (critique) → Transform (merge feedback) → [Exit]": (
        "test_a_text_refines_itself"
    ),
    "└─ continue → Transform (add feedback) ──→ (feeds back to LLM)": (
        "test_an_edge_back_is_no_circle"
    ),
    "└─ continue → (back to LLM)": NOTHING,
    "path is inside the subgraph. It's not a real cycle in the DAG": (
        "test_the_continue_path_belongs_to_the_body"
    ),
    "Exit is a pass-through marker — no config needed": EXACTLY,
    "Every Loop node must have exactly one Exit node downstream": "Two exits of one loop",
    "An Exit node without a paired Loop is a validation error": "An exit without a loop",
    "Exactly like Iterator↔Aggregator pairing rules": "An iterator needs its aggregator",
    "1. **Forward BFS** from Loop node": BETWEEN,
    "2. **Backward BFS** from Exit": BETWEEN,
    "3. **Intersection** = subgraph body": BETWEEN,
    "4. Validate exactly one Exit found": "Two exits of one loop",
    "input = result_0  (feedbackMode=replace, works with text or JSON)": (
        "Replace passes any JSON on"
    ),
    'input + "\\n---\\n" + result_0  (feedbackMode=append': APPEND,
    "text-only — error if input is non-string JSON": "Append refuses an input that is no text",
    "text-only: output appended to input as conversation": TEXT_ONLY,
    "`skip_nodes` = all subgraph node IDs": "What lies outside of the body runs once",
    "`extra_outputs` = `{exit_id: final_result}`": EXACTLY,
    "| `workflow.node.iteration` | `{node_id, index, total, input_preview}` |": WORDS,
    "| `workflow.node.streaming` | `{node_id, tokens}` |": WORDS,
    "| `workflow.node.completed` | `{node_id, iterations_run, exit_reason}` |": WORDS,
    "`exit_reason` enum: `max_iterations`, `evaluator_done`, `stable_output`, `error`": WORDS,
    "### Template: Self-Refine": "test_a_text_refines_itself",
    "### Template: Agentic Search": "test_a_tool_searches_until_it_is_enough",
    "- Router LLM system prompt:": DECIDED,
    "`maxIterations` clamped to [1, 50]. Configurable, default 5.": CLAMPED,
    "Existing workflow timeout applies per synthetic execution": (
        "The timeout of the workflow bounds each iteration"
    ),
    "Each synthetic execution emits cost events. Loop node sums them.": (
        "The cost of every call is summed into its loop and the run"
    ),
    "Existing budget check runs before each sidecar call inside the loop": (
        "The budget is checked before each call"
    ),
    # What the document leaves to its second phase is delivered.
    "- Nested loops (Loop inside Loop)": "A loop inside of a loop",
    "- Loop inside Iterator subgraph": "A loop inside of an iterator",
    "- Visual iteration counter on canvas": "test_an_iteration_is_announced_with_its_input",
    "- Replay/inspect individual loop iterations": (
        "test_single_iterations_are_inspected_and_replayed"
    ),
}


def names() -> set[str]:
    found: set[str] = set()
    for path in (ROOT / "conformance" / "studio").glob("*.md"):
        found.update(re.findall(r"^# (.+)$", path.read_text(), re.MULTILINE))
    for path in Path(__file__).parent.glob("test_*.py"):
        found.update(re.findall(r"^def (test_\w+)", path.read_text(), re.MULTILINE))
    return found


@pytest.mark.parametrize("sentence", PROMISES)
def test_a_promise_has_a_test(sentence: str) -> None:
    assert PROMISES[sentence] in names()


@needs_seed
@pytest.mark.parametrize("sentence", PROMISES)
def test_a_promise_is_in_the_document(sentence: str) -> None:
    assert sentence in SEEDS[0].read_text()
