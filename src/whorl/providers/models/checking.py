"""Whether a provider answers: asks for something that costs nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whorl.errors import ProviderError
from whorl.providers.models.wires import anthropic, ollama, openai
from whorl.providers.outbound import Call

if TYPE_CHECKING:
    from whorl.providers.outbound import Outbound
    from whorl.providers.settings import ProviderSettings

TIMEOUT_S = 10.0


async def check(provider: ProviderSettings, outbound: Outbound) -> tuple[bool, str]:
    """Whether the provider can be reached and takes its key, and what to tell about it."""
    if provider.kind == "scripted":
        return True, f"{len(provider.rules)} rules"
    if provider.kind == "local":
        return _check_local()
    call = _call(provider)
    if call is None:
        return False, f"kind {provider.kind!r} cannot be checked"
    try:
        received = await outbound.request(call, check_status=True)
    except ProviderError as fault:
        return False, str(fault)
    return True, f"answers at {received.url}"


def _call(provider: ProviderSettings) -> Call | None:
    url, headers = "", tuple[tuple[str, str], ...]()
    match provider.kind:
        case "openai":
            url, credential = f"{provider.base_url}/models", openai.credential_of(provider)
        case "anthropic":
            url = anthropic.messages_url(provider.base_url, "models")
            headers = (("anthropic-version", anthropic.VERSION),)
            credential = anthropic.credential_of(provider)
        case "ollama":
            url = ollama.chat_url(provider.base_url, "tags")
            credential = openai.credential_of(provider)
        case _:
            return None
    return Call(
        method="GET",
        url=url,
        headers=headers,
        credential=credential,
        timeout_s=TIMEOUT_S,
        of_operator=True,
    )


def _check_local() -> tuple[bool, str]:
    from whorl.providers.models.wires.embedded import INSTALL, is_installed, weights_path

    if not is_installed():
        return False, f"the embedded toy model is not installed: {INSTALL}"
    path = weights_path()
    return True, f"the embedded toy model, with the weights {path.name if path else ''!r}"
