"""Reading options that several verbs have."""

from __future__ import annotations

import socket
import sys
import webbrowser
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Final, TypeAlias

from cyclopts import Parameter

from schedlab.apimachinery.time import TimeError, parse_duration
from schedlab.cluster.cross_origin import check_origins
from schedlab.cluster.plugin_loading import load_hooks, load_plugin
from schedlab.cluster.served import Serving
from schedlab.cluster.storage import Storage, etcd_place
from schedlab.kernel.clock import SECOND_NS
from schedlab.kernel.errors import SchedlabError
from schedlab.registry.admission.names import enabled_names
from schedlab.scheduler.framework.hooks import HooksFactory
from schedlab.scheduler.framework.interface import PluginEntry

#: Of so many revisions a live cluster keeps the past unless told otherwise.
HISTORY: Final = 20_000


@Parameter(name="*")
@dataclass(frozen=True, slots=True)
class PluginOptions:
    """Plugins and hooks that do not come with the scheduler."""

    plugin: Annotated[
        tuple[str, ...],
        Parameter(
            negative="",
            help="A scheduler plugin of your own: module:Class, ./file.py:Class, or the name of an installed one. "
            "May be given several times.",
        ),
    ] = ()
    hooks: Annotated[
        tuple[str, ...],
        Parameter(
            negative="",
            help="Hooks around a plugin: PLUGIN=module:Class or PLUGIN=./file.py:Class. May be given several times.",
        ),
    ] = ()

    def load_plugins(self) -> tuple[PluginEntry, ...]:
        """Return the plugins; raises SchedlabError."""
        return tuple(load_plugin(reference, location=f"--plugin {reference}") for reference in self.plugin)

    def load_hooks(self) -> dict[str, HooksFactory]:
        """Return the hooks by the plugin they go around; raises SchedlabError."""
        found: dict[str, HooksFactory] = {}
        for reference in self.hooks:
            location = f"--hooks {reference}"
            plugin, factory = load_hooks(reference, location=location)
            if plugin in found:
                raise SchedlabError(
                    f"there are hooks around {plugin} already", location=location, hint="put all of them into one class"
                )
            found[plugin] = factory
        return found


NO_PLUGINS: Final = PluginOptions()


@Parameter(name="*")
@dataclass(frozen=True, slots=True)
class APIServerOptions:
    """How the API server is reached, and what it lets in; the names of admission's options are kube-apiserver's."""

    enable_admission_plugins: Annotated[
        str, Parameter(help="Admission plugins to run besides the default ones, with commas between them.")
    ] = ""
    disable_admission_plugins: Annotated[
        str, Parameter(help="Admission plugins not to run, with commas between them.")
    ] = ""
    audit_log: Annotated[
        Path | None, Parameter(help="File to which the API server logs who asks for what, one JSON line per stage.")
    ] = None
    insecure: Annotated[
        bool,
        Parameter(negative="", help="Plain HTTP without credentials: everybody on this machine is administrator."),
    ] = False

    cors_allowed_origins: Annotated[
        str,
        Parameter(help="Origins of pages that may use both ports, with commas between them: http://localhost:3000."),
    ] = ""

    def admission(self) -> tuple[str, ...]:
        """Return the admission plugins that run; raises SchedlabError."""
        return enabled_names(read_list(self.enable_admission_plugins), read_list(self.disable_admission_plugins))

    def serving(self, storage: Storage | None = None) -> Serving:
        """Return how an API is served that is kept in a place, after a word on what that means."""
        if self.insecure:
            print(INSECURE, file=sys.stderr, flush=True)
        named = tuple(read_list(self.cors_allowed_origins))
        origins = check_origins(named, "--cors-allowed-origins") if named else None
        return Serving(Storage() if storage is None else storage, self.audit_log, self.insecure, origins)


API_SERVER_DEFAULTS: Final = APIServerOptions()
INSECURE: Final = (
    "warning: --insecure: plain HTTP without credentials; every program and every user on this machine is "
    "administrator of this cluster. Pages of other sites and other machines are still kept out."
)

ShadowsOption: TypeAlias = Annotated[
    tuple[Path, ...],
    Parameter(
        negative="",
        help="A KubeSchedulerConfiguration that decides every pod, too, and binds none. May be given several times.",
    ),
]

OpenOption: TypeAlias = Annotated[
    bool, Parameter(name="--open", negative="", help="Open the web UI in the browser of this machine.")
]


@Parameter(name="*")
@dataclass(frozen=True, slots=True)
class PageOptions:
    """How the web UI is come by."""

    redirect_port: Annotated[
        int | None,
        Parameter(
            help="Port that leads to the web UI; 0 is none. If not given, 3000, where kube-scheduler-simulator has its "
            "page, unless that port is taken or --cors-allowed-origins names it."
        ),
    ] = None
    opens: OpenOption = False


PAGE_DEFAULTS: Final = PageOptions()

StrictOption: TypeAlias = Annotated[
    bool,
    Parameter(
        negative="",
        help="Keep quirks of kube-scheduler-simulator: repeated failures in one history entry, weights of the first "
        "profile, results as annotations only, replays that take no time, streams that end with one failed watch.",
    ),
]
StaticPodsOption: TypeAlias = Annotated[
    Path | None,
    Parameter(help="Folder of manifests, as /etc/kubernetes/manifests: the node control-plane runs their pods."),
]
ScenariosOption: TypeAlias = Annotated[
    Path | None, Parameter(help="Folder of scenarios that the web UI offers in place of the examples.")
]

StagesOption: TypeAlias = Annotated[
    tuple[str, ...],
    Parameter(
        negative="",
        help="KWOK Stages to start with: a YAML file, a folder, or a set: general, chaos. May be given several times.",
    ),
]


@Parameter(name="*")
@dataclass(frozen=True, slots=True)
class StorageOptions:
    """Where the objects are kept; the names of etcd's options are kube-apiserver's."""

    data_dir: Annotated[
        Path | None, Parameter(help="Folder that keeps the objects over restarts; without one nothing is kept.")
    ] = None
    etcd_servers: Annotated[
        str, Parameter(help="URLs of an etcd that keeps the objects instead of a folder, with commas between them.")
    ] = ""
    etcd_prefix: Annotated[str, Parameter(help="Where in etcd the objects lie.")] = "/registry"
    etcd_cafile: Annotated[Path | None, Parameter(help="Certificate authority of etcd, a PEM file.")] = None
    etcd_certfile: Annotated[Path | None, Parameter(help="Client certificate for etcd, a PEM file.")] = None
    etcd_keyfile: Annotated[Path | None, Parameter(help="Key of the client certificate for etcd, a PEM file.")] = None

    def read(self) -> Storage:
        """Return the place that is meant; raises SchedlabError."""
        files = (self.etcd_cafile, self.etcd_certfile, self.etcd_keyfile)
        if not self.etcd_servers:
            if any(files):
                raise SchedlabError(
                    "files for etcd are given, but no etcd",
                    location="--etcd-servers",
                    hint="name it, or leave them out",
                )
            return Storage(self.data_dir)
        if self.data_dir is not None:
            raise SchedlabError(
                "a cluster is kept in one place",
                location="--data-dir, --etcd-servers",
                hint="give one of the two",
            )
        return Storage(etcd=etcd_place(self.etcd_servers, self.etcd_prefix, files))


NO_STORAGE: Final = StorageOptions()
SecurePortOption: TypeAlias = Annotated[
    int,
    Parameter(
        help="Port of the scheduler's own HTTPS (/metrics, /healthz, /configz), kube-scheduler's is 10259; 0: none."
    ),
]


def refuse_negative(number: int, option: str, what: str) -> None:
    """Refuse a number of an option that is below 0."""
    if number < 0:
        raise SchedlabError(f"{number} {what}", location=option, hint="give 0 or more")


def read_list(text: str) -> tuple[str, ...]:
    """Return the parts of a list with commas between them."""
    return tuple(part.strip() for part in text.split(",") if part.strip())


def read_folder(path: Path | None, option: str) -> Path | None:
    """Return a folder that is there; raises SchedlabError."""
    if path is not None and not path.is_dir():
        raise SchedlabError(f"{path} is no folder", location=option, hint="make it first")
    return path


def read_seconds(text: str, option: str) -> int:
    """Return a duration of an option as whole seconds; raises SchedlabError."""
    try:
        seconds, rest = divmod(parse_duration(text), SECOND_NS)
    except TimeError as error:
        raise SchedlabError(str(error), location=option, hint="write a duration like 90s, 30m or 1h30m") from error
    if seconds < 0 or rest:
        raise SchedlabError(f"{text} is not a number of whole seconds", location=option, hint="write 90s, 30m or 1h30m")
    return seconds


@contextmanager
def optional_socket(port: int, option: str) -> Iterator[socket.socket | None]:
    """Give a bound socket for as long as it is needed; none for port 0."""
    if not port:
        yield None
        return
    with bound_socket(port, option) as bound:
        yield bound


def bound_socket(port: int, option: str) -> socket.socket:
    """Return a socket bound to a loopback port, not yet listening; 0 takes any free port."""
    if not 0 <= port <= 65535:
        raise SchedlabError(f"{port} is no port", location=option, hint="give a number from 1 to 65535")
    bound = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        bound.bind(("127.0.0.1", port))
        bound.listen(2048)
    except OSError as error:
        bound.close()
        raise SchedlabError(
            f"port {port} cannot be used: {error.strerror}",
            location=option,
            hint=f"stop what uses it, or choose another port: {option} {port + 10 if port < 65500 else port - 10}",
        ) from error
    return bound


def open_url(url: str) -> None:
    """Open an address in the browser of this machine, or say that there is none."""
    if not webbrowser.open(url):
        print(
            "warning: no browser could be opened here; open the link of the web UI by hand", file=sys.stderr, flush=True
        )
