"""Independent clients behind one face, so that the same cases run with each of them, in process and over TCP.

A client reaches an application through what it uses instead of a network: `kubernetes` through a urllib3 pool,
`lightkube` and `kr8s` (in `kr8s_client`) through transports of httpx.
"""

import contextlib
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Protocol
from urllib.parse import urlencode, urlsplit

import httpx2
import kubernetes
import lightkube
import msgspec
from lightkube.config.kubeconfig import KubeConfig
from lightkube.core.exceptions import ApiError
from lightkube.generic_resource import create_namespaced_resource
from lightkube.resources.apps_v1 import Deployment
from lightkube.resources.core_v1 import ConfigMap, Node, NodeStatus, Pod
from lightkube.types import PatchType

from schedlab.apiserver.app import APIServer
from schedlab.apiserver.kubeconfig import kubeconfig
from tests.support.api_server import TOKEN
from tests.support.asgi import Call, Loop, Stream

Object = dict[str, Any]
NAMESPACE = "default"
STRATEGIC = "application/strategic-merge-patch+json"
MERGE = "application/merge-patch+json"
JSON = "application/json-patch+json"
APPLY = "application/apply-patch+yaml"


class Refused(Exception):
    """The server has answered with an error."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code
        self.message = message


class Client(Protocol):
    """What the cases ask of a client; objects are dicts with the wire's own keys."""

    def create(self, kind: str, obj: Object) -> Object: ...

    def get(self, kind: str, name: str) -> Object: ...

    def list(self, kind: str, *, labels: str = "", fields: str = "", limit: int = 0) -> list[Object]: ...

    def replace(self, kind: str, name: str, obj: Object) -> Object: ...

    def patch(
        self, kind: str, name: str, patch: Any, media_type: str, manager: str = "", *, subresource: str = ""
    ) -> Object: ...

    def delete(self, kind: str, name: str) -> None: ...

    def watch(self, kind: str, since: str, seconds: int) -> Generator[tuple[str, Object], None, None]: ...

    def bind(self, pod: str, node: str) -> None: ...

    def close(self) -> None: ...


# --- in process -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class InProcess:
    """An application on a loop, in place of a server."""

    app: APIServer
    loop: Loop

    def open(self, method: str, url: str, headers: dict[str, str], body: bytes) -> Stream:
        parts = urlsplit(url)
        call = Call(method, parts.path, parts.query, {**headers, "host": "in.process"}, body)
        return self.loop.open(self.app, call)


class _PoolResponse:
    """What the kubernetes client uses of a urllib3 response."""

    def __init__(self, in_process: InProcess, stream: Stream, *, whole: bool) -> None:
        self._in_process = in_process
        self._stream = stream
        self.status = stream.status
        self.reason = HTTPStatus(stream.status).phrase
        self.headers = dict(stream.headers)
        self.data = b"".join(stream) if whole else b""

    def getheaders(self) -> dict[str, str]:
        return self.headers

    def getheader(self, name: str, default: str | None = None) -> str | None:
        return self.headers.get(name.lower(), default)

    def stream(self, **_options: object) -> Iterator[bytes]:
        return iter(self._stream)

    def close(self) -> None:
        self._in_process.loop.close(self._stream)

    def release_conn(self) -> None:
        self.close()


class _Pool:
    """In place of urllib3's pool of connections."""

    def __init__(self, in_process: InProcess) -> None:
        self._in_process = in_process

    def request(
        self,
        method: str,
        url: str,
        *,
        body: str | bytes | None = None,
        headers: dict[str, str],
        fields: Sequence[tuple[str, str]] = (),
        preload_content: bool = True,
        **_options: object,
    ) -> _PoolResponse:
        # Reads pass their query beside the URL, writes inside of it.
        url = f"{url}?{urlencode(fields)}" if fields else url
        content = body.encode() if isinstance(body, str) else body or b""
        return _PoolResponse(
            self._in_process, self._in_process.open(method, url, headers, content), whole=preload_content
        )

    def clear(self) -> None:
        """Close nothing."""


class _Transport(httpx2.BaseTransport):
    """In place of httpx's network."""

    def __init__(self, in_process: InProcess) -> None:
        self._in_process = in_process

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        headers = {name: value for name, value in request.headers.items() if name != "accept-encoding"}
        stream = self._in_process.open(request.method, str(request.url), headers, request.read())
        return httpx2.Response(stream.status, headers=stream.headers, content=self._body(stream))

    def _body(self, stream: Stream) -> Iterator[bytes]:
        try:
            yield from stream
        finally:
            self._in_process.loop.close(stream)


# --- kubernetes -------------------------------------------------------------------------------------------------------

#: Kinds in a namespace: the part of a method's name, and the class that has the methods.
_KINDS = {
    "ConfigMap": ("config_map", "CoreV1Api"),
    "Deployment": ("deployment", "AppsV1Api"),
    "Pod": ("pod", "CoreV1Api"),
}
#: Group, version, namespace and plural of the custom resource.
_WIDGETS = ("example.com", "v1", NAMESPACE, "widgets")
_CUSTOM_VERBS = {"read": "get"}


class KubernetesClient:
    """The official client."""

    def __init__(self, api: Any) -> None:
        self._api = api
        self._core = kubernetes.client.CoreV1Api(api)
        self._custom = kubernetes.client.CustomObjectsApi(api)

    @classmethod
    def in_process(cls, in_process: InProcess) -> "KubernetesClient":
        configuration = kubernetes.client.Configuration()
        configuration.host = "http://in.process"
        configuration.api_key = {"authorization": f"Bearer {TOKEN}"}
        api = kubernetes.client.ApiClient(configuration)
        api.rest_client.pool_manager = _Pool(in_process)
        return cls(api)

    @classmethod
    def over_tcp(cls, file: str) -> "KubernetesClient":
        return cls(kubernetes.config.new_client_from_config(file))

    def _method(self, verb: str, kind: str, subresource: str = "") -> tuple[Any, tuple[str, ...]]:
        """Return a method and the place that it takes, which stands before the name for custom resources only."""
        end = f"_{subresource}" if subresource else ""
        if kind == "Widget":
            verb = _CUSTOM_VERBS.get(verb, verb)
            return getattr(self._custom, f"{verb}_namespaced_custom_object{end}"), _WIDGETS
        if kind not in _KINDS:
            return getattr(self._core, f"{verb}_{kind.lower()}{end}"), ()
        word, owner = _KINDS[kind]
        return getattr(getattr(kubernetes.client, owner)(self._api), f"{verb}_namespaced_{word}{end}"), (NAMESPACE,)

    def _call(self, verb: str, kind: str, *arguments: object, subresource: str = "", **options: object) -> Any:
        method, place = self._method(verb, kind, subresource)
        named, rest = (arguments[:1], arguments[1:]) if verb not in ("create", "list") else ((), arguments)
        order = (*place, *named) if kind == "Widget" else (*named, *place)
        try:
            return self._api.sanitize_for_serialization(method(*order, *rest, **options))
        except kubernetes.client.ApiException as error:
            raise Refused(error.status, error.body) from error

    def create(self, kind: str, obj: Object) -> Object:
        created: Object = self._call("create", kind, obj)
        return created

    def get(self, kind: str, name: str) -> Object:
        found: Object = self._call("read", kind, name)
        return found

    def list(self, kind: str, *, labels: str = "", fields: str = "", limit: int = 0) -> list[Object]:
        options: dict[str, Any] = {"label_selector": labels, "field_selector": fields}
        if limit:
            options["limit"] = limit
        found: list[Object] = []
        while True:
            page = self._call("list", kind, **options)
            found += page["items"]
            options["_continue"] = page["metadata"].get("continue", "")
            if not options["_continue"]:
                return found

    def replace(self, kind: str, name: str, obj: Object) -> Object:
        replaced: Object = self._call("replace", kind, name, obj)
        return replaced

    def patch(
        self, kind: str, name: str, patch: Any, media_type: str, manager: str = "", *, subresource: str = ""
    ) -> Object:
        options = {"field_manager": manager} if manager else {}
        patched: Object = self._call(
            "patch", kind, name, patch, subresource=subresource, _content_type=media_type, **options
        )
        return patched

    def delete(self, kind: str, name: str) -> None:
        self._call("delete", kind, name)

    def watch(self, kind: str, since: str, seconds: int) -> Generator[tuple[str, Object], None, None]:
        method, place = self._method("list", kind)
        options = {"resource_version": since} if since else {}
        watching = kubernetes.watch.Watch()
        for event in watching.stream(method, *place, timeout_seconds=seconds, **options):
            yield event["type"], event["raw_object"]

    def bind(self, pod: str, node: str) -> None:
        body = {"metadata": {"name": pod}, "target": {"kind": "Node", "name": node}}
        self._core.create_namespaced_pod_binding(pod, NAMESPACE, body, _preload_content=False)

    def close(self) -> None:
        self._api.rest_client.pool_manager.clear()


# --- lightkube --------------------------------------------------------------------------------------------------------

_RESOURCES: dict[str, Any] = {
    "ConfigMap": ConfigMap,
    "Deployment": Deployment,
    "Node": Node,
    "NodeStatus": NodeStatus,
    "Pod": Pod,
    "Widget": create_namespaced_resource("example.com", "v1", "Widget", "widgets"),
}
_PATCHES = {
    "application/json-patch+json": PatchType.JSON,
    "application/merge-patch+json": PatchType.MERGE,
    "application/strategic-merge-patch+json": PatchType.STRATEGIC,
    "application/apply-patch+yaml": PatchType.APPLY,
}


class LightkubeClient:
    """A client made of httpx and data classes."""

    def __init__(self, client: lightkube.Client) -> None:
        self._client = client

    @classmethod
    def in_process(cls, in_process: InProcess) -> "LightkubeClient":
        config = KubeConfig.from_dict(dict(kubeconfig("http://in.process", TOKEN))).get()
        return cls(lightkube.Client(config, transport=_Transport(in_process), trust_env=False))

    @classmethod
    def over_tcp(cls, file: str) -> "LightkubeClient":
        return cls(lightkube.Client(KubeConfig.from_file(file).get()))

    def _call(self, method: Any, *arguments: object, **options: object) -> Any:
        try:
            return method(*arguments, **options)
        except ApiError as error:
            raise Refused(error.status.code or 0, error.status.message or "") from error

    def create(self, kind: str, obj: Object) -> Object:
        created: Object = self._call(self._client.create, self._load(kind, obj)).to_dict()
        return created

    def _load(self, kind: str, obj: Object) -> Any:
        place = {} if kind == "Node" else {"namespace": NAMESPACE}
        return _RESOURCES[kind].from_dict({**obj, "metadata": {**obj["metadata"], **place}})

    def get(self, kind: str, name: str) -> Object:
        found: Object = self._call(self._client.get, _RESOURCES[kind], name, **self._place(kind)).to_dict()
        return found

    def _place(self, kind: str) -> dict[str, str]:
        return {} if kind == "Node" else {"namespace": NAMESPACE}

    def list(self, kind: str, *, labels: str = "", fields: str = "", limit: int = 0) -> list[Object]:
        options: dict[str, Any] = self._place(kind)
        if labels:
            options["labels"] = dict(pair.split("=") for pair in labels.split(","))
        if fields:
            options["fields"] = dict(pair.split("=") for pair in fields.split(","))
        if limit:
            options["chunk_size"] = limit
        found = self._call(self._client.list, _RESOURCES[kind], **options)
        return [item.to_dict() for item in found]

    def replace(self, kind: str, name: str, obj: Object) -> Object:
        replaced: Object = self._call(self._client.replace, self._load(kind, obj), name).to_dict()
        return replaced

    def patch(
        self, kind: str, name: str, patch: Any, media_type: str, manager: str = "", *, subresource: str = ""
    ) -> Object:
        options: dict[str, Any] = {**self._place(kind), "patch_type": _PATCHES[media_type]}
        if manager:
            options["field_manager"] = manager
        patched: Object = self._call(
            self._client.patch, _RESOURCES[f"{kind}{subresource.title()}"], name, patch, **options
        ).to_dict()
        return patched

    def delete(self, kind: str, name: str) -> None:
        self._call(self._client.delete, _RESOURCES[kind], name, **self._place(kind))

    def watch(self, kind: str, since: str, seconds: int) -> Generator[tuple[str, Object], None, None]:
        watching = self._client.watch(
            _RESOURCES[kind], namespace=NAMESPACE, resource_version=since or None, server_timeout=seconds
        )
        for event, obj in watching:
            yield event, obj.to_dict()

    def bind(self, pod: str, node: str) -> None:
        from lightkube.models.core_v1 import ObjectReference
        from lightkube.models.meta_v1 import ObjectMeta
        from lightkube.resources.core_v1 import PodBinding

        target = ObjectReference(kind="Node", name=node)
        binding = PodBinding(metadata=ObjectMeta(name=pod, namespace=NAMESPACE), target=target)
        # lightkube wants the binding back; a server answers with a Status.
        with contextlib.suppress(msgspec.ValidationError):
            self._client.create(binding, pod)

    def close(self) -> None:
        self._client.close()
