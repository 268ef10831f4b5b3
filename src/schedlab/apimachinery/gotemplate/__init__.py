"""Go's text templates, as far as manifests use them: parsed once, run on decoded JSON.

    template = parse("{{ range .spec.containers }}{{ .name }} {{ end }}", functions)
    text = template.render(pod)

`functions` are called by name; `values.from_json` says how JSON looks inside. A template can neither run for ever nor
write without bound.

Mirrors: text/template of Go 1.25 and its parse package.
Differs: complex numbers and methods of values do not exist; texts of errors are our own and name the line.
"""

from __future__ import annotations

from schedlab.apimachinery.gotemplate.execution import Template
from schedlab.apimachinery.gotemplate.parser import parse
from schedlab.apimachinery.gotemplate.values import TemplateError

__all__ = ["Template", "TemplateError", "parse"]
