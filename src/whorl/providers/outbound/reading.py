"""Reads a reply while it arrives: decompressed by us, with its size counted as it grows."""

from __future__ import annotations

import codecs
import zlib
from typing import TYPE_CHECKING

from whorl.providers.outbound.faults import cut_off, malformed, network_faults, too_large

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from httpcore2 import Response

BYTES_MAX = 10_000_000
BYTES_HARD_MAX = 25_000_000
LINE_MAX = 1_000_000
_PIECE = 65_536


class Incoming:
    """A reply that is arriving; header names are in lower case."""

    def __init__(self, response: Response, *, what: str, url: str, bytes_max: int) -> None:
        self.status = response.status
        self.url = url
        self.what = what
        self.headers: dict[str, str] = {}
        for name, value in response.headers:
            key, text = name.decode("latin-1").lower(), value.decode("utf-8", "replace")
            self.headers[key] = f"{self.headers[key]}, {text}" if key in self.headers else text
        self._response = response
        self._bytes_max = min(bytes_max, BYTES_HARD_MAX)

    @property
    def content_type(self) -> str:
        """The content type in lower case, without parameters."""
        return self.headers.get("content-type", "").partition(";")[0].strip().lower()

    async def chunks(self) -> AsyncIterator[bytes]:
        """The bytes of the body, decompressed; raises P106 as soon as there are too many."""
        length = self.headers.get("content-length", "")
        if length.isdigit() and int(length) > self._bytes_max:
            raise too_large(self.what, self._bytes_max)
        decode = _Decoder(self.headers.get("content-encoding", ""), self.what)
        count = 0
        with network_faults(self.what):
            async for raw in self._response.aiter_stream():
                for piece in decode.pieces(raw):
                    count += len(piece)
                    if count > self._bytes_max:
                        raise too_large(self.what, self._bytes_max)
                    yield piece
        decode.finish()

    async def read(self) -> bytes:
        """The whole body."""
        return b"".join([piece async for piece in self.chunks()])

    async def lines(self) -> AsyncIterator[str]:
        """The lines of a text body, without their ends."""
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        rest = ""
        async for piece in self.chunks():
            parts = (rest + decoder.decode(piece)).split("\n")
            rest = parts.pop()
            for line in parts:
                yield line.removesuffix("\r")
            if len(rest) > LINE_MAX:
                raise too_large(f"a line of {self.what}", LINE_MAX)
        rest += decoder.decode(b"", final=True)
        if rest:
            yield rest.removesuffix("\r")


class _Decoder:
    """Undoes a content encoding in small pieces, so that a little input never grows at once."""

    def __init__(self, encoding: str, what: str) -> None:
        self._what = what
        self._started = False
        name = encoding.strip().lower()
        if name in ("", "identity"):
            self._inflate = None
        elif name in ("gzip", "x-gzip", "deflate"):
            self._inflate = zlib.decompressobj(zlib.MAX_WBITS | 32)
        else:
            raise malformed(what, f"unknown content encoding {encoding!r}", retryable=False)

    def pieces(self, raw: bytes) -> Iterator[bytes]:
        """The decoded form of the next raw bytes."""
        if self._inflate is None:
            yield raw
            return
        self._started = self._started or bool(raw)
        try:
            while raw:
                piece = self._inflate.decompress(raw, _PIECE)
                raw = self._inflate.unconsumed_tail
                if not piece and self._inflate.eof:
                    return
                yield piece
        except zlib.error as cause:
            raise malformed(self._what, f"the compressed reply is damaged ({cause})") from None

    def finish(self) -> None:
        """Raises P111 when the compressed data ended too early."""
        if self._inflate is not None and self._started and not self._inflate.eof:
            raise cut_off(self._what, "the compressed reply is cut off")
