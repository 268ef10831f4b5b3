"""kr8s behind the face that all clients of the cases have: its asynchronous API, on a loop of its own."""

import asyncio
import json
import warnings
from collections.abc import AsyncIterator, Coroutine, Generator
from typing import Any, TypeVar

import httpx
import kr8s
import kr8s.asyncio
from kr8s.asyncio.objects import APIObject, ConfigMap, Deployment, Node, Pod, new_class

from schedlab.apiserver.kubeconfig import kubeconfig
from tests.integration.clients import APPLY, JSON, MERGE, NAMESPACE, InProcess, Object, Refused
from tests.support.api_server import TOKEN
from tests.support.asgi import Loop, Stream

ResultT = TypeVar("ResultT")

_CLASSES: dict[str, Any] = {
    "ConfigMap": ConfigMap,
    "Deployment": Deployment,
    "Node": Node,
    "Pod": Pod,
    "Widget": new_class("Widget", "example.com/v1", namespaced=True),
}


class _Body(httpx.AsyncByteStream):
    """What comes of an answer, as it comes."""

    def __init__(self, in_process: InProcess, stream: Stream) -> None:
        self._in_process = in_process
        self._stream = stream

    async def __aiter__(self) -> AsyncIterator[bytes]:
        chunks = iter(self._stream)
        while (chunk := await asyncio.to_thread(next, chunks, None)) is not None:
            yield chunk

    async def aclose(self) -> None:
        self._in_process.loop.close(self._stream)


class _Transport(httpx.AsyncBaseTransport):
    """In place of httpx's network."""

    def __init__(self, in_process: InProcess) -> None:
        self._in_process = in_process

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        headers = {name: value for name, value in request.headers.items() if name != "accept-encoding"}
        body = await request.aread()
        stream = await asyncio.to_thread(self._in_process.open, request.method, str(request.url), headers, body)
        return httpx.Response(stream.status, headers=stream.headers, stream=_Body(self._in_process, stream))


class Kr8sClient:
    """A client made of httpx and objects that write themselves."""

    def __init__(self, config: Any, transport: httpx.AsyncBaseTransport | None = None) -> None:
        self._loop = Loop()
        self._loop.__enter__()
        self._api: Any = self._loop.run(self._open(config, transport))

    async def _open(self, config: Any, transport: httpx.AsyncBaseTransport | None) -> Any:
        api = kr8s.asyncio.Api(kubeconfig=config, bypass_factory=True)
        await api.auth
        if transport is not None:
            headers = {"Authorization": f"Bearer {api.auth.token}", "Content-Type": "application/json"}
            api._session = httpx.AsyncClient(base_url=api.auth.server, headers=headers, transport=transport)
        with warnings.catch_warnings():
            # It has not been released for this version yet.
            warnings.filterwarnings("ignore", "Kubernetes version .* is not supported")
            return await api

    @classmethod
    def in_process(cls, in_process: InProcess) -> "Kr8sClient":
        return cls(dict(kubeconfig("http://in.process", TOKEN)), _Transport(in_process))

    @classmethod
    def over_tcp(cls, file: str) -> "Kr8sClient":
        return cls(file)

    def _run(self, work: Coroutine[Any, Any, ResultT]) -> ResultT:
        try:
            return self._loop.run(work)
        except kr8s.ServerError as error:
            raise Refused(error.response.status_code if error.response else 0, str(error)) from error
        except kr8s.NotFoundError as error:
            raise Refused(404, str(error)) from error

    def _object(self, kind: str, obj: Any) -> APIObject:
        made: APIObject = _CLASSES[kind](obj, api=self._api)
        if made.namespaced:
            made.namespace = NAMESPACE
        return made

    def create(self, kind: str, obj: Object) -> Object:
        made = self._object(kind, obj)
        self._run(made.create())
        return dict(made.raw.to_dict())

    def get(self, kind: str, name: str) -> Object:
        made = self._object(kind, {"metadata": {"name": name}})
        self._run(made.refresh())
        return dict(made.raw.to_dict())

    def list(self, kind: str, *, labels: str = "", fields: str = "", limit: int = 0) -> list[Object]:
        async def items() -> list[Object]:
            # It asks for pages of 100 by itself.
            found = self._api.get(_CLASSES[kind], namespace=NAMESPACE, label_selector=labels, field_selector=fields)
            return [item.raw.to_dict() async for item in found]

        return self._run(items())

    def replace(self, kind: str, name: str, obj: Object) -> Object:
        return self._request("PUT", kind, name, obj)

    def _request(
        self, method: str, kind: str, path: str, body: Any, headers: dict[str, str] | None = None, query: Any = None
    ) -> Object:
        """Call the API by a path, for what objects of kr8s cannot do."""
        shown = self._object(kind, {"metadata": {"name": path}})

        async def call() -> Object:
            async with self._api.call_api(
                method,
                version=shown.version,
                url=f"{shown.endpoint}/{path}",
                namespace=NAMESPACE if shown.namespaced else None,
                content=json.dumps(body),
                headers=headers,
                params=query,
            ) as answer:
                answered: Object = answer.json()
                return answered

        return self._run(call())

    def patch(
        self, kind: str, name: str, patch: Any, media_type: str, manager: str = "", *, subresource: str = ""
    ) -> Object:
        if media_type in (JSON, MERGE) and not manager:
            made = self._object(kind, {"metadata": {"name": name}})
            patch_type = "json" if media_type == JSON else None
            self._run(made.patch(patch, subresource=subresource or None, type=patch_type))
            return dict(made.raw.to_dict())
        path = f"{name}/{subresource}" if subresource else name
        query = {"fieldManager": manager} if manager else None
        assert media_type != APPLY or manager
        return self._request("PATCH", kind, path, patch, {"Content-Type": media_type}, query)

    def delete(self, kind: str, name: str) -> None:
        self._run(self._object(kind, {"metadata": {"name": name}}).delete())

    def watch(self, kind: str, since: str, seconds: int) -> Generator[tuple[str, Object], None, None]:
        events = self._api.watch(_CLASSES[kind], namespace=NAMESPACE, since=since or None)
        try:
            while True:
                event, obj = self._run(asyncio.wait_for(anext(events), seconds))
                yield event, obj.raw.to_dict()
        except (StopAsyncIteration, TimeoutError):
            return
        finally:
            self._loop.run(events.aclose())

    def bind(self, pod: str, node: str) -> None:
        body = {"metadata": {"name": pod}, "target": {"kind": "Node", "name": node}}
        self._request("POST", "Pod", f"{pod}/binding", body)

    def close(self) -> None:
        if self._api._session is not None:
            self._loop.run(self._api._session.aclose())
        self._loop.__exit__()
