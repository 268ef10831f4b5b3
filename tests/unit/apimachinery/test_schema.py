"""The type table: what it knows of fields, lists, maps, Go's habits."""

import pytest

from schedlab.apimachinery import schema
from schedlab.apimachinery.gvk import GroupVersionKind
from schedlab.apimachinery.schema import List, Map, Scalar, Struct, Untyped


def pod_spec() -> Struct:
    spec = schema.schema_for("", "v1", "Pod").fields["spec"].type
    assert isinstance(spec, Struct)
    return spec


def list_of(struct: Struct, name: str) -> List:
    found = struct.fields[name].type
    assert isinstance(found, List)
    return found


@pytest.mark.parametrize(
    ("group", "version", "kind"),
    [
        ("", "v1", "Pod"),
        ("apps", "v1", "Deployment"),
        ("batch", "v1", "Job"),
        ("resource.k8s.io", "v1", "ResourceClaim"),
        ("events.k8s.io", "v1", "Event"),
        ("apiextensions.k8s.io", "v1", "CustomResourceDefinition"),
    ],
)
def test_every_served_kind_has_a_type_that_names_it(group: str, version: str, kind: str) -> None:
    found = schema.schema_for(group, version, kind)

    assert kind == found.short_name
    assert GroupVersionKind(group, version, kind) in found.gvks


def test_an_unknown_kind_is_a_key_error_that_names_it() -> None:
    with pytest.raises(KeyError, match="apps/v1, Kind=Nothing"):
        schema.schema_for("apps", "v1", "Nothing")


def test_a_type_is_built_once() -> None:
    assert schema.schema_for("", "v1", "Pod") is schema.schema_for("", "v1", "Pod")


def test_a_type_may_contain_itself() -> None:
    props = schema.builtin().named("io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps")
    assert isinstance(props, Struct)
    inner = props.fields["properties"].type
    assert isinstance(inner, Map)

    assert props is inner.element


def test_every_type_can_be_built() -> None:
    table = schema.builtin()

    assert all(table.named(name) for name in table.names())


@pytest.mark.parametrize(
    ("name", "list_type", "keys"),
    [
        ("containers", "map", ("name",)),
        ("tolerations", "atomic", ()),
        ("imagePullSecrets", "map", ("name",)),
        ("topologySpreadConstraints", "map", ("topologyKey", "whenUnsatisfiable")),
    ],
)
def test_lists_say_how_their_elements_are_told_apart(name: str, list_type: str, keys: tuple[str, ...]) -> None:
    found = list_of(pod_spec(), name)

    assert (list_type, keys) == (found.list_type, found.keys)


def test_spread_constraints_merge_by_another_key_under_a_strategic_patch() -> None:
    assert pod_spec().fields["topologySpreadConstraints"].merge_key == "topologyKey"


def test_list_keys_have_the_defaults_of_their_fields() -> None:
    container = list_of(pod_spec(), "containers").element
    assert isinstance(container, Struct)

    assert list_of(container, "ports").key_defaults == (("containerPort", 0), ("protocol", "TCP"))


@pytest.mark.parametrize(
    ("path", "go"),
    [
        (("spec", "restartPolicy"), "v1.RestartPolicy"),
        (("spec", "containers"), "[]v1.Container"),
        (("spec", "nodeSelector"), "map[string]string"),
        (("spec", "overhead"), "v1.ResourceList"),
        (("spec", "priority"), "int32"),
        (("spec", "affinity"), "v1.Affinity"),
        (("metadata", "uid"), "types.UID"),
    ],
)
def test_types_carry_the_names_that_go_prints(path: tuple[str, ...], go: str) -> None:
    found: schema.Type = schema.schema_for("", "v1", "Pod")
    for name in path:
        assert isinstance(found, Struct)
        found = found.fields[name].type

    assert go == found.go


def test_atomic_maps_and_structs_are_known() -> None:
    spec = pod_spec()
    volume = schema.schema_for("", "v1", "PersistentVolume").fields["spec"].type
    assert isinstance(volume, Struct)
    claim = volume.fields["claimRef"].type
    reference = schema.builtin().named("io.k8s.api.core.v1.ObjectReference")

    assert isinstance(spec.fields["nodeSelector"].type, Map)
    assert spec.fields["nodeSelector"].type.atomic
    assert isinstance(reference, Struct)
    assert reference.atomic
    assert isinstance(claim, Struct)
    assert not claim.atomic, "the field says that it is granular"


def test_an_empty_object_has_what_go_always_writes() -> None:
    assert schema.schema_for("", "v1", "Pod").empty() == {"metadata": {}, "spec": {"containers": None}, "status": {}}


def test_fields_of_embedded_structs_know_what_they_are_embedded_through() -> None:
    spec = pod_spec()
    ephemeral = list_of(spec, "ephemeralContainers").element
    volume = list_of(spec, "volumes").element
    assert isinstance(ephemeral, Struct)
    assert isinstance(volume, Struct)

    assert ephemeral.fields["image"].embedded == "EphemeralContainerCommon"
    assert volume.fields["emptyDir"].embedded == "VolumeSource"


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("io.k8s.apimachinery.pkg.api.resource.Quantity", "quantity"),
        ("io.k8s.apimachinery.pkg.apis.meta.v1.Time", "time"),
        ("io.k8s.apimachinery.pkg.apis.meta.v1.MicroTime", "micro-time"),
        ("io.k8s.apimachinery.pkg.util.intstr.IntOrString", "int-or-string"),
    ],
)
def test_types_with_a_json_form_of_their_own_are_scalars(name: str, kind: str) -> None:
    found = schema.builtin().named(name)
    assert isinstance(found, Scalar)

    assert kind == found.kind


def test_raw_extensions_are_atomic_and_fields_v1_are_not() -> None:
    raw = schema.builtin().named("io.k8s.apimachinery.pkg.runtime.RawExtension")
    fields = schema.builtin().named("io.k8s.apimachinery.pkg.apis.meta.v1.FieldsV1")
    assert isinstance(raw, Untyped)
    assert isinstance(fields, Untyped)

    assert (raw.atomic, fields.atomic) == (True, False)
