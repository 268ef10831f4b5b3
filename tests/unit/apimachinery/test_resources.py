"""The list of resources: look-ups, order, restriction."""

import pytest

from schedlab.apimachinery.gvk import GroupVersion, GroupVersionKind
from schedlab.apimachinery.resources import Resources, known_resources, stable_resources


def test_pods_are_as_a_server_describes_them() -> None:
    pods = stable_resources().named("pods")

    assert (pods.kind, pods.list_kind, pods.singular) == ("Pod", "PodList", "pod")
    assert pods.namespaced
    assert pods.short_names == ("po",)
    assert pods.categories == ("all",)
    assert pods.path == "/api/v1"
    assert [sub.name for sub in pods.subresources] == [
        "attach",
        "binding",
        "ephemeralcontainers",
        "eviction",
        "exec",
        "log",
        "portforward",
        "proxy",
        "resize",
        "status",
    ]


def test_a_subresource_may_have_a_kind_of_another_group() -> None:
    eviction = stable_resources().named("pods").subresource("eviction")
    assert eviction is not None

    assert eviction.gvk == GroupVersionKind("policy", "v1", "Eviction")
    assert eviction.verbs == ("create",)


@pytest.mark.parametrize(
    ("word", "name"),
    [
        ("po", "pods"),
        ("Pod", "pods"),
        ("deploy", "deployments.apps"),
        ("deployment.apps", "deployments.apps"),
        ("ev", "events"),
        ("events.events.k8s.io", "events.events.k8s.io"),
        ("sc", "storageclasses.storage.k8s.io"),
    ],
)
def test_users_may_name_a_resource_by_any_of_its_names(word: str, name: str) -> None:
    found = stable_resources().search(word)
    assert found is not None

    assert name == found.full_name


def test_a_word_that_names_nothing_finds_nothing() -> None:
    assert stable_resources().search("widgets") is None


def test_versions_are_preferred_stable_first_and_newest_first() -> None:
    assert stable_resources().group_versions("autoscaling") == (
        GroupVersion("autoscaling", "v2"),
        GroupVersion("autoscaling", "v1"),
    )
    assert [gv.version for gv in known_resources().group_versions("resource.k8s.io")] == [
        "v1",
        "v1beta2",
        "v1beta1",
        "v1alpha3",
    ]


def test_a_kind_is_found_in_its_preferred_version() -> None:
    found = stable_resources().find_kind("autoscaling", "HorizontalPodAutoscaler")
    assert found is not None

    assert found.version == "v2"


def test_stable_resources_leave_out_alpha_and_beta_versions() -> None:
    assert stable_resources().find("scheduling.k8s.io", "v1alpha2", "workloads") is None
    assert known_resources().find("scheduling.k8s.io", "v1alpha2", "workloads") is not None


def test_a_restricted_set_serves_only_what_it_names() -> None:
    served = stable_resources().restrict(["pods", "pods/status", "pods/binding", "leases.coordination.k8s.io"])

    assert [entry.full_name for entry in served] == ["pods", "leases.coordination.k8s.io"]
    assert [sub.name for sub in served.named("pods").subresources] == ["binding", "status"]
    assert served.groups() == ("", "coordination.k8s.io")


@pytest.mark.parametrize("name", ["widgets", "pods/nothing", "deployments"])
def test_restricting_to_what_does_not_exist_is_an_error(name: str) -> None:
    with pytest.raises(KeyError):
        stable_resources().restrict([name])


def test_a_set_can_be_extended() -> None:
    extra = known_resources().find("scheduling.k8s.io", "v1alpha2", "workloads")
    assert extra is not None
    served = stable_resources().restrict(["pods"]).extended([extra])

    assert len(served) == 2
    assert served.find_gvk(extra.gvk) is extra


def test_a_resource_given_twice_is_refused() -> None:
    pods = stable_resources().named("pods")

    with pytest.raises(AssertionError):
        Resources([pods, pods])


@pytest.mark.parametrize(
    ("name", "storage_hash"),
    [
        ("configmaps", "qFsyl6wFWjQ="),
        ("horizontalpodautoscalers.autoscaling", "qwQve8ut294="),
        ("customresourcedefinitions.apiextensions.k8s.io", "jfWCUB31mvA="),
    ],
)
def test_the_storage_version_hash_tells_of_the_stored_version(name: str, storage_hash: str) -> None:
    assert storage_hash == stable_resources().named(name).storage_version_hash


def test_both_groups_of_events_are_stored_as_one() -> None:
    core, events = stable_resources().named("events"), stable_resources().named("events.events.k8s.io")

    assert core.storage_version_hash == events.storage_version_hash


def test_reviews_are_not_stored() -> None:
    assert not stable_resources().named("selfsubjectaccessreviews.authorization.k8s.io").is_stored
    assert not stable_resources().named("componentstatuses").is_stored
    assert stable_resources().named("pods").is_stored
