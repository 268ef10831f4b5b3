"""Claims as the scheduler believes them to be: informed, assumed, pending."""

from __future__ import annotations

from schedlab.api.object import StoredObject
from schedlab.scheduler.dra.claims import ClaimTracker
from schedlab.scheduler.dra.types import DeviceID
from tests.unit.scheduler.plugins.dynamic_resources.device_cluster import CLAIMS, DRIVER, Raw, allocated, claim

A = DeviceID(DRIVER, "p", "a")


class Heard:
    """A tracker and what it told: (devices before, devices after) of each change."""

    def __init__(self, *, with_shares: bool = True) -> None:
        self.changes: list[tuple[object, object]] = []
        self.tracker = ClaimTracker(self._changed, with_shares=with_shares)

    def _changed(self, old: object, new: object) -> None:
        self.changes.append((_state(old), _state(new)))

    def devices(self) -> list[str]:
        return [each.device for each in self.tracker.allocated_state().devices]

    def inform(self, before: StoredObject | None, after: StoredObject | None) -> StoredObject | None:
        self.tracker.observe(before, after)
        return after


def _state(view: object) -> object:
    if view is None:
        return None
    return [each.device for each in view.status.allocation.devices.results] if view.status.allocation else []  # type: ignore[attr-defined]


def stored(revision: int, status: Raw | None = None, name: str = "c") -> StoredObject:
    return StoredObject.encode(CLAIMS, claim(name, metadata={"uid": f"uid-{name}"}, status=status), revision)


TAKEN = allocated("p/a")


def test_informer_gives_and_takes_devices() -> None:
    """A claim's devices are taken from when it is allocated until it is not, or gone."""
    heard = Heard()
    bare, with_device, bare_again = stored(1), stored(2, TAKEN), stored(3)
    heard.inform(None, bare)
    heard.inform(bare, with_device)
    assert heard.devices() == ["a"]
    heard.inform(with_device, bare_again)
    assert heard.devices() == []
    heard.inform(bare_again, stored(4, TAKEN))
    heard.inform(stored(4, TAKEN), None)
    assert heard.devices() == []
    assert heard.tracker.get("default", "c") is None
    assert heard.changes == [(None, []), ([], ["a"]), (["a"], []), ([], ["a"]), (["a"], None)]


def test_assumed_claim_counts_until_the_informer_is_as_new() -> None:
    """Older news are ignored, also about the claim's end by restore."""
    heard = Heard()
    heard.inform(None, stored(1))
    assert heard.tracker.assume(stored(3, TAKEN))
    assert heard.devices() == ["a"]
    heard.inform(stored(1), stored(2))
    assert heard.devices() == ["a"]
    heard.inform(stored(2), stored(3, TAKEN))
    assert heard.changes == [(None, []), ([], ["a"])]
    heard.inform(stored(3, TAKEN), stored(4))
    assert heard.devices() == []


def test_assuming_needs_a_known_and_older_claim() -> None:
    """What is unknown or known better is not assumed; the same once more changes nothing."""
    heard = Heard()
    assert not heard.tracker.assume(stored(1))
    heard.inform(None, stored(5))
    assert not heard.tracker.assume(stored(4, TAKEN))
    assert heard.tracker.assume(stored(5))
    assert heard.changes == [(None, [])]


def test_restoring_believes_the_informer() -> None:
    """And tells of the change only if there is one."""
    heard = Heard()
    heard.inform(None, stored(1))
    heard.tracker.assume(stored(2, TAKEN))
    heard.tracker.restore("default", "c")
    assert heard.devices() == []
    heard.tracker.restore("default", "c")
    heard.tracker.restore("default", "unknown")
    assert len(heard.changes) == 3


def test_pending_allocations_are_taken() -> None:
    """They count beside what is written, which they leave as it is."""
    heard = Heard()
    heard.inform(None, stored(1, TAKEN))
    pending = stored(2, allocated("p/b"), "d").view
    heard.tracker.add_pending("uid-d", pending)
    assert heard.devices() == ["a", "b"]
    assert heard.tracker.pending("uid-d") is pending.status.allocation
    assert heard.tracker.remove_pending("uid-d")
    assert not heard.tracker.remove_pending("uid-d")
    assert heard.tracker.pending("uid-d") is None
    assert heard.devices() == ["a"]


def test_shares_are_counted_by_what_they_consume() -> None:
    """A share takes no device; with the last share nothing is consumed any more."""
    heard = Heard()
    shares = [
        stored(1, allocated("p/a", shareID=name, consumedCapacity={"memory": amount}), name)
        for name, amount in (("x", "10Gi"), ("y", "5Gi"))
    ]
    for share in shares:
        heard.inform(None, share)
    state = heard.tracker.allocated_state()
    assert heard.devices() == []
    assert state.is_allocated(A)
    assert str(state.capacity[A]["memory"]) == "15Gi"
    assert list(state.shares) == [(A, "x"), (A, "y")]

    heard.inform(shares[0], None)
    assert str(heard.tracker.allocated_state().capacity[A]["memory"]) == "5Gi"
    heard.inform(shares[1], None)
    assert A not in heard.tracker.allocated_state().capacity
    assert not heard.tracker.allocated_state().is_allocated(A)


def test_without_the_feature_a_share_takes_the_device() -> None:
    """As before devices could be shared."""
    heard = Heard(with_shares=False)
    heard.inform(None, stored(1, allocated("p/a", shareID="x", consumedCapacity={"memory": "1"})))
    assert heard.devices() == ["a"]


def test_copy_is_what_the_informer_told() -> None:
    """A fork drops what was assumed or pending, as a restart would."""
    heard = Heard()
    heard.inform(None, stored(1))
    heard.inform(None, stored(1, TAKEN, "d"))
    heard.tracker.assume(stored(2, allocated("p/b")))
    heard.tracker.add_pending("uid-e", stored(3, allocated("p/c"), "e").view)
    told: list[object] = []
    other = heard.tracker.copy(lambda old, new: told.append((old, new)))

    assert [each.device for each in other.allocated_state().devices] == ["a"]
    assert [each.name for each in other.all()] == ["c", "d"]
    other.observe(stored(1, TAKEN, "d"), None)
    assert len(told) == 1
    assert heard.devices() == ["a", "b", "c"]
