"""Fragments of pod signatures."""

import orjson

from schedlab.scheduler.framework.helpers.signers import (
    host_ports_signature,
    node_affinity_signature,
    tolerations_signature,
)
from schedlab.testing.builders import make_pod, term

POD = make_pod()


def test_order_of_what_is_written_does_not_matter() -> None:
    one, two = term(("a", "In", ["x", "y"]), ("b", "Exists", [])), term(("c", "Exists", []))
    turned = term(("b", "Exists", []), ("a", "In", ["y", "x"]))

    def signature(*terms: object) -> object:
        return node_affinity_signature(POD.node_affinity(*terms).view())  # type: ignore[arg-type]  # terms are dicts

    assert signature(one, two) == signature(two, turned) != signature(one)
    assert node_affinity_signature(POD.view()) is None
    preferred = POD.preferred_node_affinity(1, one)
    assert node_affinity_signature(preferred.view()) == (
        (),
        ((1, ((("a", "In", ("x", "y")), ("b", "Exists", ())), ())),),
    )


def test_signatures_can_be_encoded() -> None:
    pod = POD.toleration("b").toleration("a", "v").host_port(80).init_container(ports=[{"hostPort": 70}]).view()

    assert orjson.loads(orjson.dumps([tolerations_signature(pod), host_ports_signature(pod)])) == [
        [["a", "v", "", "", None], ["b", "", "", "", None]],
        [70, 80],
    ]
