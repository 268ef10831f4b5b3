"""What would help a pod, as text: one change per block, the cheapest first, each with its command."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from schedlab.kernel.words import counted


def help_text(answer: Mapping[str, Any]) -> str:
    """Return the text of an answer of what-would-help."""
    lines = [f"Pod {answer['pod']}: {answer['message']}"]
    if not answer["suggestions"] and not answer["fits"]:
        tried = answer["attempts"]
        lines.append(
            f"No change that is known here would let it be scheduled ({counted(tried, 'attempt was', 'attempts were')} made on a fork)."
        )
    return "\n".join([*lines, "", *_suggestions(answer["suggestions"])]).rstrip()


def _suggestions(suggestions: Sequence[Mapping[str, Any]]) -> list[str]:
    if not suggestions:
        return []
    one = len(suggestions) == 1
    lines = [f"{'This' if one else 'Any one of these'} would let it be scheduled{':' if one else ', the least first:'}"]
    for suggestion in suggestions:
        lines += ["", f"  {suggestion['summary']}", f"    it goes to {suggestion['node']}"]
        lines += [f"    $ {command}" for command in suggestion["commands"]]
    return lines
