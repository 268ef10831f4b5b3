"""What must not stand in any file of the repository, and what must agree between files."""

import re
import tomllib
from collections.abc import Iterable
from pathlib import Path, PurePosixPath

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.architecture.source_tree import REPOSITORY, SourceFile, documents, repository_files, repository_paths

#: Written in two halves, so that this file passes its own test.
MACHINE_PATHS = ("/wo" + "rk/", "/tmp/" + "up")
PACKAGE_HOST = re.compile(
    r"(?:https?:)?//(?P<host>(?:[\w-]+\.)*"
    r"(?:pypi|pythonhosted|npmjs|yarnpkg|artifactory|jfrog|nexus|devpi|crates|debian|golang)[\w.-]*)(?P<path>/\S*)?"
)
INDEX_OPTION = re.compile(r"(?:index-url|find-links)[ =]+\S*//(?P<host>[^/\s\"']+)")
ALLOWED_HOSTS = {"pypi.org"}


#: Whoever clones the repository carries every file of its history.
BYTES_MAX = 400_000


def machine_paths(files: Iterable[SourceFile]) -> list[str]:
    """Lines that only make sense on the machine they were written on."""
    return [
        f"{file.path}:{number}: names a path of one machine"
        for file in files
        for number, line in enumerate(file.lines(), 1)
        if any(path in line for path in MACHINE_PATHS)
    ]


def package_hosts(files: Iterable[SourceFile]) -> list[str]:
    """Lines that tie an installation to a package host: which one is used is the user's own setting."""
    return [
        f"{file.path}:{number}: names the package host {match['host']}"
        for file in files
        for number, line in enumerate(file.lines(), 1)
        for pattern in (PACKAGE_HOST, INDEX_OPTION)
        for match in pattern.finditer(line)
        if match["host"] not in ALLOWED_HOSTS
    ]


def test_no_machine_paths() -> None:
    """No file names a path of the machine it was written on."""
    assert machine_paths(repository_files()) == []


def test_machine_path_is_found() -> None:
    """Anywhere in a line, in any kind of file."""
    planted = [SourceFile("docs/x.md", f"see {path}file") for path in MACHINE_PATHS]

    assert len(machine_paths(planted)) == len(MACHINE_PATHS)


def test_no_package_hosts() -> None:
    """No file names a package host, so installing follows the user's own settings."""
    assert package_hosts(repository_files()) == []


@pytest.mark.parametrize(
    ("line", "count"),
    [
        ("https://pypi.org/project/schedlab", 0),
        ("https://kubernetes.io/docs", 0),
        ("https://" + "files.pythonhosted.org/packages/x.whl", 1),
        ("resolved https://" + "registry.npmjs.org/x", 1),
        ("pip install --index-url http://" + "10.0.0.1:8080/simple x", 1),
        ("extra-index-url = https://" + "packages.example.com/simple", 1),
    ],
)
def test_package_host_is_found(line: str, count: int) -> None:
    """Public hosts, mirrors and options that choose one are all found."""
    assert len(package_hosts([SourceFile("x", line)])) == count


def large_files(paths: Iterable[Path]) -> list[str]:
    """Files that are larger than anything written by hand, such as packages that were left lying about."""
    return [f"{path.name}: has more than {BYTES_MAX:,} bytes" for path in paths if path.stat().st_size > BYTES_MAX]


def test_no_file_is_large() -> None:
    assert large_files(repository_paths()) == []


def test_large_file_is_found(tmp_path: Path) -> None:
    (tmp_path / "package.whl").write_bytes(bytes(BYTES_MAX + 1))

    assert large_files([tmp_path / "package.whl"]) == ["package.whl: has more than 400,000 bytes"]


def broken_links(files: Iterable[SourceFile], exists: Iterable[str]) -> list[str]:
    """Relative links of Markdown files that lead nowhere."""
    known = set(exists)
    known |= {parent.as_posix() for path in exists for parent in PurePosixPath(path).parents}
    found = []
    for file in files:
        for target in re.findall(r"\]\(([^)\s#]+)(?:#[^)]*)?\)", file.text):
            if re.match(r"[a-z+]+:", target):
                continue
            path = (Path("/") / PurePosixPath(file.path).parent / target).resolve().as_posix().removeprefix("/")
            if path not in known:
                found.append(f"{file.path}: links to {target}, which is not there")
    return found


def test_links_between_documents_lead_somewhere() -> None:
    """Every relative link in the documentation leads to a file of the repository, or to a picture."""
    pictures = [path.relative_to(REPOSITORY).as_posix() for path in REPOSITORY.glob("docs/**/*.png")]

    assert broken_links(documents(), [*(file.path for file in repository_files()), *pictures]) == []


def test_broken_link_is_found() -> None:
    """Links to files, folders, anchors and other sites are told apart."""
    file = SourceFile("docs/a.md", "[1](b.md#x) [2](../src) [3](https://kubernetes.io) [4](#here) [5](gone.md)")

    assert broken_links([file], ["docs/b.md", "src/x.py"]) == ["docs/a.md: links to gone.md, which is not there"]


def crashes(files: Iterable[SourceFile]) -> list[str]:
    """Lines of documents that show a crash, which a refreshed output can bring in."""
    return [
        f"{file.path}:{number}: shows a crash"
        for file in files
        for number, line in enumerate(file.lines(), 1)
        if line.strip().startswith("Traceback (most recent call last)")
    ]


def test_no_document_shows_a_crash() -> None:
    """No recorded output is a crash of ours."""
    assert crashes(documents()) == []


def test_crash_is_found() -> None:
    """Indented or not."""
    assert len(crashes([SourceFile("docs/a.md", "x\n    Traceback (most recent call last):\n")])) == 1


def stale_pins(requirements: Iterable[str], lock: str) -> list[str]:
    """Requirements that the lock file does not pin, or pins outside their bounds."""
    pins = {canonicalize_name(name): version for name, version in re.findall(r"^([\w.-]+)==(\S+)", lock, re.MULTILINE)}
    found = []
    for requirement in map(Requirement, requirements):
        version = pins.get(canonicalize_name(requirement.name))
        if version is None or not requirement.specifier.contains(version):
            found.append(f"{requirement} is pinned as {version}: run `make lock`")
    return found


@pytest.mark.parametrize(
    ("lock", "extras"), [("run.lock", []), ("dev.lock", ["test", "dev", "build-data"])], ids=["run", "dev"]
)
def test_lock_files_follow_pyproject(lock: str, extras: list[str]) -> None:
    """Each dependency of pyproject.toml is pinned within its bounds."""
    with (REPOSITORY / "pyproject.toml").open("rb") as file:
        project = tomllib.load(file)["project"]
    requirements = [*project["dependencies"]]
    for extra in extras:
        requirements += project["optional-dependencies"][extra]

    assert stale_pins(requirements, (REPOSITORY / "requirements" / lock).read_text(encoding="utf-8")) == []


def test_stale_pin_is_found() -> None:
    """A missing pin and a pin out of bounds are stale; names are compared as pip does."""
    found = stale_pins(["Some_Thing>=2", "other<2", "gone"], "some-thing==2.1 \\\nother==2.0\n")

    assert [line.split(" is ")[0] for line in found] == ["other<2", "gone"]


def test_two_lock_files_agree() -> None:
    """What runs and what is tested is the same version."""
    run, dev = (
        dict(re.findall(r"^([\w.-]+)==(\S+)", (REPOSITORY / "requirements" / name).read_text("utf-8"), re.MULTILINE))
        for name in ("run.lock", "dev.lock")
    )

    assert run.items() <= dev.items()
