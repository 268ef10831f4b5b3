"""Host ports."""

import msgspec
import pytest

from schedlab.api.rules.ports import HostPort, conflicts, host_ports
from schedlab.api.views.core import Pod

ANY = "0.0.0.0"


def test_containers_and_sidecars_take_host_ports() -> None:
    """Sidecars come first; ports of init containers that end, and ports without a host port, take nothing."""
    spec = {
        "containers": [{"ports": [{"containerPort": 1}, {"containerPort": 2, "hostPort": 80}]}],
        "initContainers": [
            {"ports": [{"hostPort": 81}]},
            {"ports": [{"hostPort": 82, "protocol": "UDP", "hostIP": "10.0.0.1"}], "restartPolicy": "Always"},
        ],
    }

    assert host_ports(msgspec.convert({"spec": spec}, Pod)) == (("10.0.0.1", "UDP", 82), (ANY, "TCP", 80))


@pytest.mark.parametrize(
    ("wanted", "used", "expected"),
    [
        ((ANY, "TCP", 80), (ANY, "TCP", 80), True),
        ((ANY, "TCP", 80), ("10.0.0.1", "TCP", 80), True),
        (("10.0.0.1", "TCP", 80), (ANY, "TCP", 80), True),
        (("10.0.0.1", "TCP", 80), ("10.0.0.1", "TCP", 80), True),
        (("10.0.0.1", "TCP", 80), ("10.0.0.2", "TCP", 80), False),
        ((ANY, "TCP", 80), (ANY, "UDP", 80), False),
        ((ANY, "TCP", 80), (ANY, "TCP", 81), False),
    ],
)
def test_ports_exclude_each_other(wanted: HostPort, used: HostPort, *, expected: bool) -> None:
    """Equal protocol and port conflict on the same address or where one address is the wildcard."""
    assert conflicts(wanted, used) is expected
