"""When a loop stops: every form of `until`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, assert_never

from whorl import ir
from whorl.dialects.native.scalars import is_template
from whorl.dialects.native.subjects import last_with_result, result_text
from whorl.dialects.writing import Inline
from whorl.ir.walk import names_given

if TYPE_CHECKING:
    from whorl.dialects.native.writing.here import Here


def write_condition(here: Here, condition: ir.Condition, body: ir.Block) -> Any:
    """A condition at the top of `until`, where a list means any of it."""
    if isinstance(condition, ir.AnyOf) and len(condition.conditions) > 1:
        return [_write(here, part, body) for part in condition.conditions]
    return _write(here, condition, body)


def _write(here: Here, condition: ir.Condition, body: ir.Block) -> Any:
    match condition:
        case ir.When():
            return here.test(condition.test)
        case ir.Score():
            return {"score": _score(here, condition, body)}
        case ir.Judge():
            return {"judge": _judge(here, condition, body)}
        case ir.BranchTaken():
            return {"branch": Inline({here.naming.of(condition.node): condition.name})}
        case ir.Stable():
            return {"stable": _stable(here, condition, body)}
        case ir.Plateau():
            return {"plateau": _plateau(condition)}
        case ir.AnyOf():
            return {"any": [_write(here, part, body) for part in condition.conditions]}
        case ir.AllOf():
            return {"all": [_write(here, part, body) for part in condition.conditions]}
        case _:
            assert_never(condition)


def _score(here: Here, score: ir.Score, body: ir.Block) -> dict[str, Any]:
    found: dict[str, Any] = Inline()
    if score.pattern is None:
        found["from"] = here.computed(score.source)
    else:
        found["pattern"] = score.pattern
        of = _of(here, score.source, body)
        if of is not None:
            found["of"] = of
    if score.at_least is not None:
        found["at_least"] = _number(score.at_least)
    low, high = score.low, score.high
    is_share = score.at_least is not None and 0 < score.at_least <= 1
    if is_share and (low, high) == (0.0, 1.0):
        return found
    if is_share and low is None and high is None:
        here.lose("a score without bounds", "a threshold up to 1 means scores from 0 to 1 there")
    for name, bound in (("low", low), ("high", high)):
        if bound is not None:
            found[name] = _number(bound)
    return found


def _judge(here: Here, judge: ir.Judge, body: ir.Block) -> Any:
    found: dict[str, Any] = {"question": here.text(judge.question)}
    of = _of(here, judge.subject, body)
    if of is not None:
        found["of"] = of
    model = judge.model or _default_model(judge)
    if model:
        found["model"] = model[0] if len(model) == 1 else list(model)
    if judge.votes != 1:
        found["votes"] = judge.votes
    if judge.inputs != ir.Constant(None) and not _says_model_only(judge):
        here.lose("what a judge is told beside the question", "`judge` has no field for it")
    return found["question"] if len(found) == 1 else found


def _says_model_only(judge: ir.Judge) -> bool:
    return set(_defaults(judge)) <= {"provider", "model"} and (
        not _defaults(judge) or bool(_default_model(judge))
    )


def _defaults(judge: ir.Judge) -> dict[str, Any]:
    entries = dict(judge.inputs.entries) if isinstance(judge.inputs, ir.Fields) else {}
    found = entries.get("defaults")
    if set(entries) != {"defaults"} or not isinstance(found, ir.Constant):
        return {"": None}
    return found.value if isinstance(found.value, dict) else {"": None}


def _default_model(judge: ir.Judge) -> tuple[str, ...]:
    """The model of a judge whose file gives it as a default."""
    defaults = _defaults(judge)
    model, provider = defaults.get("model"), defaults.get("provider")
    if not isinstance(model, str):
        return ()
    return (f"{provider}/{model}" if isinstance(provider, str) else model,)


def _stable(here: Here, stable: ir.Stable, body: ir.Block) -> Any:
    of = _of(here, stable.subject, body)
    if of is None:
        return _number(stable.threshold)
    return Inline(threshold=_number(stable.threshold), of=of)


def _plateau(plateau: ir.Plateau) -> Any:
    if not plateau.min_delta:
        return plateau.patience
    return Inline(patience=plateau.patience, min_delta=_number(plateau.min_delta))


def _of(here: Here, subject: ir.Value, body: ir.Block) -> str | None:
    """What a condition reads; None is the text of the last step."""
    last = last_with_result(body)
    if last is None and subject == ir.Constant(None):
        return None
    for name, node in (*([(last.name, last)] if last else ()), *names_given(body)):
        if subject == result_text(node) and here.is_read_as_it_is(name):
            return None if node is last else name
    if isinstance(subject, ir.Expression):
        written = str(here.computed(subject))
        is_word = written.replace("-", "_").isidentifier()
        return written if not is_word or is_template(written) else f"{{{{ {written} }}}}"
    return here.text(subject) if not _is_text(subject) else str(here.computed(subject))


def _is_text(value: ir.Value) -> bool:
    return isinstance(value, ir.Constant) and isinstance(value.value, str)


def _number(value: float) -> float:
    return int(value) if value == int(value) and abs(value) < 1e15 else value
