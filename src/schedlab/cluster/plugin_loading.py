"""Finds the classes of other people's plugins: by a reference that the user gives, or among installed packages.

A reference is `module:Class`, a file `./my_plugin.py:Class`, or the name under which an installed package offers a
plugin (entry-point group `schedlab.plugins`, `NodeNumber = "my_package.plugins:NodeNumber"`). Packages are only looked
at; their code is imported when their plugin is wanted.

Mirrors: WithPlugin of cmd/kube-scheduler/app (v1.36), in which plugins are compiled in.
"""

from __future__ import annotations

import difflib
import importlib
import importlib.metadata
import importlib.util
import inspect
import sys
import traceback
from pathlib import Path
from types import ModuleType
from typing import Any, Final

from schedlab.kernel.errors import SchedlabError
from schedlab.scheduler.framework.hooks import HooksFactory, factory_of
from schedlab.scheduler.framework.interface import PluginEntry
from schedlab.scheduler.framework.plugin_class import PluginClassError, entry_of

GROUP: Final = "schedlab.plugins"
_FORMS: Final = "write module:Class, ./file.py:Class, or the name of an installed plugin"


class PluginLoadError(SchedlabError):
    """A plugin that cannot be loaded."""


def load_plugin(reference: str, *, location: str = "") -> PluginEntry:
    """Return the registry's entry of a plugin; raises PluginLoadError. `location` says where the reference stands."""
    location = location or reference
    if ":" not in reference:
        return _load_named(reference, location)
    return _entry(_find(reference, location), location)


def load_hooks(reference: str, *, location: str = "") -> tuple[str, HooksFactory]:
    """Return the plugin's name and how its hooks are made, from `NAME=module:Class`; raises PluginLoadError."""
    location = location or reference
    name, equals, place = reference.partition("=")
    if not name or not equals or ":" not in place:
        raise PluginLoadError(
            f"{reference!r} names no plugin and hooks for it", location=location, hint="write NodeName=./file.py:Class"
        )
    try:
        return name, factory_of(_find(place, location))
    except PluginClassError as error:
        raise PluginLoadError(error.message, location=location, hint=error.hint) from error


def _find(reference: str, location: str) -> Any:
    place, _, attribute = reference.rpartition(":")
    if not place or not attribute:
        raise PluginLoadError(f"{reference!r} names no class", location=location, hint=_FORMS)
    is_file = place.endswith(".py") or "/" in place
    module = _import_file(Path(place), location) if is_file else _import_module(place, location)
    return _attribute(module, attribute, location)


def installed_plugins() -> dict[str, importlib.metadata.EntryPoint]:
    """Return what installed packages offer, by plugin name; raises PluginLoadError when two offer the same name."""
    found: dict[str, importlib.metadata.EntryPoint] = {}
    for point in importlib.metadata.entry_points(group=GROUP):
        other = found.setdefault(point.name, point)
        if other.value != point.value:
            raise PluginLoadError(
                f"two installed packages offer it: {other.value} and {point.value}",
                location=f"plugin {point.name}",
                hint="uninstall one of them",
            )
    return dict(sorted(found.items()))


def load_installed(point: importlib.metadata.EntryPoint) -> PluginEntry:
    """Return the registry's entry of a plugin that an installed package offers; raises PluginLoadError."""
    location = f"{GROUP} entry point {point.name} ({point.value})"
    entry = _entry(_attribute(_import_module(point.module, location), point.attr, location), location)
    if entry.name != point.name:
        raise PluginLoadError(
            f"the plugin calls itself {entry.name!r}", location=location, hint="both names must be the same"
        )
    return entry


def _load_named(name: str, location: str) -> PluginEntry:
    points = installed_plugins()
    if name in points:
        return load_installed(points[name])
    have = f"; installed plugins: {', '.join(points)}" if points else ""
    raise PluginLoadError(f"no installed package offers a plugin {name!r}", location=location, hint=f"{_FORMS}{have}")


# --- Modules ---


def _import_module(name: str, location: str) -> ModuleType:
    # As `python -m` does; a console script has its own folder there instead.
    _make_importable(Path.cwd())
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        missing = error.name or ""
        if name == missing or name.startswith(f"{missing}."):
            raise PluginLoadError(
                f"there is no module {missing!r}",
                location=location,
                hint="install its package, start where the module lies, or name its file: ./my_plugin.py:MyPlugin",
            ) from error
        raise _import_failed(error, location) from error
    except Exception as error:
        raise _import_failed(error, location) from error


def _import_file(path: Path, location: str) -> ModuleType:
    if not path.is_file():
        raise PluginLoadError(f"there is no file {path}", location=location, hint=f"paths are relative to {Path.cwd()}")
    path = path.resolve()
    name = f"schedlab_plugin_file_{path.stem}"
    known = sys.modules.get(name)
    if known is not None and known.__file__ == str(path):
        return known
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise PluginLoadError(f"{path} is no Python file", location=location, hint="its name must end with .py")
    _make_importable(path.parent)
    module = importlib.util.module_from_spec(spec)
    # Dataclasses and pickle look their module up.
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        sys.modules.pop(name)
        raise _import_failed(error, location) from error
    return module


def _make_importable(folder: Path) -> None:
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))


def _import_failed(error: Exception, location: str) -> PluginLoadError:
    text = f"{type(error).__name__}: {error.msg if isinstance(error, SyntaxError) else error}"
    place = _place(error)
    return PluginLoadError(
        f"importing it failed: {text}{f' ({place})' if place else ''}",
        location=location,
        hint="its module must be importable on its own: try it with python",
    )


def _place(error: Exception) -> str:
    """Return file:line of the user's code where the import failed."""
    if isinstance(error, SyntaxError) and error.filename:
        return f"{error.filename}:{error.lineno}"
    machinery = (__file__, importlib.__file__)
    frames = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if frame.filename not in machinery and not frame.filename.startswith("<frozen")
    ]
    return f"{frames[-1].filename}:{frames[-1].lineno}" if frames else ""


# --- Classes ---


def _attribute(module: ModuleType, path: str, location: str) -> Any:
    found: Any = module
    for name in path.split("."):
        if not hasattr(found, name):
            raise _no_class(module, path, location)
        found = getattr(found, name)
    return found


def _no_class(module: ModuleType, path: str, location: str) -> PluginLoadError:
    classes = [
        name for name, value in vars(module).items() if inspect.isclass(value) and value.__module__ == module.__name__
    ]
    close = difflib.get_close_matches(path, classes, 1)
    if close:
        hint = f"did you mean {close[0]}?"
    else:
        hint = f"its classes are: {', '.join(classes)}" if classes else "it has no class"
    return PluginLoadError(f"{module.__file__ or module.__name__} has no {path}", location=location, hint=hint)


def _entry(found: Any, location: str) -> PluginEntry:
    if isinstance(found, PluginEntry):
        return found
    try:
        return entry_of(found)
    except PluginClassError as error:
        raise PluginLoadError(error.message, location=location, hint=error.hint) from error
