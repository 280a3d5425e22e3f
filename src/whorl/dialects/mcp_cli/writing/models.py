"""Models: a provider and a model apart, where others write provider/model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whorl import ir
from whorl.dialects.writing import Inline

if TYPE_CHECKING:
    from whorl.dialects.mcp_cli.writing.page import Here


def model_fields(here: Here, provider: ir.Value | None, model: ir.Value | None) -> dict[str, Any]:
    """The fields that choose a model, of a step or of a whole file."""
    for value in (provider, model):
        if value is not None and not isinstance(value, ir.Constant):
            here.lose("a model that is computed", "it is written down there")
            return {}
    named = model.value if isinstance(model, ir.Constant) else None
    if isinstance(provider, ir.Constant):
        return {"provider": provider.value} | ({} if named is None else {"model": named})
    if isinstance(named, list):
        return {"providers": [Inline(_apart(str(one))) for one in named]}
    return {} if named is None else _apart(str(named))


def _apart(name: str) -> dict[str, str]:
    provider, slash, model = name.partition("/")
    return {"provider": provider, "model": model} if slash else {"model": name}
