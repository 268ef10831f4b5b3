"""What every kind with a pod template does with it when it is written.

Mirrors: pkg/api/pod/util.go (DropDisabledTemplateFields), pkg/api/pod/warnings.go (GetWarningsForPodTemplate) (v1.36)
Differs: nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from schedlab.api.kinds.pod.disabled import drop_disabled
from schedlab.api.kinds.strategy import Context
from schedlab.api.object import Object


def prepare_template(template: Object, old: Mapping[str, Any] | None, context: Context) -> None:
    """Drop fields of features that are off, unless the stored template has them."""
    drop_disabled(template["spec"], {} if old is None else old["spec"], context.features)
