"""What nodes know of images, and when they learn that a count changed."""

from schedlab.scheduler.cache.images import ImageStates
from schedlab.scheduler.framework.types import ImageState, NodeInfo
from schedlab.testing.builders import make_node


def test_size_is_that_of_the_first_node_that_reported_the_image() -> None:
    images = ImageStates()
    first, second = make_node("a").image("i:1", size=100), make_node("b").image("i:1", size=50)
    images.set_node(None, first.view())
    images.set_node(None, second.view())
    info = second.obj()

    assert images.refresh(info)
    assert info.image_states == {"i:1": ImageState(100, 2)}

    images.remove_node(first.view())
    images.refresh(info)
    assert info.image_states == {"i:1": ImageState(100, 1)}


def test_image_that_no_node_has_is_forgotten_with_its_size() -> None:
    images = ImageStates()
    images.set_node(None, make_node("a").image("i:1", size=100).view())
    images.set_node(make_node("a").image("i:1", size=100).view(), make_node("a").view())
    images.set_node(None, make_node("b").image("i:1", size=50).view())
    info = make_node("b").image("i:1", size=50).obj()

    images.refresh(info)

    assert info.image_states == {"i:1": ImageState(50, 1)}


def test_refresh_without_a_change_says_so() -> None:
    images = ImageStates()
    node = make_node("a").image("i:1", size=100)
    images.set_node(None, node.view())
    info = NodeInfo(node.view())

    assert images.refresh(info)
    assert not images.refresh(info)

    images.set_node(None, make_node("b").image("other", size=1).view())
    assert not images.refresh(info)


def test_copy_is_independent() -> None:
    images = ImageStates()
    node = make_node("a").image("i:1", "i@sha", size=100)
    images.set_node(None, node.view())
    other = images.copy()

    other.set_node(None, make_node("b").image("i:1", size=1).view())
    info = node.obj()
    images.refresh(info)
    assert info.image_states["i:1"].num_nodes == 1

    other.refresh(info)
    assert info.image_states["i:1"].num_nodes == 2
