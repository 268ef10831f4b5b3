"""Admission plugins are switched by kube-apiserver's names, and mistakes are told in its words."""

import pytest

from schedlab.kernel.errors import SchedlabError
from schedlab.registry.admission.names import UPSTREAM_NAMES, enabled_names
from schedlab.registry.admission.plugins import DEFAULT_NAMES, KNOWN


def test_every_plugin_has_upstreams_name_and_order() -> None:
    """The names are kube-apiserver's, and so is the order in which they run."""
    assert [name for name in UPSTREAM_NAMES if name in {plugin.name for plugin in KNOWN}] == [
        plugin.name for plugin in KNOWN
    ]


@pytest.mark.parametrize("name", DEFAULT_NAMES)
def test_each_can_be_switched_off(name: str) -> None:
    assert enabled_names((), (name,)) == tuple(other for other in DEFAULT_NAMES if other != name)


def test_others_can_be_switched_on() -> None:
    """They take their place in the order."""
    enabled = enabled_names(("ExtendedResourceToleration", "PodNodeSelector"), ())

    assert [name for name in enabled if name not in DEFAULT_NAMES] == ["PodNodeSelector", "ExtendedResourceToleration"]
    assert enabled.index("PodNodeSelector") < enabled.index("Priority")


def test_defaults_are_on_anyhow() -> None:
    """Naming one changes nothing; switching off what is not simulated does not, either."""
    assert enabled_names((), ()) == DEFAULT_NAMES
    assert enabled_names(("Priority",), ("PodSecurity", "ValidatingAdmissionWebhook")) == DEFAULT_NAMES


@pytest.mark.parametrize(
    ("enable", "disable", "said"),
    [
        (("Priorities",), (), '--enable-admission-plugins: enable-admission-plugins plugin "Priorities" is unknown'),
        ((), ("priority",), '--disable-admission-plugins: disable-admission-plugins plugin "priority" is unknown'),
        (
            ("Priority", "LimitRanger"),
            ("LimitRanger", "Priority"),
            (
                "--enable-admission-plugins, --disable-admission-plugins: "
                "[LimitRanger Priority] in enable-admission-plugins and disable-admission-plugins overlapped"
            ),
        ),
        (
            ("ImagePolicyWebhook",),
            (),
            "--enable-admission-plugins: ImagePolicyWebhook is a plugin of kube-apiserver that is not simulated",
        ),
    ],
)
def test_mistakes(enable: tuple[str, ...], disable: tuple[str, ...], said: str) -> None:
    with pytest.raises(SchedlabError) as caught:
        enabled_names(enable, disable)
    assert str(caught.value).startswith(f"{said}\nhint: ")
