"""How quickly nodes pull images, as an option says it."""

from __future__ import annotations

from schedlab.apimachinery.quantity import QuantityError
from schedlab.kernel.errors import SchedlabError
from schedlab.kubelet.life.plan import read_bandwidth


def read_image_bandwidth(text: str) -> int:
    """Return bytes per second of an option, 0 for `unlimited`; raises SchedlabError."""
    if text == "unlimited":
        return 0
    try:
        return read_bandwidth(text)
    except (QuantityError, ValueError) as error:
        raise SchedlabError(
            str(error), location="--image-bandwidth", hint="write bytes per second, such as 50Mi, or unlimited"
        ) from error
