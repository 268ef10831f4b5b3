"""OpenAPI documents: the index, group versions, operations, schemas."""

import json
from typing import Any

import pytest

from schedlab.apimachinery.openapi import OpenAPI
from schedlab.apimachinery.resources import Resources, known_resources, stable_resources


@pytest.fixture(scope="module")
def served() -> Resources:
    return stable_resources().restrict(
        ["pods", "pods/status", "pods/binding", "nodes", "priorityclasses.scheduling.k8s.io"]
    )


@pytest.fixture(scope="module")
def documents(served: Resources) -> OpenAPI:
    return OpenAPI(served, "v1.36.2")


@pytest.fixture(scope="module")
def core(documents: OpenAPI) -> dict[str, Any]:
    document = documents.v3("api/v1")
    assert document is not None
    return dict(json.loads(document))


def test_the_index_lists_every_document_with_a_hash(documents: OpenAPI) -> None:
    paths = json.loads(documents.index)["paths"]

    assert list(paths) == [
        ".well-known/openid-configuration",
        "api",
        "api/v1",
        "apis",
        "apis/scheduling.k8s.io",
        "apis/scheduling.k8s.io/v1",
        "openid/v1/jwks",
        "version",
    ]
    assert paths["api/v1"]["serverRelativeURL"].startswith("/openapi/v3/api/v1?hash=")


def test_every_document_of_the_index_exists_and_no_other(documents: OpenAPI) -> None:
    for path in json.loads(documents.index)["paths"]:
        document = documents.v3(path)
        assert document is not None
        assert json.loads(document)["openapi"] == "3.0.0"
    assert documents.v3("apis/apps/v1") is None


def test_the_hash_changes_with_what_is_served(served: Resources, documents: OpenAPI) -> None:
    extra = known_resources().find("", "v1", "configmaps")
    assert extra is not None
    larger = OpenAPI(served.extended([extra]), "v1.36.2")

    assert larger.etag("api/v1") != documents.etag("api/v1")
    assert larger.etag("apis/scheduling.k8s.io/v1") == documents.etag("apis/scheduling.k8s.io/v1")


@pytest.mark.parametrize(
    ("path", "actions"),
    [
        ("/api/v1/", {"get": ""}),
        ("/api/v1/pods", {"get": "list"}),
        (
            "/api/v1/namespaces/{namespace}/pods",
            {"get": "list", "post": "post", "delete": "deletecollection"},
        ),
        (
            "/api/v1/namespaces/{namespace}/pods/{name}",
            {"get": "get", "put": "put", "delete": "delete", "patch": "patch"},
        ),
        ("/api/v1/namespaces/{namespace}/pods/{name}/status", {"get": "get", "put": "put", "patch": "patch"}),
        ("/api/v1/namespaces/{namespace}/pods/{name}/binding", {"post": "post"}),
        ("/api/v1/nodes/{name}", {"get": "get", "put": "put", "delete": "delete", "patch": "patch"}),
        ("/api/v1/watch/pods", {"get": "watchlist"}),
        ("/api/v1/watch/namespaces/{namespace}/pods/{name}", {"get": "watch"}),
    ],
)
def test_paths_have_the_operations_of_their_verbs(core: dict[str, Any], path: str, actions: dict[str, str]) -> None:
    item = core["paths"][path]

    assert actions == {
        method: op.get("x-kubernetes-action", "") for method, op in item.items() if method != "parameters"
    }


def test_subresources_that_are_not_served_have_no_path(core: dict[str, Any]) -> None:
    assert not [path for path in core["paths"] if path.endswith("/eviction")]


@pytest.mark.parametrize(
    ("method", "parameters"),
    [
        ("patch", {"dryRun", "fieldManager", "fieldValidation", "force"}),
        ("put", {"dryRun", "fieldManager", "fieldValidation"}),
    ],
)
def test_writes_declare_the_parameters_that_kubectl_looks_for(
    core: dict[str, Any], method: str, parameters: set[str]
) -> None:
    operation = core["paths"]["/api/v1/namespaces/{namespace}/pods/{name}"][method]

    assert parameters == {one["name"] for one in operation["parameters"]}
    assert operation["x-kubernetes-group-version-kind"] == {"group": "", "version": "v1", "kind": "Pod"}


def test_operation_ids_are_unique(core: dict[str, Any]) -> None:
    ids = [op["operationId"] for item in core["paths"].values() for name, op in item.items() if name != "parameters"]

    assert len(ids) == len(set(ids))
    assert "readCoreV1NamespacedPodStatus" in ids


def test_every_reference_of_a_document_is_resolved_in_it(core: dict[str, Any]) -> None:
    schemas = core["components"]["schemas"]

    def references(value: Any) -> list[str]:
        if isinstance(value, dict):
            found = [value["$ref"]] if "$ref" in value else []
            return found + [one for item in value.values() for one in references(item)]
        return [one for item in value for one in references(item)] if isinstance(value, list) else []

    assert {one.removeprefix("#/components/schemas/") for one in references(core)} <= set(schemas)


def test_schemas_carry_merge_keys_list_types_defaults_and_enumerations(core: dict[str, Any]) -> None:
    schemas = core["components"]["schemas"]
    spec = schemas["io.k8s.api.core.v1.PodSpec"]["properties"]
    port = schemas["io.k8s.api.core.v1.ContainerPort"]["properties"]

    constraints = spec["topologySpreadConstraints"]
    assert constraints["x-kubernetes-list-map-keys"] == ["topologyKey", "whenUnsatisfiable"]
    assert constraints["x-kubernetes-patch-merge-key"] == "topologyKey"
    assert port["protocol"]["default"] == "TCP"
    assert port["protocol"]["enum"] == ["SCTP", "TCP", "UDP"]
    assert 'Possible enum values:\n - `"SCTP"`' in port["protocol"]["description"]
    assert spec["affinity"]["allOf"] == [{"$ref": "#/components/schemas/io.k8s.api.core.v1.Affinity"}]


def test_options_of_every_group_name_only_the_documents_group(documents: OpenAPI) -> None:
    document = documents.v3("apis/scheduling.k8s.io/v1")
    assert document is not None
    options = json.loads(document)["components"]["schemas"]["io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions"]

    assert [(gvk["group"], gvk["version"]) for gvk in options["x-kubernetes-group-version-kind"]] == [
        ("", "v1"),
        ("scheduling.k8s.io", "v1"),
    ]


def test_the_second_version_describes_the_same_in_its_own_way(documents: OpenAPI) -> None:
    document = json.loads(documents.v2)
    spec = document["definitions"]["io.k8s.api.core.v1.PodSpec"]["properties"]
    patch = document["paths"]["/api/v1/nodes/{name}"]["patch"]

    assert document["swagger"] == "2.0"
    assert spec["affinity"]["$ref"] == "#/definitions/io.k8s.api.core.v1.Affinity"
    assert "default" not in spec["hostNetwork"]
    assert {"dryRun", "body"} <= {one["name"] for one in patch["parameters"]}
