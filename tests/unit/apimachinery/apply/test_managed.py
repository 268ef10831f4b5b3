"""managedFields: reading, writing, joining old managers, restoring times."""

from typing import Any

import pytest

from schedlab.apimachinery.apply import managed as managed_fields
from schedlab.apimachinery.apply.managed import Managed, ManagedFieldsError, Manager, Owned

T1, T2, T3 = "2026-01-01T00:00:01Z", "2026-01-01T00:00:02Z", "2026-01-01T00:00:03Z"


def entry(manager: str, operation: str = "Update", time: str | None = T1, **more: Any) -> dict[str, Any]:
    out = {
        "manager": manager,
        "operation": operation,
        "apiVersion": "v1",
        "fieldsType": "FieldsV1",
        "fieldsV1": {"f:data": {}},
        **more,
    }
    return out if time is None else {**out, "time": time}


def test_entries_come_out_as_they_went_in() -> None:
    entries = [entry("a", "Apply"), entry("b", time=None), entry("c"), entry("c", subresource="status")]

    assert entries == managed_fields.write(managed_fields.read(entries))


def test_entries_are_ordered_by_operation_time_and_name() -> None:
    entries = [entry("z", time=T1), entry("a", time=T2), entry("b", time=T1), entry("x", "Apply", time=T3)]

    got = managed_fields.write(managed_fields.read(entries))

    assert [one["manager"] for one in got] == ["x", "b", "z", "a"]


def test_an_apply_keeps_its_entry_across_versions_and_an_update_does_not() -> None:
    entries = [entry("a", "Apply"), entry("a", "Apply", apiVersion="v2"), entry("a"), entry("a", apiVersion="v2")]

    assert len(managed_fields.read(entries).owned) == 3


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"operation": "Patch"}, "operation must be `Apply` or `Update`"),
        ({"apiVersion": ""}, "apiVersion must not be empty"),
        ({"fieldsType": ""}, "missing fieldsType in managed fields entry 0"),
        ({"fieldsType": "V2"}, 'invalid fieldsType "V2" in managed fields entry 0'),
        ({"fieldsV1": {"x": {}}}, "error decoding set: key must be 2 characters long:"),
    ],
)
def test_entries_that_cannot_be_read(change: dict[str, Any], message: str) -> None:
    with pytest.raises(ManagedFieldsError) as caught:
        managed_fields.read([{**entry("a"), **change}])

    assert message == str(caught.value)


@pytest.mark.parametrize(
    ("manager", "shown"),
    [
        (Manager("m", "Apply", "", ""), '"m"'),
        (Manager("m", "Update", "v1", ""), '"m" using v1'),
        (Manager("m", "Update", "apps/v1", "scale"), '"m" with subresource "scale" using apps/v1'),
    ],
)
def test_managers_are_shown_as_conflicts_show_them(manager: Manager, shown: str) -> None:
    assert shown == str(manager)


def test_the_oldest_update_managers_are_joined_when_there_are_too_many() -> None:
    managed = Managed()
    for number in range(12):
        manager = Manager(f"m{number:02d}", "Update", "v1", "")
        managed.owned[manager] = Owned({f"f:{number:02d}": {}}, "v1", applied=False)
        managed.times[manager] = f"2026-01-01T00:00:{number:02d}Z"
    applied = Manager("kubectl", "Apply", "", "")
    managed.owned[applied] = Owned({"f:x": {}}, "v1", applied=True)

    managed_fields.cap_update_managers(managed)

    bucket = Manager("ancient-changes", "Update", "v1", "")
    assert managed.owned[bucket].fields == {"f:00": {}, "f:01": {}, "f:02": {}}
    assert managed.times[bucket] == "2026-01-01T00:00:02Z"
    assert len([one for one in managed.owned.values() if not one.applied]) == 10
    assert applied in managed.owned


def test_managers_of_different_versions_are_not_joined_with_each_other() -> None:
    managed = Managed()
    for number in range(11):
        manager = Manager(f"m{number:02d}", "Update", f"v{number}", "")
        managed.owned[manager] = Owned({"f:a": {}}, f"v{number}", applied=False)

    managed_fields.cap_update_managers(managed)

    assert len(managed.owned) == 11


def stored(time: str, data: str = "1") -> dict[str, Any]:
    return {"metadata": {"name": "x", "managedFields": [entry("a", time=time)]}, "data": {"a": data}}


def test_an_update_that_changes_only_times_gets_the_old_ones_back() -> None:
    assert managed_fields.restore_times(stored(T2), stored(T1)) == stored(T1)


@pytest.mark.parametrize(
    "old",
    [
        stored(T1, data="2"),
        {"metadata": {"name": "x"}, "data": {"a": "1"}},
        {"metadata": {"name": "x", "managedFields": [entry("b")]}, "data": {"a": "1"}},
    ],
)
def test_any_other_update_keeps_its_times(old: dict[str, Any]) -> None:
    new = stored(T2)

    assert managed_fields.restore_times(new, old) is new
