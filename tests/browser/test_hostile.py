"""Names, labels and messages that would be scripts if anything of an object were taken for HTML."""

from __future__ import annotations

from playwright.sync_api import Page, expect

from tests.support.browser import Simulator

HOSTILE = '<img src=x onerror="window.ran=1"><script>window.ran=2</script>{{ran}}'
#: A label may hold little, but an annotation, an event and a taint of a custom kind anything.
POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "hostile", "annotations": {"a": HOSTILE}},
    "spec": {"containers": [{"name": "c", "image": HOSTILE, "command": [HOSTILE]}]},
}
WIDGETS = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "widgets.example.com"},
    "spec": {
        "group": "example.com",
        "scope": "Namespaced",
        "names": {"plural": "widgets", "singular": "widget", "kind": "Widget"},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}},
                "additionalPrinterColumns": [{"name": HOSTILE, "type": "string", "jsonPath": ".text"}],
            }
        ],
    },
}


def _check(page: Page) -> None:
    """It stands there as text, and nothing of it ran."""
    expect(page.get_by_text("onerror=").first).to_be_visible()
    page.wait_for_timeout(200)
    assert page.evaluate("window.ran") is None
    assert page.locator("img[src=x]").count() == 0


def test_object_is_shown_as_text(page: Page, simulator: Simulator) -> None:
    """Annotations and commands in the object's page, and the events that tell of it."""
    made = simulator.api("POST", "/k8s/api/v1/namespaces/default/pods", POD).json()
    involved = {"kind": "Pod", "namespace": "default", "name": "hostile", "uid": made["metadata"]["uid"]}
    event = {"metadata": {"name": "hostile"}, "involvedObject": involved, "reason": HOSTILE, "message": HOSTILE}
    simulator.api("POST", "/k8s/api/v1/namespaces/default/events", event)
    page.goto(f"{simulator.url}/#/object/pods/default/hostile")

    _check(page)
    expect(page.get_by_role("cell", name="onerror=").first).to_be_visible()


def test_table_is_shown_as_text(page: Page, simulator: Simulator) -> None:
    """Cells and heads of columns, which definitions of custom kinds choose freely."""
    simulator.api("POST", "/k8s/apis/apiextensions.k8s.io/v1/customresourcedefinitions", WIDGETS)
    widget = {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "w"}, "text": HOSTILE}
    simulator.api("POST", "/k8s/apis/example.com/v1/namespaces/default/widgets", widget)
    page.goto(f"{simulator.url}/#/list/widgets.example.com")

    expect(page.get_by_role("gridcell", name="onerror=")).to_be_visible()
    _check(page)


def test_message_of_the_server_is_shown_as_text(page: Page, simulator: Simulator) -> None:
    page.goto(f"{simulator.url}/#/create")
    page.get_by_text("generateName").wait_for()
    page.locator(".cm-content").click()
    page.keyboard.press("ControlOrMeta+a")
    page.keyboard.insert_text(f"apiVersion: v1\nkind: Namespace\nmetadata: {{name: '{HOSTILE}'}}\n")
    page.get_by_role("button", name="Create").click()

    expect(page.get_by_role("alert").first).to_contain_text("<img src=x")
    _check(page)


def test_address_is_shown_as_text(page: Page, simulator: Simulator) -> None:
    page.goto(f"{simulator.url}/#/object/pods/default/%3Cimg%20src%3Dx%20onerror%3D%22window.ran%3D1%22%3E")

    _check(page)
