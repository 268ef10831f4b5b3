"""Of the JSON of an explanation so much is decoded that it reads like the whole of it."""

from __future__ import annotations

from collections.abc import Callable

import orjson
import pytest

from schedlab.cli.explain_html import explain_html
from schedlab.cli.explain_text import explain_text
from schedlab.cli.explanation import explanation_of
from schedlab.kernel.errors import SchedlabError
from schedlab.scheduler.framework.record import CycleRecord
from tests.unit.cli.test_explain_text import _explain
from tests.unit.decisions import records


@pytest.mark.parametrize("record", [records.scheduled, records.failed])
def test_forms_of_what_is_decoded_are_those_of_the_whole(record: Callable[[], CycleRecord]) -> None:
    whole = _explain(record())
    decoded = explanation_of(orjson.dumps(whole))

    for one_node in (True, False):
        assert explain_text(decoded, wide=True, one_node=one_node) == explain_text(whole, wide=True, one_node=one_node)
    assert explain_html(decoded) == explain_html(whole)


def test_what_is_no_explanation_is_refused() -> None:
    with pytest.raises(SchedlabError, match="no explanation"):
        explanation_of(b"[]")
