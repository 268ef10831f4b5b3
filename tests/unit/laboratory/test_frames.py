"""Rows become data frames of the reader's choice; a library that is missing is named."""

import sys

import pandas as pd
import polars as pl
import pytest
from pandas.testing import assert_frame_equal

from schedlab import Cluster
from schedlab.decisions.tables import TABLES, Table
from schedlab.kernel.errors import SchedlabError
from schedlab.laboratory.frames import as_frame
from schedlab.testing import make_node, make_pod


@pytest.fixture(scope="module")
def cluster() -> Cluster:
    """One pod that is placed, one that is not."""
    nodes = [make_node(name).capacity(cpu="2", pods="9") for name in ("a", "b")]
    made = Cluster(*nodes, make_pod("web").req(cpu="1"), make_pod("big").req(cpu="9"))
    made.run()
    return made


@pytest.mark.parametrize("table", TABLES)
def test_both_frames_hold_what_the_rows_say(cluster: Cluster, table: Table) -> None:
    """Every table, value by value, in both libraries."""
    rows = cluster.table(table, frame="rows")
    pandas, polars = cluster.table(table), cluster.table(table, frame="polars")

    assert rows
    assert isinstance(pandas, pd.DataFrame)
    assert isinstance(polars, pl.DataFrame)
    assert pandas.to_dict("records") == rows
    assert polars.to_dicts() == rows


def test_every_filter_of_every_node_is_there_after_the_first_that_failed_too() -> None:
    """A record of the full mode tells all of them, of nodes that were not visited as well."""
    tainted = make_node("a").capacity(cpu="2", pods="9").taint("key", "value", "NoSchedule")
    made = Cluster(tainted, make_pod("big").req(cpu="9"))
    made.run()

    said = {row["plugin"]: row["reasons"] for row in made.table("filters", frame="rows") if not row["passed"]}

    assert said == {
        "TaintToleration": "node(s) had untolerated taint(s)",
        "NodeResourcesFit": "Insufficient cpu",
    }


def test_a_table_without_rows_is_an_empty_frame() -> None:
    """Nothing recorded is no error."""
    assert_frame_equal(as_frame([], "pandas"), pd.DataFrame())
    assert as_frame([], "polars").is_empty()
    assert as_frame([], "rows") == []


@pytest.mark.parametrize("frame", ["pandas", "polars"])
def test_a_missing_library_is_named_with_its_extra(
    frame: str, monkeypatch: pytest.MonkeyPatch, cluster: Cluster
) -> None:
    """The hint is what to install."""
    monkeypatch.setitem(sys.modules, frame, None)

    with pytest.raises(SchedlabError) as found:
        cluster.table("attempts", frame=frame)  # type: ignore[arg-type] # parametrised with both names
    assert f"{frame} is not installed" in str(found.value)
    assert f"pip install 'schedlab[{frame}]'" in str(found.value)


def test_an_unknown_frame_is_refused(cluster: Cluster) -> None:
    """The hint lists the kinds."""
    with pytest.raises(SchedlabError, match="one of pandas, polars, rows"):
        cluster.table("attempts", frame="excel")  # type: ignore[arg-type] # what a user may write
