"""Objects of every kind: listed, created, looked at, changed, deleted; by others meanwhile, too."""

from __future__ import annotations

from pathlib import Path

import yaml
from playwright.sync_api import Page, expect

from tests.support.browser import Simulator

DEFAULT_PODS = "/k8s/api/v1/namespaces/default/pods"


def _pod(name: str, **labels: str) -> dict[str, object]:
    spec = {"containers": [{"name": "c", "image": "i"}]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "labels": labels}, "spec": spec}


def _write(page: Page, text: str) -> None:
    """Put a text in place of what the editor has."""
    page.locator(".cm-content").click()
    page.keyboard.press("ControlOrMeta+a")
    page.keyboard.insert_text(text)


def test_every_kind_is_there(page: Page, simulator: Simulator) -> None:
    """As many as kubectl api-resources names; each leads to its list."""
    page.goto(f"{simulator.url}/#/objects")
    page.get_by_role("link", name="Deployment", exact=True).first.wait_for()

    assert page.locator(".kinds li").count() > 50
    page.get_by_label("Find").fill("budget")
    page.wait_for_url("**/#/objects?find=budget")
    page.get_by_role("link", name="PodDisruptionBudget").click()
    expect(page.get_by_role("heading", name="PodDisruptionBudget")).to_be_visible()


def test_list_follows_the_cluster(page: Page, simulator: Simulator) -> None:
    """What others make, change and delete comes and goes by itself."""
    pods = "/k8s/api/v1/namespaces/followed/pods"
    simulator.api("POST", "/k8s/api/v1/namespaces", {"metadata": {"name": "followed"}})
    page.goto(f"{simulator.url}/#/list/pods?namespace=followed")
    page.get_by_text("0 objects").wait_for()
    simulator.api("POST", pods, _pod("made-elsewhere"))
    row = page.get_by_role("row", name="made-elsewhere")
    expect(row).to_contain_text("Running")
    simulator.api("DELETE", f"{pods}/made-elsewhere?gracePeriodSeconds=0")
    expect(row).to_have_count(0)
    expect(page.get_by_text("0 objects")).to_be_visible()


def test_list_is_filtered_by_words_and_by_labels(page: Page, simulator: Simulator) -> None:
    page.goto(f"{simulator.url}/#/list/pods?namespace=shop")
    page.get_by_role("row", name="cache-0").wait_for()
    page.get_by_label("Filter", exact=True).fill("recommender")
    expect(page.get_by_role("row", name="cache-0")).to_have_count(0)
    page.get_by_label("More columns").check()
    page.reload()
    expect(page.get_by_role("columnheader", name="Readiness Gates")).to_be_visible()
    expect(page.get_by_role("row", name="cache-0")).to_have_count(0)
    page.goto(f"{simulator.url}/#/list/pods?namespace=shop&selector=app%3Dcache")

    expect(page.get_by_text("3 objects")).to_be_visible()


def test_pod_is_made_from_a_template(page: Page, simulator: Simulator) -> None:
    page.goto(f"{simulator.url}/#/create?template=deployments.apps")
    page.get_by_text("generateName").wait_for()
    page.get_by_role("button", name="Create").click()
    made = page.locator("a.made")
    expect(made).to_contain_text("Deployment web-")
    made.click()
    page.get_by_text("availableReplicas: 3").wait_for()


def test_several_objects_are_made_at_once(page: Page, simulator: Simulator, tmp_path: Path) -> None:
    """From files; what is refused is told beside what was made."""
    first, second = tmp_path / "1.yaml", tmp_path / "2.yaml"
    first.write_text("apiVersion: v1\nkind: Namespace\nmetadata: {name: filed}\n")
    second.write_text(
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: filed}\n---\n"
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: B, namespace: filed}\n"
    )
    page.goto(f"{simulator.url}/#/create")
    page.get_by_label("Files").set_input_files([second, first])
    page.get_by_text("name: filed").wait_for()
    page.get_by_role("button", name="Create").click()

    expect(page.locator("a.made")).to_have_text(["Namespace filed", "ConfigMap a"])
    expect(page.get_by_role("alert")).to_contain_text("a lowercase RFC 1123 subdomain")


def test_nothing_to_make_is_told(page: Page, simulator: Simulator) -> None:
    """Also where the link names a template that is none."""
    page.goto(f"{simulator.url}/#/create?template=constructor")
    page.get_by_role("button", name="Create", exact=True).click()

    expect(page.get_by_text("There is nothing to create")).to_be_visible()


def test_objects_of_one_text_are_checked_in_the_light_of_each_other(page: Page, simulator: Simulator) -> None:
    """A namespace may be made by what stands above; what stands below it is too late."""
    page.goto(f"{simulator.url}/#/create")
    page.get_by_text("generateName").wait_for()
    space = "apiVersion: v1\nkind: Namespace\nmetadata: {name: later}\n"
    thing = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: later}\n"
    _write(page, f"{thing}---\n{space}")
    page.locator(".cm-lint-marker-error").hover()
    expect(page.locator(".cm-tooltip-lint")).to_contain_text('namespaces "later" not found')
    with page.expect_response("**/object-checks") as answer:
        _write(page, f"{space}---\n{thing}")

    assert answer.value.json() == {"refusals": [None, None]}
    expect(page.locator(".cm-lint-marker")).to_have_count(0)
    assert simulator.api("GET", "/k8s/api/v1/namespaces?fieldSelector=metadata.name=later").json()["items"] == []


def test_many_refusals_are_folded(page: Page, simulator: Simulator) -> None:
    """The shop is there already: the first refusal is shown in full, the others are counted."""
    page.goto(f"{simulator.url}/#/create?template=shop")
    page.locator(".cm-line", has_text="kind:").first.wait_for()
    page.get_by_role("button", name="Create", exact=True).click()

    expect(page.get_by_text("more were not created")).to_be_visible()
    expect(page.locator("[role=status] details[open]")).to_have_count(0)


def test_mistakes_are_marked_while_writing(page: Page, simulator: Simulator) -> None:
    """By the server's own checks, at the line that is wrong."""
    page.goto(f"{simulator.url}/#/create")
    page.get_by_text("generateName").wait_for()
    _write(page, "apiVersion: v1\nkind: Pod\nmetadata: {name: x}\nspec:\n  containres: []\n")

    mark = page.locator(".cm-lintRange-error")
    expect(mark.first).to_have_text("containres")
    page.locator(".cm-lint-marker-error").first.hover()
    expect(page.locator(".cm-tooltip-lint")).to_contain_text('unknown field "spec.containres"')


def test_fields_are_completed_from_the_schema(page: Page, simulator: Simulator) -> None:
    page.goto(f"{simulator.url}/#/create")
    page.get_by_text("generateName").wait_for()
    _write(page, "apiVersion: v1\nkind: Pod\nspec:\n  tolera")
    page.keyboard.press("Control+Space")

    expect(page.locator(".cm-tooltip-autocomplete")).to_contain_text("tolerations")


def test_object_is_changed(page: Page, simulator: Simulator) -> None:
    """The change is applied, and the page shows what came of it."""
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "changed"}}
    simulator.api("POST", "/k8s/api/v1/nodes", node)
    page.goto(f"{simulator.url}/#/object/nodes/-/changed")
    page.get_by_role("button", name="Edit").click()
    found = simulator.api("GET", "/k8s/api/v1/nodes/changed").json()
    found["metadata"]["labels"]["tier"] = "gold"
    found["status"]["allocatable"]["cpu"] = "77"
    found["metadata"].pop("managedFields", None)
    _write(page, yaml.safe_dump(found, sort_keys=False))
    page.get_by_role("button", name="Apply").click()

    expect(page.get_by_text("changed is changed.")).to_be_visible()
    after = simulator.api("GET", "/k8s/api/v1/nodes/changed").json()
    assert (after["metadata"]["labels"]["tier"], after["status"]["allocatable"]["cpu"]) == ("gold", "77")
    expect(page.locator(".cm-content")).to_contain_text("tier: gold")
    simulator.api("DELETE", "/k8s/api/v1/nodes/changed")


def test_change_of_something_changed_meanwhile_is_refused_with_advice(page: Page, simulator: Simulator) -> None:
    simulator.api("POST", DEFAULT_PODS, _pod("contended"))
    page.goto(f"{simulator.url}/#/object/pods/default/contended")
    page.get_by_role("button", name="Edit").click()
    more = {"metadata": {"labels": {"by": "others"}}}
    simulator.api("PATCH", f"{DEFAULT_PODS}/contended", more, "application/merge-patch+json")
    expect(page.get_by_text("The object has changed since you began")).to_be_visible()
    page.locator(".cm-content").click()
    page.keyboard.press("ControlOrMeta+End")
    page.keyboard.insert_text("# mine\n")
    page.get_by_role("button", name="Apply").click()

    alert = page.get_by_role("alert")
    expect(alert).to_contain_text("the object has been modified")
    expect(alert).to_contain_text("make your change once more")


def test_object_is_deleted_after_a_question(page: Page, simulator: Simulator) -> None:
    simulator.api("POST", "/k8s/api/v1/namespaces", {"metadata": {"name": "doomed"}})
    page.goto(f"{simulator.url}/#/object/namespaces/-/doomed")
    delete = page.get_by_role("button", name="Delete")
    delete.click()
    page.get_by_role("button", name="Cancel").click()
    assert simulator.api("GET", "/k8s/api/v1/namespaces/doomed").json()["status"]["phase"] == "Active"
    delete.click()
    page.get_by_role("dialog").get_by_role("button", name="Delete").click()

    expect(page.get_by_text("doomed is deleted.")).to_be_visible()
    expect(page.get_by_role("row", name="doomed")).to_have_count(0)


def test_what_is_not_there_is_told(page: Page, simulator: Simulator) -> None:
    page.goto(f"{simulator.url}/#/object/pods/shop/nobody")
    expect(page.get_by_role("alert")).to_contain_text("There is no such object")
    page.goto(f"{simulator.url}/#/list/unicorns.example.com")

    expect(page.get_by_role("alert")).to_contain_text('doesn\'t have a resource type "unicorns.example.com"')
