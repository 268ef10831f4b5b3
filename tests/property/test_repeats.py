"""For any writes: a registry that uses again what came of like ones cannot be told from one that works out each anew.

    the same requests ──► registry with repeats    ──► answers, warnings, refusals, stored bytes, draws
                     └──► registry without         ──► the same

Writes come in bursts that differ in names, addresses and uids, well-formed and not; between bursts the world changes:
limits, accounts, classes, namespaces, the second.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import orjson
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from schedlab.apimachinery.apply.manager import LAST_APPLIED
from schedlab.apimachinery.body import check_version, decode_value
from schedlab.apimachinery.errors import StatusError
from schedlab.apimachinery.time import format_time
from schedlab.kernel.clock import SECOND_NS, VirtualClock
from schedlab.kernel.randomness import SeededRandom
from schedlab.registry import Registry, User, WriteOptions, bootstrap
from schedlab.registry.admission.chain import Admission
from schedlab.store import Store
from tests.support.registries import provide_accounts

Object = dict[str, Any]
#: What is done for the n-th object of a burst.
Act = Callable[["World", int], Any]

_NAMES = ("with.dot-{}", "Upper-{}", "{}", "kube-api-access-{}", "")
_ADDRESSES = ("10.1.2.{}", "300.1.1.{}", "fd00::{}", "010.0.0.{}", "")
_RUN_TIME = "pod-complete.stage.kwok.x-k8s.io/delay"
_UID = "0000000{}-0000-4000-8000-000000000000"
_GROUPS = ("", "batch.kubernetes.io/")
_FORMS = ("canonical", "lenient", "checked")
_USERS = (User(), User("ann", ("dev",)), User("bob", extra={"scopes": ("a",)}))


class World:
    """One registry, with its clock."""

    def __init__(self, *, repeats: bool) -> None:
        self.clock = VirtualClock()
        self.registry = Registry(Store(), self.clock, SeededRandom(7))
        bootstrap(self.registry)
        provide_accounts(self.registry)
        if not repeats:
            self.registry.admit(Admission("AskAnew"))
        self.seen: list[Any] = []

    def note(self, act: Act, number: int) -> None:
        """Do something and note what came of it."""
        try:
            self.seen.append(act(self, number))
        except StatusError as error:
            self.seen.append(error.status)

    def state(self) -> list[tuple[str, bytes]]:
        """Everything that is stored, byte by byte."""
        store = self.registry._core.store
        return [(kind, obj.json()) for kind in store.resources() for obj in store.list(kind)]


@dataclass(frozen=True)
class Burst:
    """The same thing several times, for objects whose names differ."""

    act: Act
    count: int
    then: Act | None = None
    shown: str = field(default="")

    def __repr__(self) -> str:
        return f"{self.shown} x {self.count}"


def _options(user: User, manager: str, warnings: list[str]) -> WriteOptions:
    return WriteOptions(field_manager=manager, user=user, warnings=warnings)


def _created(
    world: World, resource: str, obj: Object, namespace: str, user: User, manager: str, form: str = "lenient"
) -> Any:
    warnings: list[str] = []
    registry, options = world.registry, _options(user, manager, warnings)
    if form == "canonical":
        stored = registry.create(resource, registry.decode(resource, copy.deepcopy(obj)), namespace, options)
    elif form == "lenient":
        stored = registry.create_written(resource, obj, namespace, options)
    else:
        known = registry.resource(resource)

        def decode() -> Object:
            found = decode_value(obj, orjson.dumps(obj), known.type.gvk, known.schema)
            warnings.extend(found.strict_errors)
            check_version(found, known.type.group_version)
            return found.object

        stored = registry.create_written(resource, obj, namespace, options, decode)
    return stored.json(), stored.key, stored.uid, warnings


def _mostly(usual: Any, *others: Any) -> st.SearchStrategy[Any]:
    """A choice that is rarely one of the others, so that there is something to be like."""
    return st.integers(0, 5).flatmap(lambda n: st.sampled_from(others) if n == 5 else st.just(usual))


def _two(usual: Any, *others: Any) -> st.SearchStrategy[tuple[Any, Any]]:
    """What most of a burst have, and what the odd one has."""
    return st.tuples(_mostly(usual, *others), st.sampled_from((usual, *others)))


counts = st.integers(3, 5)


def _owned(number: int, name: str, uid: str, owners: int) -> Object:
    """What pods of the n-th Job have of it in their metadata."""
    name, uid = name.format(number), uid.format(number)
    labels = {
        f"{group}{key}": value for group in _GROUPS for key, value in (("controller-uid", uid), ("job-name", name))
    }
    job = {"apiVersion": "batch/v1", "kind": "Job", "name": name, "uid": uid, "controller": True}
    others = [{"apiVersion": "v1", "kind": "X", "name": name, "uid": _UID.format(9 - number)}]
    return {"labels": labels, "ownerReferences": [job, *others][:owners], "generateName": f"{name}-"}


jobs = st.tuples(
    _two("job-{}", "Job-{}", "j{}", "the-same", "long-" * 12 + "{}"),
    _two(_UID, "u-{}", "00000001-0000-4000-8000-000000000000"),
    _mostly(1, 2, 0),
)


@st.composite
def pods(draw: st.DrawFn) -> Burst:
    names, owner = draw(_two("web-{}", *_NAMES)), draw(_mostly(False, True))
    container = {"name": draw(_mostly("c", "web-1", "a2")), "image": draw(_mostly("i:1", "i", ""))}
    container["resources"] = {"requests": {"cpu": draw(_mostly("100m", "0.1", "x", "1"))}}
    spec: Object = {"containers": [container]}
    more: list[tuple[str, Any]] = [
        ("volumes", [{"name": "kube-api-access-abcde", "emptyDir": {}}]),
        ("volumes", [{"name": "v", "ephemeral": {"volumeClaimTemplate": {"spec": {"accessModes": ["x"]}}}}]),
        ("hostAliases", [{"ip": "10.0.0.1", "hostnames": ["h"]}]),
        ("nodeName", "node-1"),
        ("priorityClassName", "system-node-critical"),
        ("nodeSelector", {"beta.kubernetes.io/os": "linux", "nodeName": "node-1"}),
        ("schedulingGates", [{"name": "a/b"}]),
        ("serviceAccountName", "robot"),
        ("dnsPolicy", "Sometimes"),
        ("terminationGracePeriodSeconds", -1),
    ]
    spec |= dict(draw(st.lists(st.sampled_from(more), max_size=1)))
    form, applied = draw(st.sampled_from(_FORMS)), draw(st.booleans())
    kind = draw(_mostly({}, {"kind": "Pod"}, {"kind": "Node", "apiVersion": "v1"}, {"apiVersion": "v2"}, {"odd": 1}))
    labels = draw(_mostly({}, {"app": "x"}, {"name": "web-1"}, {"bad key": "x"}))
    lengths = draw(_two("{}m3.5s", "2026-01-01T00:00:0{}Z", "{} s", ""))
    user, job = draw(_mostly(*_USERS)), draw(st.one_of(st.none(), jobs))
    namespace, manager = draw(_mostly("default", "kube-system", "gone")), draw(_mostly("m", ""))

    def act(world: World, number: int) -> Any:
        told = orjson.dumps({"metadata": {"name": names[number % 5 == 4].format(number)}, "x": [f"web-{number}"]})
        metadata: Object = {"labels": dict(labels), "annotations": {LAST_APPLIED: told.decode()} if applied else {}}
        if length := lengths[number % 5 == 4]:
            metadata["annotations"] = {**metadata["annotations"], _RUN_TIME: length.format(number)}
        name = names[number % 5 == 4]
        metadata |= {"name": name.format(number)} if name else {"generateName": "gen-"}
        if owner:
            metadata["ownerReferences"] = [{"apiVersion": "v1", "kind": "X", "name": "o", "uid": "u"}] * 2
        if job is not None:
            job_names, uids, owners = job
            metadata |= _owned(number, job_names[number % 5 == 4], uids[number % 5 == 4], owners)
        pod = {"metadata": metadata, "spec": spec, **kind}
        return _created(world, "pods", pod, namespace, user, manager, form)

    return Burst(act, draw(counts), shown=f"pods {names} {spec} {labels} {job} {namespace} {user.name}")


@st.composite
def reports(draw: st.DrawFn) -> Burst:
    """Statuses of pods, as kubelets and others send them."""
    addresses = draw(_two("10.0.{}.7", *_ADDRESSES))
    hosts = draw(_two("10.9.9.9", "10.1.2.1", "10.0.{}.7", "x"))
    kind, phase = draw(_mostly("merge", "strategic")), draw(_mostly("Running", "Failed"))
    second, text = draw(_mostly("", "fd00::1", "2001::1", "10.8.8.8")), draw(st.booleans())
    condition = {"type": draw(_mostly("Ready", "x/y", "b a d")), "status": "True"}
    told = draw(_two("", "{now}", "2026-01-01T00:00:0{number}Z", "2026-01-31T00:00:00Z", "soon"))
    started, passed = draw(_two("{now}", "", "2026-01-01T00:00:02Z")), draw(st.sampled_from((0, 1, 7)))
    bound, again, prefix = draw(_mostly(True, False)), draw(st.booleans()), draw(st.sampled_from("rstuv"))
    aliases = draw(_mostly([], [{"ip": "10.0.1.7", "hostnames": ["h"]}], [{"ip": "10.0.1.7"}]))
    spec = {"containers": [{"name": "c", "image": "i"}], "hostAliases": aliases}
    job = draw(st.one_of(st.none(), jobs))

    def report(world: World, name: str, number: int, address: str) -> Any:
        here = hosts[number % 5 == 4].format(number)
        world.clock.advance_to(world.clock.now_ns() + passed * SECOND_NS)
        times = {"now": format_time(world.clock.now_ns()), "number": number}
        since = {"lastTransitionTime": told[number % 5 == 4].format(**times)} if told[number % 5 == 4] else {}
        status: Object = {"phase": phase, "hostIP": here, "hostIPs": [{"ip": here}], "conditions": [condition | since]}
        if start := started[number % 5 == 4]:
            status["startTime"] = start.format(**times)
        if ips := [{"ip": one} for one in (address, second) if one]:
            status |= {"podIP": ips[0]["ip"], "podIPs": ips}
        patch: Any = {"metadata": {"uid": world.registry.get("pods", name, "default").uid}, "status": status}
        warnings: list[str] = []
        body = orjson.dumps(patch) if text else patch
        options = _options(User(), "kubelet", warnings)
        written = world.registry.patch("pods", name, kind, body, "default", options, "status")
        return written.object.json(), warnings

    def act(world: World, number: int) -> Any:
        name = f"{prefix}-{number}"
        if not any(obj.name == name for obj in world.registry.list("pods", "default").items):
            metadata: Object = {}
            if job is not None:
                job_names, uids, owners = job
                metadata = _owned(number, job_names[number % 5 == 4], uids[number % 5 == 4], owners)
            _created(world, "pods", {"metadata": {**metadata, "name": name}, "spec": spec}, "default", User(), "m")
            if bound:
                binding = {"metadata": {"name": name}, "target": {"name": f"node-{number}"}}
                world.registry.bind(name, world.registry.decode("pods", binding, "binding"), "default")
        seen = [report(world, name, number, addresses[number % 5 == 4].format(number))]
        if again:
            seen.append(report(world, name, number, f"10.77.0.{number}"))
        return seen

    return Burst(act, draw(counts), shown=f"reports {prefix} {addresses} {second} {hosts} {kind} {condition} {job}")


@st.composite
def events(draw: st.DrawFn) -> Burst:
    months, form = draw(_two("01", "19", "1")), draw(st.sampled_from(_FORMS))
    notes = draw(_two("Bound p{} to n", 'a "quoted" {}', "ümlaut {}", "x" * 1025, "", "same"))
    resource = draw(st.sampled_from(("events", "events.events.k8s.io")))
    about, kind = draw(_mostly("default", "other", "")), draw(_mostly("Normal", "Strange"))
    name, prefix = draw(_mostly("p{}.17f", "Bad {}", "p.q.{}")), draw(st.sampled_from("abcdefgh"))
    first, passed = (
        draw(_two("{now}", "2026-01-01T00:00:00Z", "2026-01-31T00:00:00Z", "soon")),
        draw(st.sampled_from((0, 3))),
    )

    def act(world: World, number: int) -> Any:
        subject = {"kind": "Pod", "namespace": about, "name": f"p{number}", "uid": f"u-{number}"}
        body: Object = {"metadata": {"name": prefix + name.format(number)}, "type": kind, "reason": "R", "action": "A"}
        world.clock.advance_to(world.clock.now_ns() + passed * SECOND_NS)
        if resource == "events":
            body |= {"involvedObject": subject, "message": notes[number % 5 == 4].format(number), "count": 1}
            now = format_time(world.clock.now_ns())
            body |= {"firstTimestamp": first[number % 5 == 4].format(now=now), "lastTimestamp": now}
        else:
            subject["resourceVersion"] = str(number)
            body |= {"regarding": subject, "note": notes[number % 5 == 4].format(number), "reportingController": "c"}
            body |= {
                "eventTime": f"2026-{months[number % 5 == 4]}-01T00:00:00.00000{number}Z",
                "reportingInstance": "i",
            }
        return _created(world, resource, body, "default", User(), "kube-scheduler", form)

    return Burst(act, draw(counts), shown=f"{resource} {name} {len(notes[0])} {notes[1][:9]} {about} {kind}")


@st.composite
def nodes(draw: st.DrawFn) -> Burst:
    networks = draw(_two("10.244.{}.0/24", "10.244.{}.0/33", "fd00:{}::/64"))
    labels = draw(_two("node-{}", "other", "b a d {}"))
    address = draw(_mostly("10.0.0.{}", "same", ""))

    def act(world: World, number: int) -> Any:
        name = f"node-{number}"
        node = {
            "metadata": {"name": name, "labels": {"kubernetes.io/hostname": labels[number % 5 == 4].format(number)}}
        }
        seen = [_created(world, "nodes", node, "", User(), "kubelet")]
        lease = {
            "metadata": {
                "name": name,
                "ownerReferences": [{"apiVersion": "v1", "kind": "Node", "name": name, "uid": seen[0][2]}],
            },
            "spec": {"holderIdentity": name, "leaseDurationSeconds": 40},
        }
        world.note(lambda *_: _created(world, "leases.coordination.k8s.io", lease, "kube-node-lease", User(), ""), 0)
        cidr = networks[number % 5 == 4].format(number)
        spec = {"spec": {"podCIDR": cidr, "podCIDRs": [cidr]}, "metadata": {"labels": {"kubernetes.io/os": "linux"}}}
        addresses = [{"type": "InternalIP", "address": address.format(number)}, {"type": "Hostname", "address": name}]
        for body, subresource in ((spec, ""), ({"status": {"addresses": addresses}}, "status")):
            warnings: list[str] = []
            written = world.registry.patch(
                "nodes", name, "strategic", body, "", _options(User(), "kubelet", warnings), subresource
            )
            seen.append((written.object.json(), warnings))
        return seen

    return Burst(act, draw(counts), shown=f"nodes {networks} {labels} {address}")


def _limit(world: World, number: int) -> Any:
    limits = [{"type": "Container", "default": {"cpu": f"{number}"}, "max": {"cpu": "3"}}]
    body = {"metadata": {"name": f"limit-{world.registry.revision}"}, "spec": {"limits": limits}}
    return _created(world, "limitranges", body, "default", User(), "m")


def _quota(world: World, _number: int) -> Any:
    body = {"metadata": {"name": f"quota-{world.registry.revision}"}, "spec": {"hard": {"pods": "5"}}}
    seen = _created(world, "resourcequotas", body, "default", User(), "m")
    status = {"status": {"hard": {"pods": "5"}, "used": {"pods": "0"}}}
    written = world.registry.patch(
        "resourcequotas", seen[1].split("/")[1], "merge", status, "default", subresource="status"
    )
    return seen, written.object.json()


def _class(world: World, number: int) -> Any:
    body = {"metadata": {"name": f"class-{world.registry.revision}"}, "value": number, "globalDefault": True}
    return _created(world, "priorityclasses.scheduling.k8s.io", body, "", User(), "m")


def _account(world: World, _number: int) -> Any:
    patch = {"automountServiceAccountToken": world.registry.revision % 2 == 0, "imagePullSecrets": [{"name": "s"}]}
    return world.registry.patch("serviceaccounts", "default", "merge", patch, "default").object.json()


def _robot(world: World, _number: int) -> Any:
    return _created(world, "serviceaccounts", {"metadata": {"name": "robot"}}, "default", User(), "m")


def _later(world: World, number: int) -> Any:
    world.clock.advance_to(world.clock.now_ns() + number * SECOND_NS)


def _gone(world: World, number: int) -> Any:
    deletion = world.registry.delete("pods", f"web-{number}", "default")
    return deletion.status, deletion.object and deletion.object.json()


def _ended(world: World, _number: int) -> Any:
    return str(world.registry.delete("namespaces", "gone").status)


def _namespace(world: World, _number: int) -> Any:
    return _created(world, "namespaces", {"metadata": {"name": "gone"}}, "", User(), "m")


_CHANGES: tuple[Act, ...] = (_limit, _quota, _class, _account, _robot, _later, _gone, _ended, _namespace)
changes = st.builds(lambda act, count: Burst(act, count, shown=act.__name__), st.sampled_from(_CHANGES), st.just(1))
bursts = st.lists(st.one_of(pods(), reports(), events(), nodes(), changes), min_size=1, max_size=6)


@settings(max_examples=150, suppress_health_check=[HealthCheck.too_slow])
@given(bursts, st.integers(1, 2))
def test_like_writes_come_out_as_if_worked_out_anew(written: list[Burst], rounds: int) -> None:
    """Answers, refusals, warnings, stored bytes and the order of draws are the same."""
    quick, thorough = World(repeats=True), World(repeats=False)
    for turn in range(rounds):
        for burst in written:
            for number in range(burst.count):
                # Names go on where the last round ended, so that the same templates come again.
                for world in (quick, thorough):
                    world.note(burst.act, turn * 5 + number + 1)

                assert quick.seen[-1] == thorough.seen[-1]
                assert quick.state() == thorough.state()
