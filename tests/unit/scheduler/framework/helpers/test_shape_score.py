"""Scoring functions made of straight lines."""

import pytest

from schedlab.scheduler.framework.helpers.shape_score import ShapePoint, broken_linear, broken_linear_table

SHAPE = (ShapePoint(10, 0), ShapePoint(40, 100), ShapePoint(70, 30))


@pytest.mark.parametrize(
    ("utilization", "score"), [(0, 0), (10, 0), (11, 3), (40, 100), (41, 98), (69, 33), (70, 30), (100, 30)]
)
def test_score_lies_on_the_line_between_points(utilization: int, score: int) -> None:
    """Outside the points it stays; on a falling line it is rounded towards the left point."""
    assert broken_linear(SHAPE, utilization) == score
    assert broken_linear_table(SHAPE)[utilization] == score


def test_one_point_is_a_constant() -> None:
    assert set(broken_linear_table([ShapePoint(50, 7)]).tolist()) == {7}
