"""What every suite shares: how property tests run, and where the two kubectl programs are."""

import os
import signal
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# The same examples on every run and machine; `make test-long` asks for more, and a developer may ask for random ones
# with HYPOTHESIS_PROFILE=random.
settings.register_profile("ci", derandomize=True, deadline=None, print_blob=True)
settings.register_profile(
    "thorough", parent=settings.get_profile("ci"), max_examples=500, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("random", deadline=None, print_blob=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))

# A shell lets what it starts in the background ignore Ctrl-C, and so would every program that a test starts and interrupts.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

REPOSITORY = Path(__file__).resolve().parent.parent
KUBECTL = {
    "1.37": ("SCHEDLAB_KUBECTL_137", REPOSITORY / ".venv" / "bin" / "kubectl"),
    "1.36": ("SCHEDLAB_KUBECTL_136", REPOSITORY / ".venv-kubectl136" / "bin" / "kubectl"),
}


@pytest.fixture(scope="session", params=sorted(KUBECTL), ids=lambda version: f"kubectl-{version}")
def kubectl(request: pytest.FixtureRequest) -> Path:
    """The real kubectl, once per version; a test that asks for it fails where the program is missing."""
    variable, usual_place = KUBECTL[request.param]
    program = Path(os.environ.get(variable, usual_place))
    if not os.access(program, os.X_OK):
        pytest.fail(f"kubectl {request.param} is not at {program}: run `make e2e`, or name it in {variable}")
    return program
