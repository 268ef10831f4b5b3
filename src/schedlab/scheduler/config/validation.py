"""What is wrong with a configuration whose defaults are filled in.

Mirrors: pkg/scheduler/apis/config/validation/{validation,validation_pluginargs}.go and
staging/src/k8s.io/component-base/config/validation (v1.36).
Differs: invalid plugins of several extension points are listed in the order of the points (upstream: any order).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Final

from schedlab.api.rules.resource_names import is_extended_resource
from schedlab.apimachinery import field
from schedlab.apimachinery.field import FieldError, Path
from schedlab.apimachinery.gojson import Verbatim, marshal
from schedlab.apimachinery.names import check_qualified_name
from schedlab.apimachinery.time import format_duration
from schedlab.scheduler.config.types import (
    API_VERSION,
    Extender,
    KubeSchedulerConfiguration,
    KubeSchedulerProfile,
    LeaderElectionConfiguration,
    PluginSet,
)
from schedlab.scheduler.config.validation_args import VALIDATORS

if TYPE_CHECKING:
    from schedlab.apimachinery.features import FeatureGates

_REMOVED: Final = ("AzureDiskLimits", "CinderLimits", "EBSLimits", "GCEPDLimits")
# The points that upstream looks through for removed plugins; multiPoint is not one of them.
_CHECKED_POINTS: Final = (
    ("preEnqueue", "pre_enqueue"),
    ("queueSort", "queue_sort"),
    ("preFilter", "pre_filter"),
    ("filter", "filter"),
    ("postFilter", "post_filter"),
    ("preScore", "pre_score"),
    ("score", "score"),
    ("reserve", "reserve"),
    ("permit", "permit"),
    ("preBind", "pre_bind"),
    ("bind", "bind"),
    ("postBind", "post_bind"),
)

Errors = Iterable[FieldError]


def validate(config: KubeSchedulerConfiguration, features: FeatureGates) -> list[str]:
    """Return every mistake, each text once."""
    errors: list[FieldError] = []
    if config.client_connection.burst < 0:
        errors.append(field.invalid("clientConnection.burst", config.client_connection.burst, "must be non-negative"))
    errors.extend(_leader_election(config.leader_election, Path("leaderElection")))
    assert config.parallelism is not None
    if config.parallelism <= 0:
        errors.append(field.invalid("parallelism", config.parallelism, "should be an integer value greater than zero"))
    errors.extend(_profiles(config.profiles, features))
    errors.extend(_percentage(Path("percentageOfNodesToScore"), config.percentage_of_nodes_to_score))
    errors.extend(_backoff(config))
    errors.extend(_extenders(Path("extenders"), config.extenders))
    return list(dict.fromkeys(map(str, errors)))


def _duration(value: int) -> Verbatim:
    return Verbatim(f'"{format_duration(value)}"')


def _leader_election(election: LeaderElectionConfiguration, path: Path) -> Errors:
    if not election.leader_elect:
        return
    positive = "must be greater than zero"
    if election.lease_duration <= 0:
        yield field.invalid(path.child("leaseDuration"), _duration(election.lease_duration), positive)
    if election.renew_deadline <= 0:
        yield field.invalid(path.child("renewDeadline"), _duration(election.renew_deadline), positive)
    if election.retry_period <= 0:
        yield field.invalid(path.child("retryPeriod"), _duration(election.retry_period), positive)
    if election.lease_duration <= election.renew_deadline:
        # Upstream shows the other field's value here.
        yield field.invalid(
            path.child("leaseDuration"), _duration(election.renew_deadline), "must be greater than `RenewDeadline`"
        )
    if election.resource_lock != "leases":
        yield field.invalid(path.child("resourceLock"), election.resource_lock, 'resourceLock value must be "leases"')


def _backoff(config: KubeSchedulerConfiguration) -> Errors:
    initial, longest = config.pod_initial_backoff_seconds, config.pod_max_backoff_seconds
    assert initial is not None
    assert longest is not None
    if initial <= 0:
        yield field.invalid("podInitialBackoffSeconds", initial, "must be greater than 0")
    if longest < initial:
        yield field.invalid(
            "podMaxBackoffSeconds", longest, "must be greater than or equal to PodInitialBackoffSeconds"
        )


def _percentage(path: Path, percentage: int | None) -> Errors:
    if percentage is not None and not 0 <= percentage <= 100:
        yield field.invalid(path, percentage, "not in valid range [0-100]")


# --- Profiles ---


def _profiles(profiles: Sequence[KubeSchedulerProfile], features: FeatureGates) -> Errors:
    path = Path("profiles")
    seen: dict[str, None] = {}
    for index, profile in enumerate(profiles):
        here = path.index(index)
        name = profile.scheduler_name or ""
        if not name:
            yield field.required(here.child("schedulerName"))
        yield from _percentage(here.child("percentageOfNodesToScore"), profile.percentage_of_nodes_to_score)
        yield from _removed_plugins(here.child("plugins"), profile)
        yield from _plugin_config(here.child("pluginConfig"), profile, features)
        if name in seen:
            # Upstream passes a path where the value belongs; Go prints it as an empty struct.
            yield field.duplicate(here.child("schedulerName"), Verbatim("{}"))
        seen[name] = None
    yield from _same_queue_sort(path, profiles)


def _removed_plugins(path: Path, profile: KubeSchedulerProfile) -> Errors:
    for wire, attribute in _CHECKED_POINTS:
        plugins: PluginSet = getattr(profile.plugins, attribute)
        for index, plugin in enumerate(plugins.enabled):
            if plugin.name in _REMOVED:
                yield _removed(path.child(wire, "enabled").index(index), plugin.name)


def _removed(path: Path, name: str) -> FieldError:
    detail = f'was invalid in version "{API_VERSION}" (KubeSchedulerConfiguration is version "{API_VERSION}")'
    return field.invalid(path, name, detail)


def _plugin_config(path: Path, profile: KubeSchedulerProfile, features: FeatureGates) -> Errors:
    seen: dict[str, None] = {}
    for index, config in enumerate(profile.plugin_config):
        here = path.index(index)
        if config.name in seen:
            yield field.duplicate(here, config.name)
        seen[config.name] = None
        if config.name in _REMOVED:
            yield _removed(here, config.name)
        check: Callable[..., Errors] | None = VALIDATORS.get(config.name)
        if check is not None:
            yield from check(here.child("args"), config.args, features)


def _same_queue_sort(path: Path, profiles: Sequence[KubeSchedulerProfile]) -> Errors:
    first = profiles[0]
    assert first.plugins is not None
    expected = first.plugins.queue_sort
    if len(expected.enabled) > 1:
        yield field.invalid(
            path.index(0).child("plugins", "queueSort", "Enabled"),
            len(expected.enabled),
            "only one queue sort plugin can be enabled",
        )
    name = expected.enabled[0].name if expected.enabled else ""
    args = first.args_of(name) if name else None
    for index, profile in enumerate(profiles[1:], 1):
        assert profile.plugins is not None
        own = profile.plugins.queue_sort
        if own != expected:
            yield field.invalid(
                path.index(index).child("plugins", "queueSort"),
                _go_plugin_set(own),
                "must be the same for all profiles",
            )
        for config in profile.plugin_config:
            if config.name == name and config.args != args:
                yield field.invalid(
                    path.index(index).child("pluginConfig", "args"),
                    Verbatim(marshal(config.args)),
                    "queueSort must be the same for all profiles",
                )


def _go_plugin_set(plugins: PluginSet) -> Verbatim:
    """Return a plugin set as Go prints the internal type, which has no JSON names."""

    def listed(entries: Sequence[Any]) -> Any:
        return [{"Name": entry.name, "Weight": entry.weight} for entry in entries] or None

    value = {"Enabled": listed(plugins.enabled), "Disabled": listed(plugins.disabled)}
    return Verbatim(marshal(value, sort_keys=False))


# --- Extenders ---


def _extenders(path: Path, extenders: Sequence[Extender]) -> Errors:
    managed: dict[str, None] = {}
    for index, extender in enumerate(extenders):
        here = path.index(index)
        if extender.prioritize_verb and extender.weight <= 0:
            yield field.invalid(here.child("weight"), extender.weight, "must have a positive weight applied to it")
        for number, resource in enumerate(extender.managed_resources):
            name_path = here.child("managedResources").index(number).child("name")
            yield from _extended_resource(name_path, resource.name)
            if resource.name in managed:
                yield field.invalid(name_path, resource.name, "duplicate extender managed resource name")
            managed[resource.name] = None
    binders = sum(bool(extender.bind_verb) for extender in extenders)
    if binders > 1:
        yield field.invalid(
            path, f"found {binders} extenders implementing bind", "only one extender can implement bind"
        )


def _extended_resource(path: Path, name: str) -> Errors:
    problems = check_qualified_name(name)
    if problems:
        for problem in problems:
            yield field.invalid(path, name, problem)
    elif not is_extended_resource(name):
        yield field.invalid(path, name, "is an invalid extended resource name")
