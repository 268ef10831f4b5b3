"""Results of tests as JUnit XML, in the form that CI systems agree on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from xml.etree import ElementTree as ET


@dataclass(frozen=True, slots=True)
class Case:
    """One test: the file, how long it took, what does not hold, or why it cannot be used."""

    name: str
    seconds: float
    failures: tuple[str, ...] = ()
    mistake: str = ""


def junit_xml(cases: Sequence[Case]) -> str:
    """Return a document with one suite."""
    counts = {
        "tests": len(cases),
        "failures": sum(bool(case.failures) for case in cases),
        "errors": sum(bool(case.mistake) for case in cases),
    }
    attributes = {name: str(count) for name, count in counts.items()}
    suites = ET.Element("testsuites")
    total_s = sum(case.seconds for case in cases)
    suite = ET.SubElement(suites, "testsuite", {"name": "schedlab", **attributes, "time": f"{total_s:.3f}"})
    for case in cases:
        element = ET.SubElement(
            suite, "testcase", {"classname": "schedlab", "name": case.name, "time": f"{case.seconds:.3f}"}
        )
        for failure in case.failures:
            ET.SubElement(element, "failure", {"message": failure.splitlines()[0]}).text = failure
        if case.mistake:
            ET.SubElement(element, "error", {"message": case.mistake.splitlines()[0]}).text = case.mistake
    ET.indent(suites)
    return ET.tostring(suites, encoding="unicode", xml_declaration=True) + "\n"
