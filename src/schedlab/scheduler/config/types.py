"""KubeSchedulerConfiguration v1 and what it holds, as structs.

None stands for a field that was not given and has no zero value of its own in Go (a pointer). After `load` every field
with a default is set.

Mirrors: staging/src/k8s.io/kube-scheduler/config/v1/types.go and staging/src/k8s.io/component-base/config (v1.36).
"""

from __future__ import annotations

from typing import Any, Final

import msgspec
from msgspec import field

API_VERSION: Final = "kubescheduler.config.k8s.io/v1"
KIND: Final = "KubeSchedulerConfiguration"

# Amounts of time are nanoseconds; the wire has Go's texts ("10m0s").
DurationNs = int


class ConfigStruct(msgspec.Struct, rename="camel", kw_only=True):
    """Base of every part of the configuration: wire names are camelCase, attributes snake_case."""


class Plugin(ConfigStruct):
    """A plugin at an extension point; the weight counts for scores only, 0 stands for "not given"."""

    name: str = ""
    weight: int = 0


class PluginSet(ConfigStruct):
    """Plugins of one extension point."""

    enabled: list[Plugin] = []
    disabled: list[Plugin] = []

    def disables(self, name: str) -> bool:
        """Whether the plugin (or "*") is disabled here."""
        return any(plugin.name == name for plugin in self.disabled)


class Plugins(ConfigStruct):
    """The plugin sets of a profile, by extension point."""

    pre_enqueue: PluginSet = field(default_factory=PluginSet)
    queue_sort: PluginSet = field(default_factory=PluginSet)
    pre_filter: PluginSet = field(default_factory=PluginSet)
    filter: PluginSet = field(default_factory=PluginSet)
    post_filter: PluginSet = field(default_factory=PluginSet)
    pre_score: PluginSet = field(default_factory=PluginSet)
    score: PluginSet = field(default_factory=PluginSet)
    reserve: PluginSet = field(default_factory=PluginSet)
    permit: PluginSet = field(default_factory=PluginSet)
    pre_bind: PluginSet = field(default_factory=PluginSet)
    bind: PluginSet = field(default_factory=PluginSet)
    post_bind: PluginSet = field(default_factory=PluginSet)
    multi_point: PluginSet = field(default_factory=PluginSet)
    placement_generate: PluginSet = field(default_factory=PluginSet)
    placement_score: PluginSet = field(default_factory=PluginSet)


class PluginConfig(ConfigStruct):
    """The arguments of one plugin: a struct of `args` for the plugins that come with the scheduler, else a mapping."""

    name: str = ""
    args: Any = None


class KubeSchedulerProfile(ConfigStruct):
    """One scheduler name with its plugins."""

    scheduler_name: str | None = None
    percentage_of_nodes_to_score: int | None = None
    plugins: Plugins | None = None
    plugin_config: list[PluginConfig] = []

    def enables(self, plugin: str) -> bool:
        """Whether the plugin is enabled anywhere."""
        plugins = self.plugins
        return plugins is not None and any(
            entry.name == plugin for point in Plugins.__struct_fields__ for entry in getattr(plugins, point).enabled
        )

    def args_of(self, plugin: str) -> Any:
        """Return a plugin's arguments, None when it has none."""
        return next((config.args for config in self.plugin_config if config.name == plugin), None)


class ExtenderManagedResource(ConfigStruct):
    """An extended resource that an extender looks after."""

    name: str = ""
    ignored_by_scheduler: bool = False


class ExtenderTLSConfig(ConfigStruct):
    """How to talk TLS with an extender; the data fields are base64 texts."""

    insecure: bool = False
    server_name: str = ""
    cert_file: str = ""
    key_file: str = ""
    ca_file: str = ""
    cert_data: str = ""
    key_data: str = ""
    ca_data: str = ""


class Extender(ConfigStruct):
    """An HTTP extender; an empty verb means that it does not take part there."""

    url_prefix: str = ""
    filter_verb: str = ""
    preempt_verb: str = ""
    prioritize_verb: str = ""
    weight: int = 0
    bind_verb: str = ""
    enable_https: bool = field(name="enableHTTPS", default=False)
    tls_config: ExtenderTLSConfig | None = None
    http_timeout: DurationNs = 0
    node_cache_capable: bool = False
    managed_resources: list[ExtenderManagedResource] = []
    ignorable: bool = False


class LeaderElectionConfiguration(ConfigStruct):
    """Who of several schedulers is in charge."""

    leader_elect: bool | None = None
    lease_duration: DurationNs = 0
    renew_deadline: DurationNs = 0
    retry_period: DurationNs = 0
    resource_lock: str = ""
    resource_name: str = ""
    resource_namespace: str = ""


class ClientConnectionConfiguration(ConfigStruct):
    """How to reach the API server."""

    kubeconfig: str = ""
    accept_content_types: str = ""
    content_type: str = ""
    qps: float = 0
    burst: int = 0


class KubeSchedulerConfiguration(ConfigStruct):
    """The whole file."""

    kind: str = KIND
    api_version: str = API_VERSION
    parallelism: int | None = None
    leader_election: LeaderElectionConfiguration = field(default_factory=LeaderElectionConfiguration)
    client_connection: ClientConnectionConfiguration = field(default_factory=ClientConnectionConfiguration)
    enable_profiling: bool | None = None
    enable_contention_profiling: bool | None = None
    percentage_of_nodes_to_score: int | None = None
    pod_initial_backoff_seconds: int | None = None
    pod_max_backoff_seconds: int | None = None
    profiles: list[KubeSchedulerProfile] = []
    extenders: list[Extender] = []
    delay_cache_until_active: bool = False
