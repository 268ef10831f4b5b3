"""From a decoded document to a configuration with every default, and back to its wire form.

Mirrors: cmd/kube-scheduler/app/options/configfile.go and pkg/scheduler/apis/config/scheme (v1.36).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from schedlab.kernel.errors import SchedlabError
from schedlab.scheduler.config.decode import DecodeError, decode
from schedlab.scheduler.config.defaults import set_defaults
from schedlab.scheduler.config.encode import encode
from schedlab.scheduler.config.types import KubeSchedulerConfiguration
from schedlab.scheduler.config.validation import validate

if TYPE_CHECKING:
    from schedlab.apimachinery.features import FeatureGates


class ConfigError(SchedlabError):
    """A scheduler configuration that cannot be used; the message is kube-scheduler's."""


def load(raw: Mapping[str, Any] | None, features: FeatureGates, *, location: str = "") -> KubeSchedulerConfiguration:
    """Return the configuration a document stands for (None: all defaults); raises ConfigError with every mistake."""
    try:
        config = KubeSchedulerConfiguration() if raw is None else decode(raw)
    except DecodeError as error:
        raise ConfigError(str(error), location=location, hint=error.hint) from None
    set_defaults(config, features)
    errors = validate(config, features)
    if errors:
        message = errors[0] if len(errors) == 1 else f"[{', '.join(errors)}]"
        raise ConfigError(message, location=location)
    return config


def default_configuration(features: FeatureGates) -> KubeSchedulerConfiguration:
    """Return what kube-scheduler runs with when it is given no file."""
    return load(None, features)


def dump(config: KubeSchedulerConfiguration) -> dict[str, Any]:
    """Return the wire form of a configuration, as kube-scheduler shows it under /configz."""
    return encode(config)
