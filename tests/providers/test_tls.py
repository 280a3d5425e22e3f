"""TLS: the name that is asked for is the name that is checked, whatever address it has."""

from __future__ import annotations

import asyncio
import shutil
import ssl
import subprocess
from typing import TYPE_CHECKING

import httpcore2
import pytest

from whorl.errors import ProviderError
from whorl.providers.outbound.addresses import Policy
from whorl.providers.outbound.client import Outbound, OutboundCall

if TYPE_CHECKING:
    from pathlib import Path

OPENSSL = shutil.which("openssl")


@pytest.fixture
def certificate(tmp_path: Path) -> Path:
    if OPENSSL is None:
        pytest.skip("the program openssl is not here to make a certificate")
    made = tmp_path / "both.pem"
    subprocess.run(
        [
            *(OPENSSL, "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2"),
            *("-keyout", str(tmp_path / "key.pem"), "-out", str(tmp_path / "cert.pem")),
            *("-subj", "/CN=good.example", "-addext", "subjectAltName=DNS:good.example"),
        ],
        check=True,
        capture_output=True,
    )
    made.write_text((tmp_path / "key.pem").read_text() + (tmp_path / "cert.pem").read_text())
    return made


def call(certificate: Path, host: str, names: list[str], *, trusted: bool) -> bytes:
    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok")
        await writer.drain()
        writer.close()

    async def main() -> bytes:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate)
        context.sni_callback = lambda _, name, __: names.append(name)
        server = await asyncio.start_server(connected, "127.0.0.1", 0, ssl=context)
        port = server.sockets[0].getsockname()[1]

        async def resolve(name: str, number: int) -> list[str]:
            return ["127.0.0.1"]

        outbound = Outbound(Policy(private_network=True), resolve=resolve)
        if trusted:
            trust = ssl.create_default_context(cafile=str(certificate.parent / "cert.pem"))
            outbound._connections("https", of_operator=False)._trust = trust
        try:
            return (
                await outbound.request(OutboundCall(method="GET", url=f"https://{host}:{port}/"))
            ).body
        finally:
            await outbound.close()
            server.close()
            await server.wait_closed()

    return asyncio.run(main())


def test_the_name_goes_to_the_server_and_is_checked(certificate: Path) -> None:
    names: list[str] = []

    assert call(certificate, "good.example", names, trusted=True) == b"ok"
    assert names == ["good.example"]


@pytest.mark.parametrize(("host", "trusted"), [("bad.example", True), ("good.example", False)])
def test_a_wrong_certificate_is_refused(certificate: Path, host: str, trusted: bool) -> None:
    with pytest.raises(ProviderError) as caught:
        call(certificate, host, [], trusted=trusted)

    assert (caught.value.code, caught.value.retryable) == ("P101", False)
    assert "certificate is not trusted" in str(caught.value)
    assert isinstance(caught.value.__cause__, httpcore2.ConnectError)
