"""The public test kit: builders of objects, what tests of decisions expect, the rules that plugins keep.

With pytest nothing has to be imported but builders: the fixtures `cluster` and `expect` are there, see
docs/guides/test-your-scheduler.md. The top layer: it may import everything, and nothing below imports it.
"""

from schedlab.laboratory.expectations import ClusterExpectation, PodExpectation, PodLike
from schedlab.testing.builders import make_node, make_pod
from schedlab.testing.expect import Expect, Metric, RunExpectation
from schedlab.testing.plugin_bench import Sample
from schedlab.testing.plugin_checks import PluginCheckError, check_plugin, plugin_checks

__all__ = [
    "ClusterExpectation",
    "Expect",
    "Metric",
    "PluginCheckError",
    "PodExpectation",
    "PodLike",
    "RunExpectation",
    "Sample",
    "check_plugin",
    "make_node",
    "make_pod",
    "plugin_checks",
]
