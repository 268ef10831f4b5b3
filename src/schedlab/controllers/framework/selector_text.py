"""A label selector as Go prints it in messages.

Mirrors: String of metav1.LabelSelector, generated (v1.36). Differs: nothing.
"""

from __future__ import annotations

from schedlab.api.views.meta import LabelSelector


def selector_text(selector: LabelSelector | None) -> str:
    """Print a selector as Go does."""
    if selector is None:
        return "nil"
    labels = "".join(f"{key}: {selector.match_labels[key]}," for key in sorted(selector.match_labels))
    expressions = "".join(
        f"LabelSelectorRequirement{{Key:{each.key},Operator:{each.operator},Values:[{' '.join(each.values)}],}},"
        for each in selector.match_expressions
    )
    return (
        f"&LabelSelector{{MatchLabels:map[string]string{{{labels}}},"
        f"MatchExpressions:[]LabelSelectorRequirement{{{expressions}}},}}"
    )
