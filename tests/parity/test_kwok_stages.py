"""The comparison with KWOK's inputs and outputs finds what differs."""

from pathlib import Path

from tests.parity.kwok_stages import failures, main

STAGE = """
apiVersion: kwok.x-k8s.io/v1alpha1
kind: Stage
metadata: {name: s}
spec:
  resourceRef: {apiGroup: v1, kind: Pod}
  selector: {matchLabels: {a: b}}
  delay: {durationMilliseconds: 1000}
  next: {statusTemplate: 'hostIP: {{ NodeIPWith .spec.nodeName | Quote }}', delete: true}
"""
OUTPUT = """
apiGroup: v1
kind: Pod
name: p
stages:
- stage: s
  weight: 0
  delay: [1000000000]
  next:
  - {kind: patch, type: application/merge-patch+json, subresource: status, data: {status: {hostIP: '<NodeIPWith("x")>'}}}
  - {kind: delete}
"""


def test_case_passes_or_is_told_with_both_sides(tmp_path: Path) -> None:
    folder = tmp_path / "pod" / "one" / "testdata"
    folder.mkdir(parents=True)
    (folder.parent / "stage.yaml").write_text(STAGE)
    (folder / "p.input.yaml").write_text(
        "{apiVersion: v1, kind: Pod, metadata: {name: p, labels: {a: b}}, spec: {nodeName: x}}"
    )
    output = folder / "p.output.yaml"
    output.write_text(OUTPUT)
    assert list(failures(tmp_path)) == []
    assert main(tmp_path) == 0

    output.write_text(OUTPUT.replace("weight: 0", "weight: 1"))
    [told] = failures(tmp_path)
    assert told.startswith("pod/one/testdata/p.input.yaml")
    assert main(tmp_path) == 1
