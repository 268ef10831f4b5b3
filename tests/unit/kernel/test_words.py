"""Words of messages."""

from schedlab.kernel.words import counted


def test_one_thing_is_counted_as_one() -> None:
    assert [counted(number, "attempt") for number in (0, 1, 2)] == ["0 attempts", "1 attempt", "2 attempts"]
    assert counted(1, "pod waits", "pods wait") == "1 pod waits"
    assert counted(3, "pod waits", "pods wait") == "3 pods wait"
