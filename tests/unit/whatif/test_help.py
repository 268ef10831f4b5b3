"""What would help a pod: each kind of change, the smallest of its kind, with the node it leads to and its command."""

from __future__ import annotations

from typing import Any

import pytest

from schedlab.kernel.errors import SchedlabError
from schedlab.whatif.changes import read_changes
from schedlab.whatif.help import Help, what_would_help
from schedlab.whatif.search.edits import Suggestion
from schedlab.whatif.what_if import what_if
from tests.unit.whatif.whatif_cluster import Json, Lab

ZONE = "topology.kubernetes.io/zone"
HOSTNAME = "kubernetes.io/hostname"


def help_for(lab: Lab, name: str = "p") -> Help:
    lab.settle()
    before = lab.digest()
    found = what_would_help(lab.cluster, "default", name)
    for suggestion in found.suggestions:
        if suggestion.changes:
            assert is_placed_by(lab, name, suggestion), suggestion.summary

    assert lab.digest() == before
    return found


def is_placed_by(lab: Lab, name: str, suggestion: Suggestion) -> bool:
    """Whether a cluster with the changes of a suggestion finds a node for the pod, or for a new one in its place."""
    moves = what_if(lab.cluster, read_changes(list(suggestion.changes))).moves
    key = f"default/{name}"
    return any(move.after for move in moves if move.before is None or key in (move.pod, move.replaces))


def of_kind(found: Help, kind: str) -> Suggestion:
    (suggestion,) = (one for one in found.suggestions if one.kind == kind)
    return suggestion


def kinds(found: Help) -> list[str]:
    return [suggestion.kind for suggestion in found.suggestions]


class TestRequests:
    def test_the_most_that_fits_is_named(self) -> None:
        lab = Lab()
        lab.node("small", cpu="2")
        lab.node("large", cpu="3")
        lab.pod("there", cpu="700m", nodeSelector={HOSTNAME: "large"})
        lab.settle()
        lab.pod("p", cpu="4")

        suggestion = of_kind(help_for(lab), "request")
        assert suggestion.edits[0].details == {"resource": "cpu", "from": "4", "to": "2300m"}
        assert suggestion.node == "large"
        assert suggestion.summary == "ask for 2300m cpu instead of 4"

    def test_two_resources_are_lowered_together_when_one_is_not_enough(self) -> None:
        lab = Lab()
        lab.node("n", cpu="2", memory="4Gi")
        lab.pod("p", requests={"cpu": "3", "memory": "5Gi"})

        suggestion = of_kind(help_for(lab), "combination")
        assert suggestion.summary == "ask for 2 cpu instead of 3, and ask for 4Gi memory instead of 5Gi"

    def test_the_largest_container_gives(self) -> None:
        lab = Lab()
        lab.node("n", cpu="2")
        containers = [
            {"name": name, "image": "i", "resources": {"requests": {"cpu": cpu}}}
            for name, cpu in (("a", "500m"), ("b", "2"))
        ]
        lab.create("pods", {"metadata": {"name": "p"}, "spec": {"containers": containers}}, "default")

        (command,) = of_kind(help_for(lab), "request").commands
        assert '{"name":"b","resources":{"requests":{"cpu":"1500m"}}}' in command
        assert '"name":"a"' not in command

    def test_a_resource_that_no_node_has_is_given_up(self) -> None:
        lab = Lab()
        lab.node("n")
        lab.pod("p", container={"resources": {"limits": {"example.com/gpu": "1"}}})

        suggestion = of_kind(help_for(lab), "request")
        assert suggestion.summary == "ask for 0 example.com/gpu instead of 1"
        assert '"limits":{"example.com/gpu":"0"}' in suggestion.commands[0]

    def test_a_node_that_is_full_of_pods_takes_no_smaller_pod(self) -> None:
        lab = Lab()
        lab.node("n", pods="1")
        lab.pod("there")
        lab.settle()
        lab.pod("p", cpu="9")

        assert "request" not in kinds(help_for(lab))


class TestTaints:
    def test_one_toleration(self) -> None:
        lab = Lab()
        lab.node("n", taints=[{"key": "dedicated", "value": "db", "effect": "NoSchedule"}])
        lab.pod("p")

        suggestion = of_kind(help_for(lab), "toleration")
        assert suggestion.summary == "tolerate dedicated=db:NoSchedule"
        (command,) = suggestion.commands
        assert command.startswith("kubectl patch pod p -n default -p ")
        assert '{"key":"dedicated","operator":"Equal","value":"db","effect":"NoSchedule"}' in command

    def test_nodes_that_need_fewer_tolerations_are_preferred(self) -> None:
        lab = Lab()
        for name in ("a", "b"):
            lab.node(name, taints=[{"key": key, "effect": "NoSchedule"} for key in ("x", "y")])
        lab.node("c", taints=[{"key": "z", "effect": "NoExecute"}])
        lab.pod("p")

        found = help_for(lab)
        assert of_kind(found, "toleration").edits[0].details == {"taints": ["z:NoExecute"]}

    def test_a_cordoned_node_is_uncordoned_rather_than_tolerated(self) -> None:
        lab = Lab()
        lab.node("n", unschedulable=True)
        lab.settle()
        lab.pod("p")

        found = help_for(lab)
        assert kinds(found)[0] == "uncordon"
        assert found.suggestions[0].commands == ["kubectl uncordon n"]
        assert found.suggestions[0].node == "n"


class TestSpreading:
    def spread(self, lab: Lab, *counts: int, **more: Any) -> None:
        for zone, count in zip("abc", counts, strict=False):
            lab.node(zone, labels={ZONE: zone})
            for number in range(count):
                lab.pod(f"{zone}{number}", labels={"app": "web"}, nodeSelector={HOSTNAME: zone})
        lab.settle()
        constraint = {
            "maxSkew": 1,
            "topologyKey": ZONE,
            "whenUnsatisfiable": "DoNotSchedule",
            "labelSelector": {"matchLabels": {"app": "web"}},
        }
        lab.pod("p", labels={"app": "web"}, topologySpreadConstraints=[constraint], **more)

    def test_the_smallest_skew_that_works(self) -> None:
        lab = Lab()
        self.spread(lab, 6, 0, requests={"cpu": "1"}, tolerations=[])
        lab.patch("nodes", "b", {"spec": {"unschedulable": True}})

        suggestion = of_kind(help_for(lab), "maxSkew")
        assert suggestion.edits[0].details == {"topologyKey": ZONE, "from": 1, "to": 7}
        assert suggestion.node == "a"

    def test_a_domain_is_opened_before_domains_may_differ_more(self) -> None:
        lab = Lab()
        self.spread(lab, 2, 0)
        lab.patch("nodes", "b", {"spec": {"unschedulable": True}})
        lab.settle()

        found = help_for(lab)
        assert kinds(found)[0] == "uncordon"
        assert of_kind(found, "maxSkew").edits[0].details["to"] == 3


class TestNodes:
    def test_one_label_of_a_node(self) -> None:
        lab = Lab()
        lab.node("n")
        lab.pod("p", nodeSelector={"disk": "ssd"})

        suggestion = of_kind(help_for(lab), "node-label")
        assert suggestion.commands == ["kubectl label node n disk=ssd --overwrite"]

    @pytest.mark.parametrize(
        ("expression", "command"),
        [
            ({"key": "gpu", "operator": "Exists"}, "kubectl label node n gpu= --overwrite"),
            ({"key": "old", "operator": "DoesNotExist"}, "kubectl label node n old-"),
            ({"key": "pool", "operator": "In", "values": ["x", "y"]}, "kubectl label node n pool=x --overwrite"),
            ({"key": "old", "operator": "NotIn", "values": ["yes"]}, "kubectl label node n old-"),
        ],
    )
    def test_a_label_for_each_operator(self, expression: Json, command: str) -> None:
        lab = Lab()
        lab.node("n", labels={"old": "yes"})
        term = {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}
        lab.pod("p", affinity={"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": term}})

        assert of_kind(help_for(lab), "node-label").commands == [command]

    def test_a_spread_key_that_nodes_lack(self) -> None:
        lab = Lab()
        lab.node("zoned", labels={ZONE: "a"}, cpu="0")
        lab.node("bare")
        constraint = {
            "maxSkew": 1,
            "topologyKey": ZONE,
            "whenUnsatisfiable": "DoNotSchedule",
            "labelSelector": {"matchLabels": {"app": "web"}},
        }
        lab.pod("p", topologySpreadConstraints=[constraint])

        suggestion = of_kind(help_for(lab), "node-label")
        assert suggestion.summary == f"label node bare {ZONE}=a"

    def test_one_more_node_of_the_most_frequent_kind_that_is_large_enough(self) -> None:
        lab = Lab()
        for name in ("s1", "s2"):
            lab.node(name, cpu="1")
        lab.node("large", cpu="8", labels={ZONE: "a"})
        lab.pod("there", cpu="7", nodeSelector={HOSTNAME: "large"})
        lab.settle()
        lab.pod("p", cpu="2")

        suggestion = of_kind(help_for(lab), "new-node")
        assert suggestion.node == "large-copy"
        manifest = suggestion.edits[0].details["manifest"]
        labels = manifest["metadata"]["labels"]
        assert (labels[HOSTNAME], labels[ZONE]) == ("large-copy", "a")
        assert manifest["status"]["allocatable"]["cpu"] == "8"

    def test_one_more_node_with_what_no_node_has(self) -> None:
        lab = Lab()
        lab.node("n")
        lab.pod("p", container={"resources": {"limits": {"example.com/gpu": "2"}}})

        suggestion = of_kind(help_for(lab), "new-node")
        assert suggestion.summary == "one more node like n, with 2 example.com/gpu"
        assert suggestion.node == "n-copy"
        status = suggestion.edits[0].details["manifest"]["status"]
        assert status["allocatable"]["example.com/gpu"] == status["capacity"]["example.com/gpu"] == "2"
        assert status["allocatable"]["cpu"] == "4"

    def test_no_node_is_made_larger_of_what_every_node_has(self) -> None:
        lab = Lab()
        lab.node("n")
        lab.pod(
            "p",
            container={
                "resources": {"requests": {"cpu": "5", "example.com/gpu": "2"}, "limits": {"example.com/gpu": "2"}}
            },
        )

        assert "new-node" not in kinds(help_for(lab))


class TestAffinity:
    def test_a_value_more_is_less_than_dropping_the_requirement(self) -> None:
        lab = Lab()
        lab.node("n", labels={"pool": "general"})
        terms = [{"matchExpressions": [{"key": "pool", "operator": "In", "values": ["data"]}]}]
        required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
        lab.pod("p", affinity={"nodeAffinity": required})

        suggestion = of_kind(help_for(lab), "node-affinity")
        assert suggestion.summary == "let pool be general, too"

    def test_a_node_selector_that_is_dropped(self) -> None:
        lab = Lab()
        lab.node("n")
        lab.pod("p", nodeSelector={"disk": "ssd"})

        suggestion = of_kind(help_for(lab), "node-affinity")
        assert suggestion.summary == "drop disk=ssd from the node selector"
        assert '{"spec":{"nodeSelector":{"disk":null}}}' in suggestion.commands[0]

    @pytest.mark.parametrize(
        ("kind", "words"), [("podAffinity", "pod affinity"), ("podAntiAffinity", "pod anti-affinity")]
    )
    def test_a_term_of_pod_affinity_that_is_dropped(self, kind: str, words: str) -> None:
        lab = Lab()
        lab.node("n")
        lab.pod("there", labels={"app": "web"})
        lab.settle()
        app = "web" if kind == "podAntiAffinity" else "nobody"
        term = {"topologyKey": HOSTNAME, "labelSelector": {"matchLabels": {"app": app}}}
        lab.pod("p", affinity={kind: {"requiredDuringSchedulingIgnoredDuringExecution": [term]}})

        assert of_kind(help_for(lab), "pod-affinity").summary == f"drop the required {words} over {HOSTNAME}"


class TestRoom:
    def full(self, *priorities: str, **spec: Any) -> Lab:
        lab = Lab()
        lab.node("n", cpu="4")
        for name, value in (("low", 1), ("mid", 10), ("high", 100)):
            lab.priority(name, value)
        for number, priority in enumerate(priorities):
            lab.pod(f"there{number}", cpu="1", labels={"app": "web"}, priorityClassName=priority)
        lab.settle()
        lab.pod("p", **{"cpu": "1", **spec})
        return lab

    def test_the_lowest_class_that_preempts(self) -> None:
        lab = self.full("low", "mid", "mid", "mid", priorityClassName="low")

        suggestion = of_kind(help_for(lab), "priority")
        assert suggestion.summary == "priority class mid; that evicts default/there0, which no controller makes anew"
        assert suggestion.node == "n"
        assert '{"spec":{"priorityClassName":"mid","priority":null,"preemptionPolicy":null}}' in suggestion.commands[0]

    def test_the_fewest_pods_of_the_lowest_priority_go(self) -> None:
        lab = self.full("high", "mid", "low", "mid", priorityClassName="low")

        suggestion = of_kind(help_for(lab), "evict")
        assert suggestion.edits[0].details["pods"] == ["default/there2"]
        assert suggestion.commands == ["kubectl delete pod there2 -n default"]

    def test_as_many_go_as_are_needed(self) -> None:
        lab = self.full("low", "low", "low", "low", cpu="3")

        assert len(of_kind(help_for(lab), "evict").edits[0].details["pods"]) == 3

    def test_budgets_are_kept(self) -> None:
        lab = self.full("low", "low", "low", "low")
        spec = {"minAvailable": "100%", "selector": {"matchLabels": {"app": "web"}}}
        lab.create("poddisruptionbudgets.policy", {"metadata": {"name": "b"}, "spec": spec}, "default")

        assert "evict" not in kinds(help_for(lab))

    def test_fewer_go_than_preemption_would_take(self) -> None:
        """Preemption keeps the pod of high priority, and two small ones go in its place."""
        lab = Lab()
        for name, value in (("low", 1), ("high", 100)):
            lab.priority(name, value)
        lab.node("n", cpu="4")
        port = {"ports": [{"containerPort": 80, "hostPort": 80}]}
        lab.pod("large", cpu="2", priorityClassName="high")
        for name in ("small", "other"):
            lab.pod(name, cpu="950m", priorityClassName="low")
        lab.pod("port", cpu="100m", priorityClassName="low", container=port)
        lab.settle()
        lab.pod("p", requests={"cpu": "2"}, container={**port, "resources": {"requests": {"cpu": "2"}}})

        assert of_kind(help_for(lab), "evict").edits[0].details["pods"] == ["default/large", "default/port"]

    def test_who_forbids_a_pod_by_anti_affinity_can_go(self) -> None:
        lab = Lab()
        lab.node("n")
        term = {"topologyKey": HOSTNAME, "labelSelector": {"matchLabels": {"app": "web"}}}
        affinity = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
        lab.pod("guard", affinity=affinity)
        lab.settle()
        lab.pod("p", labels={"app": "web"})

        assert of_kind(help_for(lab), "evict").edits[0].details["pods"] == ["default/guard"]

    def test_a_host_port_that_is_taken(self) -> None:
        lab = Lab()
        lab.node("n")
        ports = {"ports": [{"containerPort": 80, "hostPort": 8080}]}
        lab.pod("there", container=ports)
        lab.settle()
        lab.pod("p", container=ports)

        found = help_for(lab)
        assert of_kind(found, "host-port").summary == "do without host port 8080/TCP"
        assert of_kind(found, "evict").edits[0].details["pods"] == ["default/there"]

    def test_a_port_of_another_protocol_stays(self) -> None:
        lab = Lab()
        lab.node("n")
        lab.pod("there", container={"ports": [{"containerPort": 53, "hostPort": 53, "protocol": "UDP"}]})
        lab.settle()
        ports = [{"containerPort": 53, "hostPort": 53, "protocol": protocol} for protocol in ("TCP", "UDP")]
        lab.pod("p", container={"ports": ports})

        suggestion = of_kind(help_for(lab), "host-port")
        assert suggestion.summary == "do without host port 53/UDP"
        (edit,) = suggestion.edits
        assert edit.pod is not None
        raw: Json = {"spec": {"containers": [{"name": "c", "ports": [dict(port) for port in ports]}]}}
        edit.pod(raw)
        assert [port.get("hostPort") for port in raw["spec"]["containers"][0]["ports"]] == [53, None]


class TestVolumes:
    def claim(self, lab: Lab, **spec: Any) -> None:
        body = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "5Gi"}}, **spec}
        lab.create("persistentvolumeclaims", {"metadata": {"name": "data"}, "spec": body}, "default")

    def volume(self, lab: Lab, **spec: Any) -> None:
        body = {
            "capacity": {"storage": "5Gi"},
            "accessModes": ["ReadWriteOnce"],
            "hostPath": {"path": "/x"},
            "claimRef": {"namespace": "default", "name": "data"},
            **spec,
        }
        lab.create("persistentvolumes", {"metadata": {"name": "v"}, "spec": body})

    def pod(self, lab: Lab) -> None:
        lab.pod("p", volumes=[{"name": "d", "persistentVolumeClaim": {"claimName": "data"}}])

    def make(self, lab: Lab, suggestion: Suggestion) -> None:
        """Do what the commands of a suggestion do."""
        for manifest in suggestion.edits[0].details["manifests"]:
            kind = {"PersistentVolume": "persistentvolumes", "PersistentVolumeClaim": "persistentvolumeclaims"}
            lab.create(kind[manifest["kind"]], manifest, manifest["metadata"].get("namespace", ""))
        lab.settle(30)

    def test_a_claim_that_is_not_there(self) -> None:
        lab = Lab(nodes=1)
        self.pod(lab)

        found = help_for(lab)
        assert found.message.startswith('0/1 nodes are available: persistentvolumeclaim "data" not found')
        suggestion = of_kind(found, "volume")
        assert suggestion.summary == "make a volume of 1Gi for claim data and the claim itself"
        self.make(lab, suggestion)
        assert lab.node_of("p") == suggestion.node

    def test_a_claim_without_a_volume(self) -> None:
        lab = Lab(nodes=1)
        self.claim(lab, storageClassName="manual")
        self.pod(lab)

        suggestion = of_kind(help_for(lab), "volume")
        assert suggestion.summary == "make a volume of 5Gi for claim data"
        self.make(lab, suggestion)
        assert lab.node_of("p") == suggestion.node

    def test_a_volume_in_another_place(self) -> None:
        lab = Lab()
        lab.node("a", cpu="1", labels={ZONE: "a"})
        lab.node("b", labels={ZONE: "b"})
        lab.settle()
        lab.pod("there", cpu="1", nodeSelector={HOSTNAME: "a"})
        lab.settle()
        self.claim(lab, storageClassName="")
        expression = {"key": ZONE, "operator": "In", "values": ["a"]}
        terms = {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}
        self.volume(lab, nodeAffinity={"required": terms})
        lab.settle(30)
        self.pod(lab)

        suggestion = of_kind(help_for(lab), "volume")
        assert suggestion.summary == (
            "make volume v reachable from another place (now: topology.kubernetes.io/zone In a)"
        )
        assert suggestion.node == "b"


class TestDevices:
    def lab(self, *, count: int = 1, expression: str = "") -> Lab:
        """Return a cluster of one node with two devices, and a pod that wants `count` of them."""
        lab = Lab(nodes=1)
        lab.create("deviceclasses.resource.k8s.io", {"metadata": {"name": "gpu"}, "spec": {}})
        devices = [{"name": f"d{number}", "attributes": {"size": {"string": "small"}}} for number in range(2)]
        pool = {"name": "p", "generation": 1, "resourceSliceCount": 1}
        spec = {"driver": "example.com", "nodeName": "node-0", "pool": pool, "devices": devices}
        lab.create("resourceslices.resource.k8s.io", {"metadata": {"name": "s"}, "spec": spec})
        exactly: Json = {"deviceClassName": "gpu", "count": count}
        if expression:
            exactly["selectors"] = [{"cel": {"expression": expression}}]
        request = {"devices": {"requests": [{"name": "r", "exactly": exactly}]}}
        lab.create("resourceclaims.resource.k8s.io", {"metadata": {"name": "c"}, "spec": request}, "default")
        lab.settle()
        lab.pod("p", resourceClaims=[{"name": "g", "resourceClaimName": "c"}])
        return lab

    def test_as_many_devices_as_there_are(self) -> None:
        suggestion = of_kind(help_for(self.lab(count=5)), "device")

        assert suggestion.summary == "ask for 2 devices instead of 5 in claim c"
        assert suggestion.node == "node-0"

    def test_a_selector_that_no_device_meets(self) -> None:
        expression = 'device.attributes["example.com"].size == "large"'
        suggestion = of_kind(help_for(self.lab(expression=expression)), "device")

        assert suggestion.summary == f"drop {expression} from claim c"
        assert suggestion.commands[0].startswith("kubectl get resourceclaim c -n default -o json | kubectl patch")


class TestCombinations:
    def test_everything_that_one_node_needs(self) -> None:
        lab = Lab()
        lab.node("n", cpu="2", taints=[{"key": "x", "effect": "NoSchedule"}])
        lab.pod("p", cpu="3", nodeSelector={"disk": "ssd"})

        found = help_for(lab)
        assert kinds(found) == ["combination"]
        assert found.suggestions[0].summary == (
            "tolerate x:NoSchedule, and label node n disk=ssd, and ask for 2 cpu instead of 3"
        )

    def test_what_is_needless_is_left_out(self) -> None:
        lab = Lab()
        lab.node("n", cpu="2", unschedulable=True)
        lab.settle()
        lab.pod("p", cpu="3")

        found = help_for(lab)
        assert [edit.kind for edit in found.suggestions[0].edits] == ["uncordon", "request"]


class TestBeforeTheCycle:
    def test_a_gate_is_all_that_is_missing(self) -> None:
        lab = Lab()
        lab.node("n")
        lab.pod("p", schedulingGates=[{"name": "example.com/wait"}])

        found = help_for(lab)
        assert found.message == "the pod fits on node n, but it is gated"
        assert kinds(found) == ["scheduling-gate"]
        assert found.suggestions[0].node == "n"
        assert '{"spec":{"schedulingGates":null}}' in found.suggestions[0].commands[0]

    def test_a_gate_goes_with_every_other_change(self) -> None:
        lab = Lab()
        lab.node("n", cpu="2")
        lab.pod("p", cpu="3", schedulingGates=[{"name": "example.com/wait"}])

        suggestion = help_for(lab).suggestions[0]
        assert [edit.kind for edit in suggestion.edits] == ["scheduling-gate", "request"]

    def test_a_scheduler_that_nobody_runs(self) -> None:
        lab = Lab()
        lab.node("n")
        lab.pod("p", schedulerName="nobody")

        found = help_for(lab)
        assert found.suggestions[0].summary == "schedulerName default-scheduler instead of nobody"


class TestBadInput:
    def test_a_pod_that_waits_for_its_turn_needs_nothing(self) -> None:
        lab = Lab()
        lab.node("n")
        lab.settle()
        lab.pod("p")
        found = what_would_help(lab.cluster, "default", "p")

        assert found.fits
        assert found.message == "nothing has to change: the pod fits on node n now and is tried next"

    def test_a_pod_that_is_not_there(self) -> None:
        with pytest.raises(SchedlabError, match="there is no pod default/nobody"):
            what_would_help(Lab(nodes=1).cluster, "default", "nobody")

    def test_a_pod_that_is_bound(self) -> None:
        lab = Lab(nodes=1)
        lab.pod("p")
        lab.settle()

        with pytest.raises(SchedlabError, match="is on node node-0 already"):
            what_would_help(lab.cluster, "default", "p")

    def test_nothing_helps(self) -> None:
        lab = Lab()
        lab.pod("p")

        found = help_for(lab)
        assert found.suggestions == ()
        assert found.message == "no nodes available to schedule pods"


class TestThePast:
    def test_what_would_have_helped_then(self) -> None:
        lab = Lab()
        lab.node("n", cpu="2")
        lab.pod("p", cpu="3")
        lab.settle()
        lab.node("large", cpu="8")
        lab.settle(30)

        found = what_would_help(lab.cluster, "default", "p", attempt=1)
        assert of_kind(found, "request").node == "n"

    def test_an_attempt_that_is_not_recorded(self) -> None:
        lab = Lab(nodes=1)
        lab.pod("p")
        lab.settle()

        with pytest.raises(SchedlabError, match="no attempt 7 of pod default/p is recorded"):
            what_would_help(lab.cluster, "default", "p", attempt=7)

    def test_an_attempt_that_found_a_node(self) -> None:
        lab = Lab(nodes=1)
        lab.pod("p")
        lab.settle()

        with pytest.raises(SchedlabError, match="found node node-0"):
            what_would_help(lab.cluster, "default", "p", attempt=1)
