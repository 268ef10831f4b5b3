"""What would help a pod that has an owner: the owner's template has to change."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tests.unit.whatif.test_help import help_for, of_kind
from tests.unit.whatif.whatif_cluster import Lab


def deployment(lab: Lab, spec: Mapping[str, Any]) -> None:
    template = {"metadata": {"labels": {"app": "web"}}, "spec": spec}
    body = {
        "metadata": {"name": "web"},
        "spec": {"replicas": 1, "selector": {"matchLabels": {"app": "web"}}, "template": template},
    }
    lab.create("deployments.apps", body, "default")
    lab.settle()


def test_the_template_is_patched_where_there_is_one() -> None:
    lab = Lab()
    lab.node("n", cpu="2")
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": "3"}}}
    deployment(lab, {"containers": [container]})
    (pod,) = lab.cluster.informers.lister("pods").list()

    (command,) = of_kind(help_for(lab, pod.metadata.name), "request").commands
    assert command == (
        "kubectl patch deployment web -n default -p "
        """'{"spec":{"template":{"spec":{"containers":[{"name":"c","resources":{"requests":{"cpu":"2"}}}]}}}}'"""
    )


def test_a_template_that_has_only_limits_is_given_requests() -> None:
    """Requests follow from limits in pods, not in templates."""
    lab = Lab()
    lab.node("n", cpu="2")
    deployment(lab, {"containers": [{"name": "c", "image": "i", "resources": {"limits": {"cpu": "3"}}}]})
    (pod,) = lab.cluster.informers.lister("pods").list()

    (command,) = of_kind(help_for(lab, pod.metadata.name), "request").commands
    assert '{"containers":[{"name":"c","resources":{"requests":{"cpu":"2"}}}]}' in command


def test_a_template_whose_requests_come_from_a_limit_range_is_given_its_own() -> None:
    lab = Lab()
    lab.node("n", cpu="2")
    limits = {"limits": [{"type": "Container", "defaultRequest": {"cpu": "3"}, "default": {"cpu": "4"}}]}
    lab.create("limitranges", {"metadata": {"name": "l"}, "spec": limits}, "default")
    deployment(lab, {"containers": [{"name": "c", "image": "i"}]})
    (pod,) = lab.cluster.informers.lister("pods").list()

    suggestion = of_kind(help_for(lab, pod.metadata.name), "request")
    assert suggestion.summary == "ask for 2 cpu instead of 3"
    (command,) = suggestion.commands
    assert '{"containers":[{"name":"c","resources":{"requests":{"cpu":"2"}}}]}' in command
