"""Reads the code of WebAssembly plugins from where their guestURL says: a file, or a web server.

Mirrors: scheduler/plugin/wasm.go of kube-scheduler-wasm-extension.
Differs: waits 30 seconds for a web server, not for ever.
"""

from __future__ import annotations

import http.client
import urllib.error
import urllib.request
from pathlib import Path
from typing import Final

_TIMEOUT_S: Final = 30
_FILE_PREFIX: Final = "file://"


def fetch(url: str) -> bytes:
    """Return what the URL names; raises ValueError in upstream's words. Relative paths follow `file://` directly."""
    try:
        return _fetch(url)
    except (OSError, http.client.HTTPException, ValueError) as error:
        raise ValueError(f"wasm: error reading guestURL {url}: {error}") from error


def _fetch(url: str) -> bytes:
    scheme, colon, _ = url.partition(":")
    if not colon:
        raise ValueError(f"invalid URL: {url}")
    if scheme == "file":
        return Path(url[len(_FILE_PREFIX) :]).read_bytes()
    if scheme not in {"http", "https"}:
        raise ValueError(f"unsupported URL scheme: {scheme}")
    try:
        with urllib.request.urlopen(url, timeout=_TIMEOUT_S) as answer:  # noqa: S310 - the scheme was looked at
            content: bytes = answer.read()
    except urllib.error.HTTPError as error:
        error.close()
        raise ValueError(f'received {error.code} status code from "{url}"') from error
    return content
