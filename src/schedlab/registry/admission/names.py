"""Which admission plugins run: kube-apiserver's names, its defaults, and its two options that change them.

Mirrors: pkg/kubeapiserver/options/plugins.go (AllOrderedPlugins, DefaultOffAdmissionPlugins),
staging/src/k8s.io/apiserver/pkg/server/options/admission.go (Validate, enabledPluginNames) (v1.36)
Differs: a plugin that is not simulated can be switched off, which changes nothing, and not on.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from schedlab.apimachinery import gojson
from schedlab.kernel.errors import SchedlabError
from schedlab.registry.admission.plugins import DEFAULT_NAMES, KNOWN

ENABLE: Final = "enable-admission-plugins"
DISABLE: Final = "disable-admission-plugins"

#: The names that kube-apiserver knows, in the order in which it calls them.
UPSTREAM_NAMES: Final = (
    "AlwaysAdmit",
    "NamespaceAutoProvision",
    "NamespaceLifecycle",
    "NamespaceExists",
    "LimitPodHardAntiAffinityTopology",
    "LimitRanger",
    "ServiceAccount",
    "NodeRestriction",
    "TaintNodesByCondition",
    "AlwaysPullImages",
    "ImagePolicyWebhook",
    "PodSecurity",
    "PodNodeSelector",
    "Priority",
    "DefaultTolerationSeconds",
    "PodTolerationRestriction",
    "EventRateLimit",
    "ExtendedResourceToleration",
    "DefaultStorageClass",
    "StorageObjectInUseProtection",
    "PodGroupProtection",
    "OwnerReferencesPermissionEnforcement",
    "PersistentVolumeClaimResize",
    "RuntimeClass",
    "CertificateApproval",
    "CertificateSigning",
    "ClusterTrustBundleAttest",
    "CertificateSubjectRestriction",
    "DefaultIngressClass",
    "DenyServiceExternalIPs",
    "PodTopologyLabels",
    "PodGroupWorkloadExists",
    "NodeDeclaredFeatureValidator",
    "JobValidation",
    "PodResizeValidator",
    "MutatingAdmissionPolicy",
    "MutatingAdmissionWebhook",
    "ValidatingAdmissionPolicy",
    "ValidatingAdmissionWebhook",
    "ResourceQuota",
    "AlwaysDeny",
)


def enabled_names(enable: Sequence[str], disable: Sequence[str]) -> tuple[str, ...]:
    """Return the plugins that run when some are enabled besides the default ones and some disabled.

    Raises SchedlabError for a name that kube-apiserver does not know, one in both lists, and one that is enabled and
    not simulated.
    """
    for option, names in ((ENABLE, enable), (DISABLE, disable)):
        for name in names:
            if name not in UPSTREAM_NAMES:
                raise SchedlabError(
                    f"{option} plugin {gojson.quote(name)} is unknown",
                    location=f"--{option}",
                    hint=f"choose from {', '.join(UPSTREAM_NAMES)}",
                )
    both = sorted(set(enable) & set(disable))
    if both:
        raise SchedlabError(
            f"[{' '.join(both)}] in {ENABLE} and {DISABLE} overlapped",
            location=f"--{ENABLE}, --{DISABLE}",
            hint="name each plugin in one of the two",
        )
    simulated = tuple(plugin.name for plugin in KNOWN)
    missing = [name for name in enable if name not in simulated]
    if missing:
        raise SchedlabError(
            f"{missing[0]} is a plugin of kube-apiserver that is not simulated",
            location=f"--{ENABLE}",
            hint=f"leave it out; simulated are {', '.join(simulated)}",
        )
    return tuple(name for name in simulated if name in enable or (name in DEFAULT_NAMES and name not in disable))
