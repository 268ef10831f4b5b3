"""Feature gates: every gate of Kubernetes 1.36 with its default, stage and dependencies, and a set of choices.

Mirrors: pkg/features/kube_features.go and its like in apiserver, client-go, apiextensions-apiserver and cloud-provider;
staging/src/k8s.io/component-base/featuregate (v1.36).
Differs: one set of gates for all components; a set is immutable; no emulated versions.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Final

from schedlab.kernel.errors import SchedlabError


class Stage(Enum):
    """How mature a feature is; the values are upstream's texts."""

    ALPHA = "ALPHA"
    BETA = "BETA"
    GA = ""
    DEPRECATED = "DEPRECATED"


@dataclass(frozen=True, slots=True)
class FeatureSpec:
    """A gate: `locked` ones cannot leave their default, `dependencies` must be on while it is on."""

    name: str
    stage: Stage
    default: bool
    locked: bool
    dependencies: tuple[str, ...] = ()


# (stage, default, locked) -> names.
_GATES: Final = {
    (Stage.GA, True, True): """
        APIServerTracing AnonymousAuthConfigurableEndpoints AnyVolumeDataSource
        AuthorizeNodeWithSelectors AuthorizeWithSelectors BtreeWatchCache CPUManagerPolicyOptions
        CRDValidationRatcheting CSIServiceAccountTokenSecrets ConsistentListFromCache
        CustomResourceFieldSelectors DRAAdminAccess DeclarativeValidation DisableAllocatorDualWrite
        DynamicResourceAllocation ExecProbeTimeout ExternalServiceAccountTokenSigner ImageMaximumGCAge
        ImageVolume InOrderInformers InPlacePodVerticalScaling JobBackoffLimitPerIndex JobManagedBy
        JobPodReplacementPolicy JobSuccessPolicy KubeletCgroupDriverFromCRI KubeletFineGrainedAuthz
        KubeletPSI KubeletPodResourcesDynamicResources KubeletPodResourcesGet KubeletTracing
        LogarithmicScaleDown MatchLabelKeysInPodAffinity MultiCIDRServiceAllocator
        MutableCSINodeAllocatableCount NFTablesProxyMode NodeInclusionPolicyInPodTopologySpread
        NodeLogQuery NodeSwap OrderedNamespaceDeletion PodLifecycleSleepAction
        PodLifecycleSleepActionAllowZero PodObservedGenerationTracking PodSchedulingReadiness
        PreferSameTrafficDistribution ProcMountType RecoverVolumeExpansionFailure
        RecursiveReadOnlyMounts RelaxedDNSSearchValidation RelaxedEnvironmentVariableValidation
        ResilientWatchCacheInitialization RetryGenerateName SELinuxChangePolicy
        SELinuxMountReadWriteOncePod SchedulerQueueingHints SeparateTaintEvictionController
        ServiceAccountTokenJTI ServiceAccountTokenNodeBinding ServiceAccountTokenNodeBindingValidation
        ServiceAccountTokenPodNodeInfo SidecarContainers StreamingCollectionEncodingToJSON
        StreamingCollectionEncodingToProtobuf StructuredAuthenticationConfiguration
        SupplementalGroupsPolicy SystemdWatchdog TopologyManagerPolicyOptions UserNamespacesSupport
        VolumeAttributesClass WinDSR WinOverlay
    """,
    (Stage.GA, True, False): """
        AllowServiceExternalIPs CustomCPUCFSQuotaPeriod DRAPrioritizedList InformerResourceVersion
        MutatingAdmissionPolicy
    """,
    (Stage.BETA, True, False): """
        APIResponseCompression APIServerIdentity AllowParsingUserUIDFromCertAuth AtomicFIFO
        AuthorizePodWebsocketUpgradeCreatePermission CPUManagerPolicyBetaOptions
        CRDObservedGenerationTracking ClearingNominatedNodeNameAfterBinding ClientsAllowCARotation
        ClientsAllowTLSCacheGC ComponentFlagz ComponentStatusz ConstrainedImpersonation
        ContainerCheckpoint ContainerRestartRules DRAConsumableCapacity DRADeviceBindingConditions
        DRADeviceTaints DRAExtendedResource DRAPartitionableDevices DRAResourceClaimDeviceStatus
        DRAResourceClaimGranularStatusAuthorization DRASchedulerFilterTimeout DeclarativeValidationBeta
        DeploymentReplicaSetTerminatingReplicas DetectCacheInconsistency EnvFiles
        ExtendWebSocketsToKubelet GracefulNodeShutdown GracefulNodeShutdownBasedOnPodPriority
        HPAConfigurableTolerance HostnameOverride InOrderInformersBatchProcess
        InPlacePodLevelResourcesVerticalScaling InPlacePodVerticalScalingInitContainers
        KubeletCrashLoopBackOffMax KubeletEnsureSecretPulledImages KubeletSeparateDiskGC
        KubeletServiceAccountTokenForCredentialProviders ListFromCacheSnapshot
        MatchLabelKeysInPodTopologySpread MatchLabelKeysInPodTopologySpreadSelectorMerge
        MutablePodResourcesForSuspendedJobs MutableSchedulingDirectivesForSuspendedJobs
        NodeDeclaredFeatures NominatedNodeNameForExpectation OpenAPIEnums OpportunisticBatching
        PLEGOnDemandRelist PodDeletionCost PodLevelResources PodReadyToStartContainersCondition
        PodTopologyLabelsAdmission PortForwardWebsockets PreventStaticPodAPIReferences
        RelaxedServiceNameValidation ReloadKubeletClientCAFile ReloadKubeletServerCertificateFile
        RemoteRequestHeaderUID ResourceHealthStatus ResourceHealthStatusMessage
        RestartAllContainersOnContainerExits RotateKubeletServerCertificate SchedulerAsyncPreemption
        SchedulerPopFromBackoffQ ServiceAccountNodeAudienceRestriction SizeBasedListCostEstimate
        StaleControllerConsistencyDaemonSet StaleControllerConsistencyJob
        StaleControllerConsistencyReplicaSet StaleControllerConsistencyStatefulSet
        StatefulSetSemanticRevisionComparison StorageVersionHash StrictIPCIDRValidation
        StructuredAuthenticationConfigurationEgressSelector
        StructuredAuthenticationConfigurationJWKSMetrics TokenRequestServiceAccountUIDValidation
        TopologyManagerPolicyBetaOptions TranslateStreamCloseWebsocketRequests
        UnauthenticatedHTTP2DOSMitigation UnknownVersionInteroperabilityProxy UnlockWhileProcessingFIFO
        WatchCacheInitializationPostStartHook WatchList WatchListClient WindowsGracefulNodeShutdown
    """,
    (Stage.BETA, False, False): """
        ClusterTrustBundle ClusterTrustBundleProjection ConcurrentWatchObjectDecode
        CoordinatedLeaderElection DRADeviceTaintRules LocalStorageCapacityIsolationFSQuotaMonitoring
        MaxUnavailableStatefulSet PodCertificateRequest SELinuxMount SchedulerAsyncAPICalls
        StorageVersionMigrator
    """,
    (Stage.ALPHA, False, False): """
        APIServingWithRoutine AllowUnsafeMalformedObjectDeletion CBORServingAndStorage
        CPUManagerPolicyAlphaOptions CRIListStreaming CSIVolumeHealth ClientsAllowCBOR ClientsPreferCBOR
        CloudControllerManagerWatchBasedRoutesReconciliation CloudControllerManagerWebhook
        ContainerStopSignals CrossNamespaceVolumeDataSource DRAListTypeAttributes
        DRANodeAllocatableResources DRAResourcePoolStatus DRAWorkloadResourceClaims EventedPLEG
        GangScheduling GenericWorkload HPAScaleToZero ImageVolumeWithDigest
        InPlacePodVerticalScalingExclusiveCPUs InPlacePodVerticalScalingExclusiveMemory
        KubeletInUserNamespace ManifestBasedAdmissionControlConfig MemoryQoS MutablePVNodeAffinity
        PersistentVolumeClaimUnusedSinceTime PodAndContainerStatsFromCRI PodLevelResourceManagers
        PodLogsQuerySplitStreams PodsAPI QOSReserved ReduceDefaultCrashLoopBackOffDecay
        RuntimeClassInImageCriApi ShardedListAndWatch StorageCapacityScoring StorageVersionAPI
        TaintTolerationComparisonOperators TopologyAwareWorkloadScheduling
        TopologyManagerPolicyAlphaOptions UserNamespacesHostNetworkSupport VolumeLimitScaling
        WindowsCPUAndMemoryAffinity WorkloadAwarePreemption WorkloadWithJob
    """,
    (Stage.DEPRECATED, True, True): """
        AggregatedDiscoveryRemoveBetaType DisableNodeKubeProxyVersion
    """,
    (Stage.DEPRECATED, True, False): """
        DisableCPUQuotaWithExclusiveCPUs KubeletPodResourcesListUseActivePods
        ServiceCIDRStatusFieldWiping StorageNamespaceIndex
    """,
    (Stage.DEPRECATED, False, True): """
        AllowOverwriteTerminationGracePeriodSeconds GitRepoVolumeDriver SeparateCacheWatchRPC
    """,
    (Stage.DEPRECATED, False, False): """
        AllowDNSOnlyNodeCSR AllowInsecureKubeletCertificateSigningRequests
        ChangeContainerStatusOnKubeletRestart DeclarativeValidationTakeover KMSv1
        KubeletRegistrationGetOnExistsOnly WindowsHostNetwork
    """,
}

# Gate: the gates it needs.
_DEPENDENCIES: Final = """
    AuthorizeNodeWithSelectors: AuthorizeWithSelectors
    ClusterTrustBundleProjection: ClusterTrustBundle
    DRAAdminAccess: DynamicResourceAllocation
    DRAConsumableCapacity: DynamicResourceAllocation
    DRADeviceBindingConditions: DynamicResourceAllocation DRAResourceClaimDeviceStatus
    DRADeviceTaintRules: DRADeviceTaints
    DRADeviceTaints: DynamicResourceAllocation
    DRAExtendedResource: DynamicResourceAllocation
    DRAListTypeAttributes: DynamicResourceAllocation
    DRANodeAllocatableResources: DynamicResourceAllocation
    DRAPartitionableDevices: DynamicResourceAllocation
    DRAPrioritizedList: DynamicResourceAllocation
    DRAResourceClaimGranularStatusAuthorization: DynamicResourceAllocation DRAResourceClaimDeviceStatus
    DRAResourcePoolStatus: DynamicResourceAllocation
    DRASchedulerFilterTimeout: DynamicResourceAllocation
    DRAWorkloadResourceClaims: DynamicResourceAllocation GenericWorkload
    DeclarativeValidationBeta: DeclarativeValidation
    DeclarativeValidationTakeover: DeclarativeValidation
    DisableAllocatorDualWrite: MultiCIDRServiceAllocator
    ExtendWebSocketsToKubelet: NodeDeclaredFeatures
    GangScheduling: GenericWorkload
    GracefulNodeShutdownBasedOnPodPriority: GracefulNodeShutdown
    ImageVolumeWithDigest: ImageVolume
    InPlacePodLevelResourcesVerticalScaling: InPlacePodVerticalScaling PodLevelResources NodeDeclaredFeatures
    InPlacePodVerticalScalingExclusiveCPUs: InPlacePodVerticalScaling
    InPlacePodVerticalScalingExclusiveMemory: InPlacePodVerticalScaling
    InPlacePodVerticalScalingInitContainers: InPlacePodVerticalScaling NodeDeclaredFeatures
    MatchLabelKeysInPodTopologySpreadSelectorMerge: MatchLabelKeysInPodTopologySpread
    PodCertificateRequest: AuthorizeNodeWithSelectors
    PodLevelResourceManagers: PodLevelResources
    PodLifecycleSleepActionAllowZero: PodLifecycleSleepAction
    ProcMountType: UserNamespacesSupport
    ResourceHealthStatus: DynamicResourceAllocation
    ResourceHealthStatusMessage: ResourceHealthStatus
    RestartAllContainersOnContainerExits: ContainerRestartRules NodeDeclaredFeatures
    ServiceAccountTokenNodeBinding: ServiceAccountTokenNodeBindingValidation
    StorageVersionAPI: APIServerIdentity
    StructuredAuthenticationConfigurationEgressSelector: StructuredAuthenticationConfiguration
    StructuredAuthenticationConfigurationJWKSMetrics: StructuredAuthenticationConfiguration
    TopologyAwareWorkloadScheduling: GenericWorkload
    UnknownVersionInteroperabilityProxy: APIServerIdentity
    UserNamespacesHostNetworkSupport: UserNamespacesSupport NodeDeclaredFeatures
    WindowsGracefulNodeShutdown: GracefulNodeShutdown
    WorkloadAwarePreemption: GangScheduling
    WorkloadWithJob: GenericWorkload
"""

# Gates that stand for all gates of a stage which are not chosen by name.
_WHOLE_STAGE: Final = {"AllAlpha": Stage.ALPHA, "AllBeta": Stage.BETA}

_BOOLEANS: Final = {
    **dict.fromkeys(("1", "t", "T", "true", "TRUE", "True"), True),
    **dict.fromkeys(("0", "f", "F", "false", "FALSE", "False"), False),
}


def _specs() -> dict[str, FeatureSpec]:
    lines = (line.split(":") for line in _DEPENDENCIES.strip().splitlines())
    needs = {name.strip(): tuple(rest.split()) for name, rest in lines}
    specs = [
        FeatureSpec(name, stage, default, locked, needs.get(name, ()))
        for (stage, default, locked), names in _GATES.items()
        for name in names.split()
    ]
    return {spec.name: spec for spec in sorted(specs, key=lambda spec: spec.name)}


#: Every gate, by name, in order of name.
FEATURES: Final[Mapping[str, FeatureSpec]] = _specs()
_DEFAULTS: Final = {spec.name: spec.default for spec in FEATURES.values()}


class FeatureGates:
    """Which features are on: the defaults, and what was chosen otherwise."""

    __slots__ = ("_enabled", "_overrides")

    def __init__(self, overrides: Mapping[str, bool], enabled: Mapping[str, bool]) -> None:
        self._overrides = dict(overrides)
        self._enabled = dict(enabled)

    @classmethod
    def default(cls) -> FeatureGates:
        """Return the gates as Kubernetes 1.36 ships them."""
        return cls({}, _DEFAULTS)

    @classmethod
    def parse(cls, text: str, *, location: str = "--feature-gates") -> FeatureGates:
        """Return the defaults with choices written as kube-scheduler's flag takes them: `A=true,B=false`."""
        overrides: dict[str, bool] = {}
        for part in filter(None, text.split(",")):
            name, equals, value = (piece.strip() for piece in part.partition("="))
            if not equals:
                raise SchedlabError(f"missing bool value for {name}", location=location, hint=f"write {name}=true")
            if value not in _BOOLEANS:
                raise SchedlabError(
                    f'invalid value of {name}: "{value}" is not a boolean', location=location, hint="use true or false"
                )
            overrides[name] = _BOOLEANS[value]
        return cls.default().with_overrides(overrides, location=location)

    def with_overrides(self, overrides: Mapping[str, bool], *, location: str = "featureGates") -> FeatureGates:
        """Return these gates with further choices; SchedlabError when a choice is impossible."""
        chosen = {**self._overrides, **overrides}
        for name, value in chosen.items():
            _check_choice(name, value=value, location=location)
        enabled = dict(_DEFAULTS)
        for name, stage in _WHOLE_STAGE.items():
            if name in chosen:
                enabled |= {spec.name: chosen[name] for spec in FEATURES.values() if spec.stage is stage}
        enabled |= {name: value for name, value in chosen.items() if name in FEATURES}
        _check_dependencies(enabled, location)
        return FeatureGates(chosen, enabled)

    def enabled(self, name: str) -> bool:
        """Whether the feature is on; the name must be one of FEATURES."""
        return self._enabled[name]

    @property
    def overrides(self) -> Mapping[str, bool]:
        """What was chosen, in the order it was."""
        return self._overrides

    def __repr__(self) -> str:
        changed = [f"{name}={value}" for name, value in self._enabled.items() if value != _DEFAULTS[name]]
        return f"FeatureGates({', '.join(changed)})"


def _check_choice(name: str, *, value: bool, location: str) -> None:
    if name in _WHOLE_STAGE:
        return
    spec = FEATURES.get(name)
    if spec is None:
        raise SchedlabError(f"unrecognized feature gate: {name}", location=location, hint=_similar(name))
    if spec.locked and value != spec.default:
        word = str(spec.default).lower()
        raise SchedlabError(
            f"cannot set feature gate {name} to {str(value).lower()}, feature is locked to {word}",
            location=location,
            hint=f"leave {name} out: in Kubernetes 1.36 it is always {word}",
        )


def _check_dependencies(enabled: Mapping[str, bool], location: str) -> None:
    for spec in FEATURES.values():
        missing = [name for name in spec.dependencies if not enabled[name]] if enabled[spec.name] else []
        if missing:
            raise SchedlabError(
                f"{spec.name} is enabled, but depends on features that are disabled: [{' '.join(missing)}]",
                location=location,
                hint=f"also set {','.join(f'{name}=true' for name in missing)}, or {spec.name}=false",
            )


def _similar(name: str) -> str:
    lowered = {known.lower(): known for known in (*FEATURES, *_WHOLE_STAGE)}
    close = difflib.get_close_matches(name.lower(), lowered, n=1)
    return f"did you mean {lowered[close[0]]}?" if close else "gates are named as in Kubernetes 1.36"
