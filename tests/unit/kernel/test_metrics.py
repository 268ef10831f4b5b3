"""Counters, gauges, histograms and their text form."""

import pytest

from schedlab.kernel.metrics import Counter, Gauge, Histogram, exponential, expose


def test_buckets_grow_by_a_factor() -> None:
    assert exponential(1, 2, 5) == (1, 2, 4, 8, 16)


@pytest.mark.parametrize(("value", "bucket"), [(0.5, 0), (1, 0), (1.5, 1), (2, 1), (3, 2)])
def test_bounds_belong_to_their_bucket(value: float, bucket: int) -> None:
    histogram = Histogram("h", (1, 2))
    histogram.observe(value, "a")

    counts, total = histogram.values["a",]
    assert counts[bucket] == histogram.count("a") == 1
    assert total == [value]
    assert histogram.count("b") == 0


def test_the_text_form_is_sorted_and_leaves_out_what_counted_nothing() -> None:
    requests = Counter("requests_total", ("verb", "code"), "Requests so far.")
    requests.add("GET", "404")
    requests.add("GET", "200", amount=2)
    running = Gauge("running", (), "Requests that run.")
    running.add(2)
    running.add(-1)
    running.set(1.5)
    nothing = Counter("nothing_total")

    assert expose([running, requests, nothing]) == (
        "# HELP requests_total Requests so far.\n"
        "# TYPE requests_total counter\n"
        'requests_total{verb="GET",code="200"} 2\n'
        'requests_total{verb="GET",code="404"} 1\n'
        "# HELP running Requests that run.\n"
        "# TYPE running gauge\n"
        "running 1.5\n"
    )


def test_buckets_count_everything_up_to_their_bound() -> None:
    sizes = Histogram("sizes", (0.005, 1e6), ("path",), "Sizes.")
    for value in (0.001, 3, 1234567.5):
        sizes.observe(value, 'a"b\\c\n')

    label = 'path="a\\"b\\\\c\\n"'
    assert list(sizes.samples()) == [
        f'sizes_bucket{{{label},le="0.005"}} 1',
        f'sizes_bucket{{{label},le="1e+06"}} 2',
        f'sizes_bucket{{{label},le="+Inf"}} 3',
        f"sizes_sum{{{label}}} 1234570.501",
        f"sizes_count{{{label}}} 3",
    ]
