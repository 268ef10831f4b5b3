"""A client in process that may do no more than its user."""

from __future__ import annotations

from typing import Any

from schedlab.apimachinery.errors import Forbidden, StatusError
from schedlab.apiserver.authentication import UserInfo
from schedlab.apiserver.authorization import MastersFirst
from schedlab.apiserver.policy.bootstrap import bootstrap_access
from schedlab.apiserver.rbac import Access, RBACAuthorizer
from schedlab.client.informers import Informers
from schedlab.client.protocol import Outcome, Write
from schedlab.cluster.account_client import AccountClient
from schedlab.kernel.clock import SECOND_NS, VirtualClock
from schedlab.kernel.randomness import SeededRandom
from schedlab.registry import Registry, bootstrap
from schedlab.store import Store
from tests.support.registries import provide_accounts

USER = UserInfo("me")


class World:
    """An API with default roles, and a client of a user who has none at first."""

    def __init__(self) -> None:
        self.clock = VirtualClock()
        self.registry = provide_accounts(Registry(Store(), self.clock, SeededRandom(1)))
        bootstrap(self.registry)
        bootstrap_access(self.registry)
        authorizer = MastersFirst(RBACAuthorizer(Access(self.registry)))
        self.client = AccountClient(self.registry, authorizer, USER, "mine", self.clock)
        self.errors: list[str] = []
        self.synced = 0
        self.client.on_error = self._failed
        self.client.on_synced = self._synced

    def _failed(self, resource: str, verb: str, error: StatusError) -> None:
        self.errors.append(f"{verb} {resource}: {error}")

    def _synced(self) -> None:
        self.synced += 1

    def grant(self, role: str) -> None:
        binding: dict[str, Any] = {
            "metadata": {"name": role.replace(":", "-")},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role},
            "subjects": [{"kind": "User", "name": USER.name, "apiGroup": "rbac.authorization.k8s.io"}],
        }
        resource = "clusterrolebindings.rbac.authorization.k8s.io"
        self.registry.create(resource, self.registry.decode(resource, binding))

    def create_pod(self, name: str) -> None:
        pod = {"metadata": {"name": name}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
        self.registry.create("pods", self.registry.decode("pods", pod), "default")

    def submit(self, write: Write) -> Outcome:
        answers: list[Outcome] = []
        self.client.submit(write, answers.append)
        return answers[0]


def test_what_may_not_be_listed_is_empty_until_it_may() -> None:
    world = World()
    world.create_pod("a")
    pods = Informers(world.client).lister("pods")
    told: list[tuple[str, str]] = []
    pods.on_change(lambda event: told.append((event.type, event.object.name)))
    lacking = world.client.lacking()
    world.grant("system:kube-scheduler")
    world.clock.advance_to(world.clock.now_ns() + SECOND_NS)
    world.create_pod("b")

    assert lacking == ("pods",)
    assert world.client.lacking() == ()
    assert told == [("ADDED", "a"), ("ADDED", "b")]
    assert world.synced == 1
    assert world.errors == [
        'list pods: pods is forbidden: User "me" cannot list resource "pods" in API group "" at the cluster scope'
    ]


def test_it_asks_again_after_ever_longer_pauses() -> None:
    world = World()
    Informers(world.client).lister("pods")
    world.clock.advance_to(world.clock.now_ns() + 62 * SECOND_NS)

    # At once, then after 1, 3, 7, 15, 31 and 61 seconds.
    assert len(world.errors) == 7


def test_a_listener_that_leaves_is_told_nothing_when_the_rights_come() -> None:
    world = World()
    informers = Informers(world.client)
    informers.lister("pods")
    informers.stop()
    world.grant("system:kube-scheduler")
    world.clock.advance_to(world.clock.now_ns() + 60 * SECOND_NS)

    assert world.synced == 0


def test_writes_need_the_right_for_their_verb_and_subresource() -> None:
    world = World()
    world.create_pod("a")
    binding = {"metadata": {"name": "a"}, "target": {"kind": "Node", "name": "n"}}
    write = Write("create", "pods", "default", "a", binding, "binding")
    refused = world.submit(write)
    world.grant("system:kube-scheduler")
    done = world.submit(write)

    assert isinstance(refused.error, Forbidden)
    assert 'cannot create resource "pods/binding" in API group "" in the namespace "default"' in refused.error.message
    assert done.error is None
    assert world.registry.get("pods", "a", "default").view.spec.node_name == "n"


def test_reads_past_the_cache_need_the_right_to_get() -> None:
    world = World()
    world.create_pod("a")
    answers: list[Outcome] = []
    world.client.read("pods", "a", "default", answers.append)
    world.grant("system:kube-scheduler")
    world.client.read("pods", "a", "default", answers.append)

    assert isinstance(answers[0].error, Forbidden)
    assert answers[1].object is not None
