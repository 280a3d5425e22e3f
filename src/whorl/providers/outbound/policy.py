"""Which addresses may be reached: public ones over https, others only with the operator's leave."""

from __future__ import annotations

from dataclasses import dataclass
from ipaddress import ip_address, ip_network
from typing import TYPE_CHECKING

from whorl.errors import ProviderError
from whorl.providers.outbound.addresses import literal_of, place_of
from whorl.providers.outbound.urls import target_of

if TYPE_CHECKING:
    from whorl.providers.outbound.addresses import Address, Place
    from whorl.providers.settings import Settings

# General leave for the private network is not leave for the places that hand out credentials.
_COVERED_BY_GENERAL_LEAVE: frozenset[Place] = frozenset({"loopback", "private"})


@dataclass(frozen=True, slots=True)
class Policy:
    """What the operator allows.

    `origins` are those that the configuration itself names: open to the calls that it names them
    for (`Call.of_operator`), and to no call that a workflow makes by itself.
    """

    private_network: bool | tuple[str, ...] = False
    origins: frozenset[str] = frozenset()

    @classmethod
    def of(cls, settings: Settings) -> Policy:
        """The policy that the settings give."""
        urls = [provider.base_url for provider in settings.providers.values() if provider.base_url]
        urls += [server.url for server in settings.mcp.values() if server.url]
        urls += [task for task in settings.tasks.values() if not task.startswith("python:")]
        urls += [settings.connectors.url] if settings.connectors.url else []
        return cls(settings.allow.private_network, frozenset(target_of(url).origin for url in urls))

    def check(self, scheme: str, host: str, port: int, addresses: list[str]) -> None:
        """Raises ProviderError P107 unless every address of the host may be reached."""
        shown = f"[{host}]" if ":" in host else host
        if f"{scheme}://{shown}:{port}" in self.origins:
            return
        for text in addresses:
            address = ip_address(text)
            place = place_of(address)
            if place == "public":
                if scheme == "http":
                    raise _plain(shown, port)
            elif not self._has_leave(host, port, address, place):
                raise _not_public(shown, port, text, place)

    def _has_leave(self, host: str, port: int, address: Address, place: Place) -> bool:
        if isinstance(self.private_network, bool):
            return self.private_network and place in _COVERED_BY_GENERAL_LEAVE
        return any(_names(entry, host, port, address) for entry in self.private_network)


def _names(entry: str, host: str, port: int, address: Address) -> bool:
    """Whether an entry of `[allow] private_network` (host, host:port, address, network) fits."""
    entry = entry.strip().lower()
    if entry in (host, f"{host}:{port}", f"[{host}]", f"[{host}]:{port}"):
        return True
    if "/" in entry:
        try:
            return address in ip_network(entry, strict=False)
        except ValueError:
            return False
    return literal_of(entry) == address


def _not_public(host: str, port: int, address: str, place: Place) -> ProviderError:
    where = host if host == address else f"{host} ({address})"
    kind = place if place in ("loopback", "private") else f"{place} (private)"
    return ProviderError(
        f"{where} is a {kind} address, which a workflow may not call; the operator allows it with "
        f'[allow] private_network = ["{host}:{port}"] in whorl.toml',
        code="P107",
        detail={"host": host, "port": port, "address": address, "place": place},
    )


def _plain(host: str, port: int) -> ProviderError:
    return ProviderError(
        f"{host}:{port} is a public address, which is not called over plain http (private "
        "addresses are, with leave); use https",
        code="P107",
        detail={"host": host, "port": port},
    )
