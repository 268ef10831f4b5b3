"""How objects inside kube-apiserver are printed."""

from schedlab.api.internal_form import internal_diff, internal_text


def test_fields_have_their_names_and_order_in_go_and_nothing_is_left_out() -> None:
    assert internal_text("core.ServicePort", {"port": 80, "name": "a"}) == (
        '{"Name":"a","Protocol":"","AppProtocol":null,"Port":80,"TargetPort":0,"NodePort":0}'
    )
    assert internal_text("*core.VolumeNodeAffinity", None) == "null"


def test_embedded_structs_have_no_level_of_their_own() -> None:
    volume = {"name": "v", "emptyDir": {}}
    text = internal_text("core.Volume", volume)
    assert text.startswith('{"Name":"v","HostPath":null,"EmptyDir":{"Medium":"","SizeLimit":null},')


def test_types_with_a_form_on_the_wire_keep_it() -> None:
    text = internal_text("core.PodTemplateSpec", {"metadata": {"labels": {"b": "1", "a": "2"}}, "spec": {}})
    assert text.startswith('{"labels":{"a":"2","b":"1"},"Spec":{"Volumes":null,')


def test_what_shares_with_the_host_is_in_the_security_context() -> None:
    text = internal_text("core.PodSpec", {"hostNetwork": True, "securityContext": {"runAsUser": 1}})
    assert '"SecurityContext":{"HostNetwork":true,"HostPID":false,' in text
    assert '"RunAsUser":1' in text


def test_a_diff_shows_three_lines_around_and_escapes_as_go_does() -> None:
    old = {"hostPath": {"path": "/<a>", "type": ""}}
    assert internal_diff("core.PersistentVolumeSource", old, {"hostPath": {"path": "/b", "type": ""}}) == (
        "@@ -2,7 +2,7 @@\n"
        '  "GCEPersistentDisk": null,\n  "AWSElasticBlockStore": null,\n  "HostPath": {\n'
        '-  "Path": "/\\u003ca\\u003e",\n+  "Path": "/b",\n   "Type": ""\n  },\n  "Glusterfs": null,\n'
    )
