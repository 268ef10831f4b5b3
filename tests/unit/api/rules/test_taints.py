"""Which taints a pod tolerates."""

import pytest

from schedlab.api.rules.taints import find_untolerated, tolerates, tolerates_any
from schedlab.api.views.core import Taint, Toleration

TAINT = Taint(key="k", value="v", effect="NoSchedule")


@pytest.mark.parametrize(
    ("toleration", "expected"),
    [
        pytest.param(Toleration("k", "Equal", "v", "NoSchedule"), True, id="all equal"),
        pytest.param(Toleration("k", "", "v", "NoSchedule"), True, id="no operator means Equal"),
        pytest.param(Toleration("k", "Equal", "w", "NoSchedule"), False, id="another value"),
        pytest.param(Toleration("k", "Exists", "", "NoSchedule"), True, id="Exists covers every value"),
        pytest.param(Toleration("k", "Exists", "", ""), True, id="no effect covers every effect"),
        pytest.param(Toleration("k", "Exists", "", "NoExecute"), False, id="another effect"),
        pytest.param(Toleration("l", "Exists", "", "NoSchedule"), False, id="another key"),
        pytest.param(Toleration("", "Exists", "", ""), True, id="no key covers every key"),
        pytest.param(Toleration("", "Equal", "v", ""), True, id="no key with an equal value covers it too"),
        pytest.param(Toleration("k", "Matches", "v", ""), False, id="an unknown operator covers nothing"),
    ],
)
def test_toleration_covers_taint(toleration: Toleration, *, expected: bool) -> None:
    assert tolerates(toleration, TAINT) is expected


@pytest.mark.parametrize(
    ("operator", "own", "other", "expected"),
    [
        ("Lt", "5", "4", True),
        ("Lt", "5", "5", False),
        ("Gt", "5", "6", True),
        ("Gt", "-5", "-4", True),
        ("Gt", "5", "06", False),
        ("Gt", "+5", "6", False),
        ("Gt", "5", "x", False),
        ("Lt", "9223372036854775808", "1", False),
        ("Lt", "9223372036854775807", "1", True),
    ],
)
def test_comparison_asks_the_taints_value(operator: str, own: str, other: str, *, expected: bool) -> None:
    """Lt covers taints with a smaller value, Gt with a greater one; only plain int64 numbers compare."""
    toleration, taint = Toleration("k", operator, own), Taint("k", other, "NoSchedule")

    assert tolerates(toleration, taint, comparison=True) is expected
    assert tolerates(toleration, taint) is False


def test_first_untolerated_taint_is_found() -> None:
    soft, hard = Taint("a", "", "PreferNoSchedule"), Taint("b", "", "NoExecute")

    assert find_untolerated([soft, hard, TAINT], []) == hard
    assert find_untolerated([soft, hard, TAINT], [Toleration("b", "Exists")]) == TAINT
    assert find_untolerated([soft], []) is None
    assert find_untolerated([soft, hard], [], ["PreferNoSchedule"]) == soft
    assert tolerates_any([Toleration("x"), Toleration("", "Exists")], hard)
