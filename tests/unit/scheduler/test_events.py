"""Events about pods."""

from schedlab.kernel.clock import EPOCH_NS
from schedlab.scheduler.events import cut_note, event_write
from schedlab.testing.builders import make_pod


def test_long_notes_are_cut_with_dots() -> None:
    assert cut_note("x" * 1024) == "x" * 1024
    assert cut_note("x" * 1025) == "x" * 1020 + " ..."
    assert cut_note("ä" * 600) == "ä" * 510 + " ..."


def test_event_is_one_of_events_k8s_io() -> None:
    pod = make_pod("p").uid("u").set("metadata.resourceVersion", "7").obj()

    write = event_write(
        pod, make_pod("q").obj(), "Normal", "Preempted", "Preempting", "gone", "default-scheduler", EPOCH_NS
    )

    assert (write.verb, write.resource, write.namespace) == ("create", "events.events.k8s.io", "default")
    assert write.name == f"p.{EPOCH_NS:x}"
    body = write.body
    assert isinstance(body, dict)
    assert body["regarding"] == {
        "kind": "Pod",
        "apiVersion": "v1",
        "namespace": "default",
        "name": "p",
        "uid": "u",
        "resourceVersion": "7",
    }
    assert body["related"]["name"] == "q"
    assert body["eventTime"] == "2026-01-01T00:00:00.000000Z"
    assert body["reportingController"] == "default-scheduler"
    assert (body["type"], body["reason"], body["action"], body["note"]) == (
        "Normal",
        "Preempted",
        "Preempting",
        "gone",
    )


def test_name_fits_the_api() -> None:
    write = event_write(make_pod("p" * 253).obj(), None, "Normal", "R", "A", "n", "c", EPOCH_NS)

    assert len(write.name) == 253
    assert isinstance(write.body, dict)
    assert "related" not in write.body
