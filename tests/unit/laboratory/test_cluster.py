"""The public Python API: what goes in, how time passes, what is there, what is asked."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

import schedlab
from schedlab import Cluster
from schedlab.decisions.tables import Query
from schedlab.kernel.errors import SchedlabError
from schedlab.testing import make_node, make_pod
from tests.unit.whatif.whatif_cluster import Lab

CONFIG = {
    "apiVersion": "kubescheduler.config.k8s.io/v1",
    "kind": "KubeSchedulerConfiguration",
    "profiles": [
        {
            "schedulerName": "default-scheduler",
            "pluginConfig": [
                {
                    "name": "NodeResourcesFit",
                    "args": {"scoringStrategy": {"type": "MostAllocated", "resources": [{"name": "cpu", "weight": 1}]}},
                }
            ],
            "plugins": {
                "score": {
                    "disabled": [{"name": "NodeResourcesFit"}],
                    "enabled": [{"name": "NodeResourcesFit", "weight": 20}],
                }
            },
        }
    ],
}


def deployment(name: str = "web", replicas: int = 2, cpu: str = "1") -> dict[str, Any]:
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": cpu}}}
    template = {"metadata": {"labels": {"app": name}}, "spec": {"containers": [container]}}
    spec = {"replicas": replicas, "selector": {"matchLabels": {"app": name}}, "template": template}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name}, "spec": spec}


def two_nodes(**options: Any) -> Cluster:
    return Cluster(
        make_node("small").capacity(cpu="2", memory="4Gi", pods="10"),
        make_node("large").capacity(cpu="4", memory="8Gi", pods="10"),
        **options,
    )


def everything(cluster: Cluster) -> tuple[Any, ...]:
    """All that must stay when only forks are changed."""
    store = cluster.simulation.store
    return cluster.time, [obj.json() for resource in store.resources() for obj in store.list(resource)]


class TestWhatGoesIn:
    def test_builders_and_dicts_are_applied(self) -> None:
        cluster = two_nodes()
        cluster.apply(make_pod("web").req(cpu="1"), deployment("shop", replicas=3, cpu="100m"))
        cluster.run()

        assert cluster.node_of("web") == "large"
        assert {pod["spec"]["nodeName"] for pod in cluster.objects("pods")} <= {"small", "large"}
        assert len(cluster.objects("po")) == 4

    def test_applying_again_changes_what_is_there(self) -> None:
        cluster = two_nodes()
        cluster.apply(make_pod("web").label("a", "1"))
        cluster.apply(make_pod("web").label("a", "2"))

        assert cluster.get("pod/web")["metadata"]["labels"] == {"a": "2"}

    def test_plain_nodes_can_be_counted(self) -> None:
        assert [node["metadata"]["name"] for node in Cluster(nodes=2).objects("nodes")] == ["node-0", "node-1"]

    def test_namespace_of_objects_that_name_none(self) -> None:
        cluster = two_nodes()
        cluster.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}})
        cluster.apply(deployment(), namespace="shop")
        cluster.run()

        assert len(cluster.objects("pods", namespace="shop")) == 2
        assert cluster.objects("pods", namespace="default") == []

    def test_a_workload_is_scaled_patched_and_deleted(self) -> None:
        cluster = two_nodes()
        cluster.apply(deployment(cpu="100m"))
        cluster.scale("deployment/web", 5)
        cluster.run()
        assert len(cluster.objects("pods")) == 5

        cluster.patch("deployment/web", {"spec": {"replicas": 1}})
        cluster.run()
        assert len(cluster.objects("pods")) == 1

        cluster.patch("node/small", [{"op": "add", "path": "/metadata/labels/disk", "value": "ssd"}])
        assert cluster.get("node/small")["metadata"]["labels"]["disk"] == "ssd"

        cluster.delete("deployment/web")
        cluster.run("2m")
        assert cluster.objects("pods") == []

    def test_a_drain_respects_budgets_and_says_who_stays(self) -> None:
        cluster = two_nodes()
        cluster.apply(deployment(replicas=1), make_pod("bare"))
        cluster.apply(
            {
                "apiVersion": "policy/v1",
                "kind": "PodDisruptionBudget",
                "metadata": {"name": "web"},
                "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "web"}}},
            }
        )
        cluster.run()
        (web,) = (pod["metadata"]["name"] for pod in cluster.objects("pods") if pod["metadata"]["name"] != "bare")
        began = cluster.time

        assert cluster.drain(cluster.node_of(web), timeout=30) == (f"default/{web}",)
        assert cluster.time == began + 30
        cluster.delete("pdb/web")
        assert cluster.drain(cluster.node_of(web)) == ()

    def test_cordoned_nodes_take_no_pods_until_uncordoned(self) -> None:
        cluster = two_nodes()
        cluster.cordon("small")
        cluster.cordon("large")
        cluster.apply(make_pod("web"))
        cluster.run()
        assert cluster.node_of("web") == ""

        cluster.uncordon("small")
        cluster.run()
        assert cluster.node_of("web") == "small"

    def test_configuration_at_the_start_and_later(self) -> None:
        spread, packed = two_nodes(), two_nodes(config=CONFIG)
        for cluster in (spread, packed):
            cluster.apply(make_pod("web").req(cpu="1"))
            cluster.run()
        assert (spread.node_of("web"), packed.node_of("web")) == ("large", "small")

        spread.reconfigure(CONFIG)
        spread.apply(make_pod("next").req(cpu="2"))
        spread.run()
        assert spread.node_of("next") == "small"


class TestFiles:
    def test_manifests_come_in_an_order_in_which_they_can_be_made(self, tmp_path: Path) -> None:
        (tmp_path / "pods.yaml").write_text(yaml.safe_dump(make_pod("web").dict()))
        (tmp_path / "z.yaml").write_text(yaml.safe_dump_all([make_node("a").capacity(cpu="1", pods="5").dict()]))
        cluster = Cluster.from_files(tmp_path)
        cluster.run()

        assert cluster.node_of("web") == "a"

    def test_a_snapshot_goes_out_and_in_with_its_configuration(self, tmp_path: Path) -> None:
        before = two_nodes(config=CONFIG)
        before.apply(make_pod("web").req(cpu="1"))
        before.run()
        (tmp_path / "snapshot.yaml").write_text(yaml.safe_dump(before.snapshot()))

        after = Cluster.from_files(tmp_path / "snapshot.yaml")
        after.apply(make_pod("next").req(cpu="1"))
        after.run()

        assert (after.node_of("web"), after.node_of("next")) == ("small", "small")
        assert after.get("pod/web")["metadata"]["uid"] == before.get("pod/web")["metadata"]["uid"]

    def test_what_the_api_refuses_is_named_or_left_out(self, tmp_path: Path) -> None:
        file = tmp_path / "all.yaml"
        wrong = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "WEB"}, "spec": {"containers": []}}
        file.write_text(yaml.safe_dump_all([make_node("a").dict(), wrong]))

        with pytest.raises(SchedlabError, match=r"all\.yaml: Pod WEB: .*is invalid"):
            Cluster.from_files(file)
        made = Cluster.from_files(file, strict=False)
        assert (len(made.objects("nodes")), len(made.refused)) == (1, 1)
        with made.fork() as copy:
            assert copy.refused == ()

    def test_a_broken_file_of_a_folder_is_named_or_left_out(self, tmp_path: Path) -> None:
        (tmp_path / "node.yaml").write_text(yaml.safe_dump(make_node("a").dict()))
        (tmp_path / "broken.yaml").write_text("{")

        with pytest.raises(SchedlabError, match=r"broken\.yaml is left out"):
            Cluster.from_files(tmp_path)
        assert "broken.yaml is left out" in Cluster.from_files(tmp_path, strict=False).refused[0]

    def test_files_without_objects_are_refused(self, tmp_path: Path) -> None:
        with pytest.raises(SchedlabError, match="no objects are there"):
            Cluster.from_files(tmp_path)


class TestTime:
    def test_it_stands_still_until_it_is_let_pass(self) -> None:
        cluster = two_nodes()
        cluster.apply(make_pod("web"))
        assert (cluster.time, cluster.node_of("web")) == (0, "large")

        assert cluster.run("1m30s") == 90
        assert cluster.time == 90
        cluster.apply(make_pod("late"))
        assert cluster.get("pod/late")["metadata"]["creationTimestamp"] == "2026-01-01T00:01:30Z"

    def test_at_rest_means_that_no_pod_is_about_to_be_tried(self) -> None:
        cluster = two_nodes()
        cluster.apply(make_pod("web").req(cpu="3"), make_pod("next").req(cpu="3"))
        cluster.run()
        cluster.delete("pod/web")
        cluster.run()

        assert cluster.node_of("next") == "large"

    def test_a_limit_ends_what_never_rests(self) -> None:
        cluster = two_nodes()
        cluster.apply(make_pod("web"))

        assert cluster.run(limit=2) == 2

    def test_a_fork_goes_on_alone(self) -> None:
        cluster = two_nodes()
        cluster.apply(make_pod("web"))
        cluster.run()
        before = everything(cluster)

        with cluster.fork() as copy:
            copy.delete("pod/web")
            copy.apply(make_pod("other"))
            copy.run("10m")
            assert (copy.time, [pod["metadata"]["name"] for pod in copy.objects("pods")]) == (600, ["other"])
            with copy.fork() as second:
                second.delete("pod/other")
                second.run()
                assert (len(second.objects("pods")), len(copy.objects("pods"))) == (0, 1)

        assert everything(cluster) == before

    def test_the_same_seed_gives_the_same_bytes(self) -> None:
        def lived(seed: int) -> tuple[Any, ...]:
            cluster = two_nodes(seed=seed)
            cluster.apply(deployment(replicas=4, cpu="500m"))
            cluster.run()
            return everything(cluster)

        assert lived(1) == lived(1)
        assert lived(1) != lived(2)


class TestAnswers:
    def test_a_pod_that_was_made_with_a_node_is_explained_as_ours_would_have_placed_it(self) -> None:
        cluster = two_nodes()
        cluster.apply(make_pod("web").req(cpu="1").node("small"))
        cluster.run()
        web = cluster.explain("web")

        assert web.node == "large"
        assert web.data["placedBy"]["node"] == "small"
        assert "would have chosen large on the same state" in web.answer

    def test_explain_has_verdicts_and_scores_as_types(self) -> None:
        cluster = two_nodes()
        cluster.apply(make_pod("web").req(cpu="1"), make_pod("big").req(cpu="3"))
        cluster.run()
        web, big = cluster.explain("web"), cluster.explain("default/big")

        assert (web.result, web.node, web.message, str(web)) == ("scheduled", "large", "", web.answer)
        assert web.nodes["small"].verdict == "passed"
        assert web.nodes["large"].total == sum(score.final for score in web.nodes["large"].scores.values())
        assert (big.result, big.nodes["small"].plugin, big.nodes["small"].reasons) == (
            "scheduled" if cluster.node_of("big") else "unschedulable",
            "NodeResourcesFit",
            ("Insufficient cpu",),
        )
        assert web.data == cluster.simulation.explainer.explain("default", "web")

    def test_the_other_questions_go_to_whatif(self) -> None:
        cluster = two_nodes()
        cluster.apply(make_pod("web").req(cpu="1"), make_pod("big").req(cpu="5"))
        cluster.run()
        before = everything(cluster)

        assert [one.summary for one in cluster.what_would_help("big").suggestions] == ["ask for 3 cpu instead of 5"]
        (move,) = cluster.what_if({"drain": "large"}, duration="1m").moves
        assert (move.pod, move.before, move.after) == ("default/web", "large", None)
        assert cluster.pending().groups[0].pods[0].name == "big"
        assert cluster.why_not_full().nodes == 2
        assert everything(cluster) == before

    def test_tables_have_every_attempt(self) -> None:
        cluster = two_nodes()
        cluster.apply(make_pod("web").req(cpu="1"), make_pod("big").req(cpu="5"))
        cluster.run()

        rows = cluster.table("attempts", frame="rows")
        assert [(row["pod"], row["result"]) for row in rows] == [("web", "scheduled"), ("big", "unschedulable")]
        assert {row["node"] for row in cluster.table("scores", Query(pod="web"), frame="rows")} == {"small", "large"}


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (lambda cluster: cluster.get("pod/none"), 'pods "none" not found'),
        (lambda cluster: cluster.get("web"), "'web' names no object"),
        (lambda cluster: cluster.objects("wheels"), "'wheels' is no resource"),
        (lambda cluster: cluster.node_of("a/b/c"), "'a/b/c' names no pod"),
        (lambda cluster: cluster.explain("none"), "no attempt to schedule one of that name is recorded"),
        (lambda cluster: cluster.explain("web", attempt=9), "has no attempt 9"),
        (lambda cluster: cluster.what_would_help("web"), "is on node large already"),
        (lambda cluster: cluster.what_if({"drain": "none"}), 'nodes "none" not found'),
        (lambda cluster: cluster.table("wheels"), "'wheels' is no table"),
        (lambda cluster: cluster.run("soon"), "duration: "),
        (lambda cluster: cluster.run(-1), "-1 is in the past"),
        (lambda cluster: cluster.scale("deployment/web", -1), "is not a number of replicas"),
        (lambda cluster: cluster.apply({"kind": "Pod"}), "objects[0]: "),
        (lambda cluster: cluster.reconfigure({"kind": "Pod"}), "Pod"),
        (lambda _: Cluster(config="/no/such/file"), "/no/such/file: cannot be read"),
        (lambda _: Cluster(feature_gates={"Wheels": True}), "Wheels"),
        (lambda _: Cluster.from_files("/no/such/file"), "/no/such/file: cannot be read"),
    ],
)
def test_mistakes_are_told_with_a_hint(wrong: Callable[[Cluster], object], words: str) -> None:
    cluster = two_nodes()
    cluster.apply(make_pod("web"))

    with pytest.raises(SchedlabError) as found:
        wrong(cluster)
    assert words in str(found.value)
    assert "\nhint: " in str(found.value)


def test_the_package_offers_the_class_and_nothing_else_by_accident() -> None:
    assert schedlab.__all__ == ["Cluster", "__version__"]
    with pytest.raises(AttributeError, match="has no attribute 'Wheel'"):
        schedlab.Wheel  # noqa: B018 - asking is what fails


def test_a_cluster_of_the_laboratory_decides_like_any_other() -> None:
    """The face adds nothing: the same objects in a bare cluster go to the same nodes."""
    lab, cluster = Lab(nodes=5), Cluster(nodes=5)
    for number in range(20):
        lab.pod(f"p{number}", cpu="500m")
        cluster.apply(make_pod(f"p{number}").req(cpu="500m"))
    lab.settle(10)
    cluster.run(10)

    assert [cluster.node_of(f"p{number}") for number in range(20)] == [
        lab.node_of(f"p{number}") for number in range(20)
    ]
