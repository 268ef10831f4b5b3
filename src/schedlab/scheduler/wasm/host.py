"""The functions that the scheduler offers its guests, in the modules k8s.io/api, k8s.io/klog and k8s.io/scheduler.

    buf, limit -> size       the answer is written when it fits, its size is returned in any case
    buf, len                 the guest tells something

Mirrors: scheduler/plugin/host.go of kube-scheduler-wasm-extension.
Differs: messages of both klog functions are kept from the severity of the configuration on; events can be about pods
only; what a guest logs goes to Python's logger `schedlab.wasm`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

import orjson

from schedlab.scheduler.framework.types import PodInfo
from schedlab.scheduler.wasm.call import Call
from schedlab.scheduler.wasm.memory import GuestError, GuestMemory, texts

if TYPE_CHECKING:
    from schedlab.scheduler.framework.interface import Handle
    from schedlab.scheduler.wasm.args import WasmArgs
    from schedlab.scheduler.wasm.objects import Objects

API: Final = "k8s.io/api"
KLOG: Final = "k8s.io/klog"
SCHEDULER: Final = "k8s.io/scheduler"
HostFunction = Callable[..., Any]

_log: Final = logging.getLogger("schedlab.wasm")
_LEVELS: Final = (logging.INFO, logging.WARNING, logging.ERROR, logging.CRITICAL)


class Host:
    """The host functions of one plugin; `call` is the call of the guest that is under way."""

    def __init__(self, name: str, args: WasmArgs, handle: Handle, objects: Objects) -> None:
        self._name = name
        self._args = args
        self._handle = handle
        self._objects = objects
        self.call = Call()

    def functions(self) -> Mapping[tuple[str, str], HostFunction]:
        """Return the functions by module and name; each takes the guest's memory and its parameters."""
        return {
            (API, "node"): self._node,
            (API, "nodeList"): self._answers(self._objects.nodes),
            (KLOG, "log"): self._log_message,
            (KLOG, "logs"): self._log_structured,
            (KLOG, "severity"): lambda _memory: self._args.log_severity,
            (SCHEDULER, "get_config"): self._answers(self._config),
            (SCHEDULER, "currentPod"): self._answers(lambda: self._pod(self.call.pod)),
            (SCHEDULER, "targetPod"): self._answers(lambda: self._pod(self.call.target_pod)),
            (SCHEDULER, "currentNodeName"): self._answers(self._node_name),
            (SCHEDULER, "filteredNodeList"): self._answers(lambda: orjson.dumps(list(self.call.feasible))),
            (SCHEDULER, "nodeToStatusMap"): self._answers(self._status_codes),
            (SCHEDULER, "nodeScoreList"): self._answers(lambda: _sorted_json(self.call.scores or {})),
            (SCHEDULER, "nodeImageStates"): self._image_states,
            (SCHEDULER, "result.cluster_events"): self._take_events,
            (SCHEDULER, "result.node_names"): self._take_node_names,
            (SCHEDULER, "result.nominated_node_name"): self._take_nomination,
            (SCHEDULER, "result.status_reason"): self._take_reason,
            (SCHEDULER, "result.normalized_score_list"): self._take_scores,
            (SCHEDULER, "handle.eventrecorder.eventf"): self._record_event,
            (SCHEDULER, "handle.reject_waiting_pod"): self._reject_waiting_pod,
            (SCHEDULER, "handle.get_waiting_pod"): self._waiting_pod,
        }

    @staticmethod
    def _answers(answer: Callable[[], bytes]) -> HostFunction:
        return lambda memory, buffer, limit: memory.answer(answer(), buffer, limit)

    # --- What guests ask for ---

    def _config(self) -> bytes:
        return self._args.guest_config.encode()

    def _node_name(self) -> bytes:
        return self.call.node_name.encode()

    def _pod(self, pod: PodInfo | None) -> bytes:
        return b"" if pod is None else self._objects.pod(pod)

    def _node(self, memory: GuestMemory, name: int, size: int, buffer: int, limit: int) -> int:
        return memory.answer(self._objects.node(memory.text(name, size, "nodeName")), buffer, limit)

    def _status_codes(self) -> bytes:
        statuses = self.call.statuses
        codes = {} if statuses is None else {name: int(status.code) for name, status in statuses.explicit().items()}
        return _sorted_json(codes)

    def _image_states(self, memory: GuestMemory, name: int, size: int, buffer: int, limit: int) -> int:
        row = self._handle.table.row_of.get(memory.text(name, size, "nodeName"))
        states = None
        if row is not None:
            images = self._handle.table.infos[row].image_states
            states = {image: {"Size": state.size, "NumNodes": state.num_nodes} for image, state in images.items()}
        return memory.answer(_sorted_json(states), buffer, limit)

    # --- What guests tell ---

    def _take_events(self, memory: GuestMemory, buffer: int, size: int) -> None:
        self.call.cluster_events = memory.read(buffer, size, "clusterEvents")

    def _take_node_names(self, memory: GuestMemory, buffer: int, size: int) -> None:
        self.call.node_names = tuple(texts(memory.read(buffer, size, "nodeNames")))

    def _take_nomination(self, memory: GuestMemory, buffer: int, size: int) -> None:
        self.call.nominated_node_name = memory.text(buffer, size, "nominatedNodeName")

    def _take_reason(self, memory: GuestMemory, buffer: int, size: int) -> None:
        self.call.reason = memory.text(buffer, size, "message")

    def _take_scores(self, memory: GuestMemory, buffer: int, size: int) -> None:
        scores = _json(memory.read(buffer, size, "normalized score list"))
        if not isinstance(scores, dict) or not all(isinstance(score, int) for score in scores.values()):
            raise GuestError("the normalized score list is no JSON object of whole numbers")
        self.call.normalized = scores

    # --- Logging ---

    def _log_message(self, memory: GuestMemory, severity: int, message: int, size: int) -> None:
        if severity >= self._args.log_severity:
            _log.log(_level(severity), "%s: %s", self._name, memory.text(message, size, "log message"))

    def _log_structured(
        self, memory: GuestMemory, severity: int, message: int, size: int, pairs: int, pairs_size: int
    ) -> None:
        if severity >= self._args.log_severity:
            words = texts(memory.read(pairs, pairs_size, "log values"))
            values = " ".join(f"{key}={value!r}" for key, value in zip(words[::2], words[1::2], strict=False))
            text = memory.text(message, size, "log message")
            _log.log(_level(severity), "%s: %s %s", self._name, text, values)

    # --- Handle ---

    def _record_event(self, memory: GuestMemory, buffer: int, size: int) -> None:
        message = _json(memory.read(buffer, size, "eventrecorder event"))
        if not isinstance(message, dict):
            raise GuestError("the event is no JSON object")
        regarding = self._find_pod(message.get("RegardingReference") or {})
        related = self._find_pod(message.get("RelatedReference") or {})
        if regarding is None:
            _log.warning("%s: an event about something else than a pod is left out", self._name)
            return
        type_, reason, action, note = (str(message.get(key, "")) for key in ("Eventtype", "Reason", "Action", "Note"))
        self._handle.record_event(regarding, related, type_, reason, action, note)

    def _find_pod(self, reference: Mapping[str, Any]) -> PodInfo | None:
        name, namespace = reference.get("Name", ""), reference.get("Namespace", "")
        current = self.call.pod
        if current is not None and (current.name, current.namespace) == (name, namespace):
            return current
        stored = self._handle.listers.lister("pods").stored(name, namespace)
        return None if stored is None else PodInfo(stored.view, stored)

    def _reject_waiting_pod(self, memory: GuestMemory, uid: int, size: int, buffer: int, _limit: int) -> None:
        waiting = self._handle.waiting_pod(memory.text(uid, size, "rejectWaitingPod"))
        rejected = waiting is not None and waiting.reject(self._name, "removed")
        memory.write(int(rejected).to_bytes(8, "little"), buffer)

    def _waiting_pod(self, memory: GuestMemory, uid: int, size: int, buffer: int, limit: int) -> None:
        waiting = self._handle.waiting_pod(memory.text(uid, size, "getWaitingPod"))
        if waiting is None:
            memory.write(bytes(8), buffer)
        elif memory.answer(encoded := self._objects.pod(waiting.pod), buffer, limit) > limit or not encoded:
            raise GuestError("out of memory writing getWaitingPod result")


def _json(data: bytes) -> Any:
    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError as error:
        raise GuestError(f"invalid JSON: {error}") from error


def _sorted_json(value: object) -> bytes:
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)


def _level(severity: int) -> int:
    return _LEVELS[min(max(severity, 0), len(_LEVELS) - 1)]
