"""Names of API types: group, version, kind and resource, with the texts Kubernetes prints for them.

Mirrors: staging/src/k8s.io/apimachinery/pkg/runtime/schema/group_version.go (v1.36)
Differs: only the pairs and triples that messages and routing need.
"""

from typing import NamedTuple


class GroupResource(NamedTuple):
    """A resource without its version, printed as `pods` or `deployments.apps`."""

    group: str
    resource: str

    def __str__(self) -> str:
        return f"{self.resource}.{self.group}" if self.group else self.resource


class GroupKind(NamedTuple):
    """A kind without its version, printed as `Pod` or `Deployment.apps`."""

    group: str
    kind: str

    def __str__(self) -> str:
        return f"{self.kind}.{self.group}" if self.group else self.kind


class GroupVersion(NamedTuple):
    """The content of an `apiVersion` field, printed as `v1` or `apps/v1`."""

    group: str
    version: str

    def __str__(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    def with_kind(self, kind: str) -> "GroupVersionKind":
        return GroupVersionKind(self.group, self.version, kind)

    def with_resource(self, resource: str) -> "GroupVersionResource":
        return GroupVersionResource(self.group, self.version, resource)


class GroupVersionKind(NamedTuple):
    """A type as it appears in an object, printed as `apps/v1, Kind=Deployment`."""

    group: str
    version: str
    kind: str

    def __str__(self) -> str:
        return f"{self.group}/{self.version}, Kind={self.kind}"

    @property
    def group_kind(self) -> GroupKind:
        return GroupKind(self.group, self.kind)

    @property
    def group_version(self) -> GroupVersion:
        return GroupVersion(self.group, self.version)

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version


class GroupVersionResource(NamedTuple):
    """A resource as it appears in a path, printed as `apps/v1, Resource=deployments`."""

    group: str
    version: str
    resource: str

    def __str__(self) -> str:
        return f"{self.group}/{self.version}, Resource={self.resource}"

    @property
    def group_resource(self) -> GroupResource:
        return GroupResource(self.group, self.resource)

    @property
    def group_version(self) -> GroupVersion:
        return GroupVersion(self.group, self.version)


def parse_group_version(text: str) -> GroupVersion:
    """Parse an `apiVersion`; raise ValueError with Kubernetes' text when it has more than one slash."""
    if text in ("", "/"):
        return GroupVersion("", "")
    parts = text.split("/")
    if len(parts) == 1:
        return GroupVersion("", parts[0])
    if len(parts) == 2:
        return GroupVersion(parts[0], parts[1])
    raise ValueError(f"unexpected GroupVersion string: {text}")
