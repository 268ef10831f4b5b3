"""`schedlab down`: stop a running simulator and wait until it has stopped."""

from __future__ import annotations

import os
import signal
import sys
import time
from typing import Annotated

from cyclopts import Parameter

from schedlab.cli.kube_context import NameOption, resolve

_POLL_S = 0.05


def down(
    *,
    timeout: Annotated[int, Parameter(help="Seconds to wait.")] = 30,
    name: NameOption = None,
) -> int:
    """Stop the simulator: requests in flight are finished, a data folder is brought into order."""
    home = resolve(name, None)[0]
    process = home.running_process()
    if process is None:
        print(f"cluster {home.path.name} is not running", file=sys.stderr)
        return 0
    try:
        os.kill(process, signal.SIGTERM)
    except ProcessLookupError:
        pass  # it has ended by itself in this moment
    except PermissionError:
        print(f"error: process {process} belongs to another user", file=sys.stderr)
        return 1
    deadline = time.monotonic() + timeout
    while home.running_process() == process:
        if time.monotonic() > deadline:
            print(f"error: process {process} is still there after {timeout} s", file=sys.stderr)
            print(f"hint: end it with `kill -9 {process}`: what was acknowledged is kept all the same", file=sys.stderr)
            return 1
        time.sleep(_POLL_S)
    print(f"cluster {home.path.name} has stopped")
    return 0
