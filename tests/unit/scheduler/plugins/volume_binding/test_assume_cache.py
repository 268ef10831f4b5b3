"""What is assumed of volumes and claims."""

from typing import Any

from msgspec.structs import replace

from schedlab.api.object import StoredObject
from schedlab.api.views.storage import PersistentVolume
from schedlab.scheduler.plugins.volume_binding.assume_cache import AssumeCache
from tests.unit.scheduler.fake_cluster import FakeLister
from tests.unit.scheduler.plugins.storage_bench import volume


class Volumes:
    """A lister and the cache on top of it."""

    def __init__(self) -> None:
        self.lister = FakeLister()
        self.cache: AssumeCache[PersistentVolume] = AssumeCache(self.lister, "persistentvolumes")
        self.put("v", 1)

    def put(self, name: str, revision: int) -> None:
        self.lister.objects["", name] = StoredObject.encode("persistentvolumes", volume(name), revision)

    def changed(self, name: str = "v") -> PersistentVolume:
        view: Any = self.lister.get(name)
        changed: PersistentVolume = replace(view, spec=replace(view.spec, storage_class_name="changed"))
        return changed


def test_what_is_assumed_counts_until_the_object_has_another_version() -> None:
    volumes = Volumes()
    changed = volumes.changed()

    assert volumes.cache.assume(changed) is None
    volumes.put("w", 2)
    assert volumes.cache.get("v") is changed
    assert [each.spec.storage_class_name for each in volumes.cache] == ["changed", "wait"]
    volumes.put("v", 3)
    assert volumes.cache.get("v") is volumes.lister.get("v")
    assert [each.spec.storage_class_name for each in volumes.cache] == ["wait", "wait"]


def test_what_is_restored_counts_no_more() -> None:
    volumes = Volumes()
    changed = volumes.changed()
    volumes.cache.assume(changed)

    volumes.cache.restore(changed)
    volumes.cache.restore(changed)

    assert volumes.cache.get("v") is volumes.lister.get("v")


def test_another_version_is_not_restored() -> None:
    volumes = Volumes()
    early = volumes.changed()
    volumes.put("v", 2)
    late = volumes.changed()
    volumes.cache.assume(late)

    volumes.cache.restore(early)

    assert volumes.cache.get("v") is late


def test_only_the_current_version_can_be_assumed() -> None:
    volumes = Volumes()
    early = volumes.changed()
    volumes.put("v", 2)

    assert volumes.cache.assume(early) == '"v" is out of sync (stored: 2, assume: 1)'
    assert volumes.cache.get("v") is volumes.lister.get("v")


def test_an_object_that_is_gone_cannot_be_assumed_and_is_not_found() -> None:
    volumes = Volumes()
    changed = volumes.changed()
    volumes.cache.assume(changed)
    del volumes.lister.objects["", "v"]

    assert volumes.cache.get("v") is None
    assert list(volumes.cache) == []
    assert volumes.cache.assume(changed) == 'persistentvolumes "v" not found'
