"""Answers: status, headers and body of what is sent back, and the bytes of the forms they take.

Mirrors: staging/src/k8s.io/apiserver/pkg/endpoints/handlers/responsewriters/writers.go (v1.36)
Differs: JSON that is asked to be pretty keeps the order of its members; big answers are compressed in another thread.
"""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, MutableMapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

import orjson

from schedlab.apimachinery.errors import StatusError
from schedlab.apimachinery.yaml import to_yaml
from schedlab.apiserver.negotiation import Form

Scope: TypeAlias = MutableMapping[str, Any]
Message: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Message]]
Send: TypeAlias = Callable[[Message], Awaitable[None]]
Headers: TypeAlias = Sequence[tuple[bytes, bytes]]

#: Bodies up to this size are sent as they are.
GZIP_BYTES_MIN: Final = 128 * 1024
_GZIP_LEVEL: Final = 1
_GZIP_WINDOW: Final = 16 + zlib.MAX_WBITS
#: Compressing less than this is quicker than handing it to a thread.
_THREAD_BYTES_MIN: Final = 1024 * 1024

TEXT: Final = b"text/plain; charset=utf-8"
_NO_SNIFF: Final = (b"x-content-type-options", b"nosniff")
_NOT_FOUND_BODY: Final = b"404 page not found\n"


@dataclass(slots=True)
class Answer:
    """A whole answer."""

    status: int
    body: bytes = b""
    content_type: bytes = b"application/json"
    headers: list[tuple[bytes, bytes]] = field(default_factory=list)


def object_answer(encoded: bytes, form: Form, status: int = 200) -> Answer:
    """Answer with a JSON document in the form that was asked for."""
    return Answer(status, render(encoded, form), form.content_type)


def render(encoded: bytes, form: Form) -> bytes:
    """Turn JSON into the encoding of a form."""
    if form.encoding == "yaml":
        return to_yaml(orjson.loads(encoded))
    if form.pretty:
        return orjson.dumps(orjson.loads(encoded), option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)
    return encoded + b"\n"


def text_answer(text: str, status: int = 200) -> Answer:
    """Answer with plain text, as Go's http.Error and the health endpoints do."""
    return Answer(status, text.encode(), TEXT, [_NO_SNIFF])


def page_not_found() -> Answer:
    """The answer for a path that no part of the server claims."""
    return Answer(404, _NOT_FOUND_BODY, TEXT, [_NO_SNIFF])


def error_answer(error: StatusError, form: Form) -> Answer:
    """Answer with the Status of an error."""
    code = error.code or 500
    answer = object_answer(orjson.dumps(error.status), form, code)
    if error.retry_after_s:
        answer.headers.append((b"retry-after", str(error.retry_after_s).encode()))
    return answer


def accepts_gzip(accept_encoding: bytes | None) -> bool:
    """Whether a client takes compressed answers."""
    if not accept_encoding:
        return False
    return any(token.strip() == b"gzip" for token in accept_encoding.split(b","))


async def compress(answer: Answer) -> None:
    """Compress a big body in place."""
    if len(answer.body) <= GZIP_BYTES_MIN:
        return
    if len(answer.body) < _THREAD_BYTES_MIN:
        answer.body = _gzip(answer.body)
    else:
        answer.body = await asyncio.to_thread(_gzip, answer.body)
    answer.headers += [(b"content-encoding", b"gzip"), (b"vary", b"Accept-Encoding")]


def _gzip(body: bytes) -> bytes:
    compressor = zlib.compressobj(_GZIP_LEVEL, zlib.DEFLATED, _GZIP_WINDOW)
    return compressor.compress(body) + compressor.flush()


async def compress_pieces(pieces: Iterator[bytes]) -> AsyncIterator[bytes]:
    """Compress a body that comes in pieces, one piece at a time in another thread."""
    compressor = zlib.compressobj(_GZIP_LEVEL, zlib.DEFLATED, _GZIP_WINDOW)
    for piece in pieces:
        compressed = await asyncio.to_thread(compressor.compress, piece)
        if compressed:
            yield compressed
    yield compressor.flush()
