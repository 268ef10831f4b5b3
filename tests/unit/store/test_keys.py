"""Ordered keys behave like a sorted list."""

from schedlab.store.keys import OrderedKeys


def test_many_keys_stay_sorted_across_chunks() -> None:
    """Insertion in any order and removal keep the order, the count and walks from any point."""
    numbers = [(number * 7919) % 5003 for number in range(5003)]
    keys = OrderedKeys()
    for number in numbers:
        keys.add(f"{number:05d}")
    copied = keys.copy()
    for number in range(0, 5003, 2):
        keys.remove(f"{number:05d}")
    odd = [f"{number:05d}" for number in range(1, 5003, 2)]

    assert list(keys) == odd
    assert len(keys) == len(odd)
    assert list(keys.walk("02500")) == [key for key in odd if key >= "02500"]
    assert keys.count_below("02500") == 1250
    assert list(keys.walk("9")) == []
    assert keys.count_below("9") == len(odd)
    assert len(copied) == len(list(copied)) == 5003
