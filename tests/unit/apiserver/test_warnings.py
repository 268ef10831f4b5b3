"""Warnings reach the client as headers that its parser understands."""

from schedlab.apiserver.warnings import warning_headers


def test_each_text_is_one_quoted_header() -> None:
    """Quotes and backslashes are escaped; repeated and empty texts are left out."""
    headers = warning_headers(['unknown field "a"', "", 'unknown field "a"', "back\\slash"])

    assert headers == [
        (b"warning", b'299 - "unknown field \\"a\\""'),
        (b"warning", b'299 - "back\\\\slash"'),
    ]


def test_texts_that_no_header_can_carry_are_left_out() -> None:
    """A line break would end the header."""
    assert warning_headers(["a\nb", "c"]) == [(b"warning", b'299 - "c"')]


def test_many_long_texts_are_cut() -> None:
    """Above 4 KiB in all, each text keeps its first 256 characters, and no more than 4 KiB are sent."""
    headers = warning_headers([f"{number:03}{'x' * 500}" for number in range(30)])

    assert len(headers) == 16
    assert {len(value) for _, value in headers} == {256 + len('299 - ""')}
