"""The public test kit: builders of objects and what tests of plugins and clusters need.

The top layer: it may import everything, and nothing in schedlab imports it.
"""

from schedlab.testing.builders import make_node, make_pod
from schedlab.testing.plugin_bench import Sample
from schedlab.testing.plugin_checks import PluginCheckError, check_plugin, plugin_checks

__all__ = ["PluginCheckError", "Sample", "check_plugin", "make_node", "make_pod", "plugin_checks"]
