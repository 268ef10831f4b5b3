"""DefaultBinder."""

from schedlab.apimachinery.errors import new_conflict
from schedlab.apimachinery.gvk import GroupResource
from schedlab.client.protocol import Outcome, Write
from schedlab.kernel.clock import VirtualClock
from schedlab.kernel.randomness import SeededRandom
from schedlab.registry import Registry
from schedlab.scheduler.framework.interface import CycleState, Work
from schedlab.scheduler.framework.status import Code
from schedlab.scheduler.plugins.default_binder import ENTRY
from schedlab.store import Store
from schedlab.testing.builders import make_pod
from tests.unit.scheduler.plugins.plugin_bench import PluginBench

POD = make_pod("p", "ns").obj()


def test_binding_is_a_write_of_the_pods_subresource() -> None:
    work = PluginBench(ENTRY).plugin.bind(CycleState(), POD, "n1")

    body = {
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {"name": "p", "namespace": "ns", "uid": "uid-ns/p"},
        "target": {"kind": "Node", "name": "n1"},
    }
    assert work == Work(writes=(Write("create", "pods", "ns", "p", body, subresource="binding", is_canonical=True),))


def test_binding_is_in_canonical_form() -> None:
    work = PluginBench(ENTRY).plugin.bind(CycleState(), POD, "n1")
    registry = Registry(Store(), VirtualClock(), SeededRandom(1))
    body = work.writes[0].body

    assert registry.decode("pods", body, "binding") == body


def test_answer_of_the_api_server_is_the_status() -> None:
    plugin = PluginBench(ENTRY).plugin
    refused = Outcome(error=new_conflict(GroupResource("", "pods"), "p", "already assigned to node n2"))

    assert plugin.resume(CycleState(), POD, "n1", Work(), [Outcome()]) is None
    status = plugin.resume(CycleState(), POD, "n1", Work(), [refused])
    assert status.code is Code.ERROR
    assert status.message == 'Operation cannot be fulfilled on pods "p": already assigned to node n2'
