"""The token bucket of a client."""

from schedlab.remote.rate_limit import RateLimit


def test_a_full_bucket_lets_a_burst_through() -> None:
    limit = RateLimit(qps=10, burst=3)

    assert [limit.take(100.0) for _ in range(3)] == [0, 0, 0]


def test_more_than_the_burst_waits_for_its_token() -> None:
    limit = RateLimit(qps=10, burst=3)
    waits = [limit.take(100.0) for _ in range(5)]

    assert [round(wait, 6) for wait in waits[3:]] == [0.1, 0.2]


def test_an_idle_bucket_fills_up_again() -> None:
    limit = RateLimit(qps=10, burst=2)
    for _ in range(4):
        limit.take(100.0)

    assert [round(limit.take(101.0), 6) for _ in range(3)] == [0, 0, 0.1]
