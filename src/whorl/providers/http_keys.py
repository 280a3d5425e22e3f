"""Who a request says it is from: what its author wrote, or a key of the operator by its name.

A workflow file can only name an operator's key, and the key goes only to the host that it is for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from whorl.errors import ProviderError, did_you_mean
from whorl.providers.outbound import Credential, origin_of
from whorl.providers.secrets import Secret
from whorl.providers.settings.outside import basic

if TYPE_CHECKING:
    from collections.abc import Mapping

    from whorl.language import Json
    from whorl.providers.inputs import Inputs
    from whorl.providers.settings import KeySettings

KINDS = ("Basic", "Bearer", "Raw", "Key")
# Identities that only a platform can prove: a key of the operator for that host stands for them.
_OF_A_PLATFORM = ("managedserviceidentity", "activedirectoryoauth", "oauth", "managedidentity")


def credential_of(inputs: Inputs, url: str, keys: Mapping[str, KeySettings]) -> Credential | None:
    """The headers that authenticate a request, bound to the origin of its URL."""
    auth = inputs.table("auth")
    if not auth:
        return None
    kind = _text(auth, "type")
    origin = origin_of(url)
    match kind.lower():
        case "none" | "":
            return None
        case "basic":
            pair = basic(_text(auth, "username"), _text(auth, "password"))
            return _authorization(origin, f"Basic {pair}")
        case "bearer":
            return _authorization(origin, f"Bearer {_text(auth, 'token') or _text(auth, 'value')}")
        case "raw":
            return _authorization(origin, _text(auth, "value"))
        case "key":
            return _named(_text(auth, "name"), origin, keys)
        case "clientcertificate":
            raise _refused(
                "a client certificate cannot be sent; give this request to a task of [tasks], or "
                "put a proxy that holds the certificate before the service"
            )
        case word if word in _OF_A_PLATFORM:
            return _of_the_host(kind, origin, keys)
    near = did_you_mean(kind, KINDS) or f"known: {', '.join(KINDS)}"
    raise _refused(f"{kind!r} is no way to authenticate; {near}")


def _text(auth: dict[str, Json], name: str) -> str:
    found = next((value for key, value in auth.items() if key.lower() == name), None)
    return "" if found is None else str(found)


def _authorization(origin: str, text: str) -> Credential:
    return Credential(origin, (("Authorization", Secret(text)),))


def _named(name: str, origin: str, keys: Mapping[str, KeySettings]) -> Credential:
    key = keys.get(name)
    if key is None:
        near = did_you_mean(name, keys)
        raise _refused(
            f"there is no key {name!r}; the operator adds [keys.{name or 'NAME'}] with url = "
            f'"{origin}" and token to whorl.toml{f"; {near}" if near else ""}'
        )
    if origin_of(key.url) != origin:
        raise _refused(f"key {name!r} is for {key.url}, and is not sent to {origin}")
    return _bound(key, origin)


def _of_the_host(kind: str, origin: str, keys: Mapping[str, KeySettings]) -> Credential:
    for key in keys.values():
        if origin_of(key.url) == origin:
            return _bound(key, origin)
    raise _refused(
        f"there is no {kind} on this machine; the operator adds [keys.NAME] with url = "
        f'"{origin}" and token to whorl.toml, which then stands for it'
    )


def _bound(key: KeySettings, origin: str) -> Credential:
    if not key.headers:
        raise _refused(f"key {key.name!r} is empty: the variable that it names is not set")
    return Credential(origin, key.headers)


def _refused(why: str) -> ProviderError:
    return ProviderError(f"the request cannot be authenticated: {why}", code="P116")
