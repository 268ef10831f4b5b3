"""DefaultBinder."""

from schedlab.apimachinery.errors import new_conflict
from schedlab.apimachinery.gvk import GroupResource
from schedlab.client.protocol import Outcome, Write
from schedlab.scheduler.framework.interface import CycleState, Work
from schedlab.scheduler.framework.status import Code
from schedlab.scheduler.plugins.default_binder import ENTRY
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
    assert work == Work(writes=(Write("create", "pods", "ns", "p", body, subresource="binding"),))


def test_answer_of_the_api_server_is_the_status() -> None:
    plugin = PluginBench(ENTRY).plugin
    refused = Outcome(error=new_conflict(GroupResource("", "pods"), "p", "already assigned to node n2"))

    assert plugin.resume(CycleState(), POD, "n1", Work(), [Outcome()]) is None
    status = plugin.resume(CycleState(), POD, "n1", Work(), [refused])
    assert status.code is Code.ERROR
    assert status.message == 'Operation cannot be fulfilled on pods "p": already assigned to node n2'
