"""The application: its verbs, and how it ends."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from cyclopts import App, CycloptsError

from schedlab import __version__
from schedlab.kernel.errors import SchedlabError

app = App(
    name="schedlab",
    help="A simulated Kubernetes cluster for understanding and testing scheduling.",
    version=f"schedlab {__version__}",
)
# Imported when asked for: `schedlab explain` must not wait for the server's imports.
app.command("schedlab.cli.up:up", name="up")
app.command("schedlab.cli.simulator:simulator", name="simulator")
app.command("schedlab.cli.apiserver:apiserver", name="apiserver")
app.command("schedlab.cli.scheduler:scheduler", name="scheduler")
app.command("schedlab.cli.import_cluster:import_cluster", name="import")
app.command("schedlab.cli.sync:sync", name="sync")
app.command("schedlab.cli.record:record", name="record")
app.command("schedlab.cli.replay:replay", name="replay")
app.command("schedlab.cli.snapshot:snapshot", name="snapshot")
app.command("schedlab.cli.minimize:minimize", name="minimize")
app.command("schedlab.cli.shadow:shadow", name="shadow")
app.command("schedlab.cli.down:down", name="down")
app.command("schedlab.cli.status:status", name="status")
app.command("schedlab.cli.explain:explain", name="explain")
app.command("schedlab.cli.trace:trace", name="trace")
app.command("schedlab.cli.what_if:what_if", name="what-if")
app.command("schedlab.cli.pending:pending", name="pending")
app.command("schedlab.cli.why_not_full:why_not_full", name="why-not-full")
app.command("schedlab.cli.decisions:decisions", name="decisions")
app.command("schedlab.cli.env:env", name="env")
node = App(name="node", help="Add nodes to the running cluster, let them fail and recover, drain and remove them.")
for verb, function in (
    ("add", "schedlab.cli.node.add:add"),
    ("fail", "schedlab.cli.node.fail:fail"),
    ("recover", "schedlab.cli.node.fail:recover"),
    ("drain", "schedlab.cli.node.drain:drain"),
    ("remove", "schedlab.cli.node.remove:remove"),
):
    node.command(function, name=verb)
app.command(node)
app.command("schedlab.cli.bench:bench", name="bench")


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and exit: 0 done, 1 a server said no, 2 the input cannot be used, 130 interrupted."""
    sys.exit(_run(arguments))


def _run(arguments: Sequence[str] | None) -> int:
    try:
        result = app(arguments, exit_on_error=False, print_error=False, result_action="return_value")
    except CycloptsError as error:
        print(f"error: {_one_line(error)}", file=sys.stderr)
        print("hint: schedlab --help lists the commands and their options", file=sys.stderr)
        return 2
    except SchedlabError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        sys.stderr.close()
        return 0
    return result if isinstance(result, int) else 0


def _one_line(error: CycloptsError) -> str:
    return " ".join(str(error).split())
