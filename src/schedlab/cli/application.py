"""The application: its verbs, and how it ends."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import Final

from cyclopts import App, CycloptsError

from schedlab import __version__
from schedlab.kernel.errors import SchedlabError

_BROKEN_PIPE: Final = 141
#: Verbs, the functions behind them and what they are for.
_VERBS: Final = (
    ("up", "schedlab.cli.up:up", "Start a simulated cluster: API server, scheduler, controllers, kubelets."),
    (
        "simulator",
        "schedlab.cli.simulator:simulator",
        "Start a cluster from kube-scheduler-simulator's configuration file.",
    ),
    ("apiserver", "schedlab.cli.apiserver:apiserver", "Start an API server alone."),
    ("scheduler", "schedlab.cli.scheduler:scheduler", "Run the scheduler alone, on any API server."),
    (
        "import",
        "schedlab.cli.import_cluster:import_cluster",
        "Bring a real cluster, or dumps and manifests, into the simulated one.",
    ),
    ("sync", "schedlab.cli.sync:sync", "Follow a real cluster, and compare where pods go."),
    ("record", "schedlab.cli.record:record", "Write down what happens in a cluster."),
    ("replay", "schedlab.cli.replay:replay", "Play a record into the simulated cluster."),
    ("snapshot", "schedlab.cli.snapshot:snapshot", "Save the cluster to a file, load one, or go back to the start."),
    (
        "minimize",
        "schedlab.cli.minimize:minimize",
        "Find the smallest part of a snapshot in which a pod's fate is the same.",
    ),
    ("shadow", "schedlab.cli.shadow:shadow", "Tell what other configurations would have decided."),
    ("ui", "schedlab.cli.ui:ui", "Print a link that opens the web UI."),
    ("down", "schedlab.cli.down:down", "Stop the simulator."),
    ("status", "schedlab.cli.status:status", "Tell whether the simulator runs, and what it holds."),
    ("explain", "schedlab.cli.explain:explain", "Tell why a pod is where it is, and what would help it."),
    ("trace", "schedlab.cli.trace:trace", "Tell the whole way of a pod, with times."),
    ("what-if", "schedlab.cli.what_if:what_if", "Try changes on a fork: which pods move, and why."),
    ("pending", "schedlab.cli.pending:pending", "List the pods that wait by their reasons, with the cheapest fix."),
    ("fit", "schedlab.cli.fit:fit", "Tell how many of a pod fit, and what stops the next one."),
    ("plan", "schedlab.cli.plan:plan", "Plan nodes for a workload, and the emptying of nodes."),
    ("bound", "schedlab.cli.bound:bound", "Tell how far the placement is from what any scheduler could do."),
    ("why-not-full", "schedlab.cli.why_not_full:why_not_full", "Tell what keeps free capacity from being used."),
    ("decisions", "schedlab.cli.decisions:decisions", "List, filter and export what was decided."),
    ("env", "schedlab.cli.env:env", "Print the shell line that points kubectl at the simulator."),
    ("run", "schedlab.cli.run:run", "Run a scenario, and tell what came out."),
    ("test", "schedlab.cli.decision_tests:run_tests", "Run scenario files as tests of decisions."),
    ("import-trace", "schedlab.cli.import_trace:import_trace", "Make a scenario of a published trace."),
    ("compare", "schedlab.cli.compare:compare", "Run a scenario under several scheduler configurations."),
    ("sweep", "schedlab.cli.sweep:sweep", "Run a scenario over configurations, parameters and seeds."),
    ("tune", "schedlab.cli.tune:tune", "Search a scheduler configuration for a scenario."),
    ("bench", "schedlab.cli.bench:bench", "Measure scheduling with kube-scheduler's own workloads."),
)

app = App(
    name="schedlab",
    help="A simulated Kubernetes cluster for understanding and testing scheduling.",
    version=f"schedlab {__version__}",
)
# Imported when asked for: `schedlab explain` must not wait for the server's imports.
for name, function, purpose in _VERBS:
    app.command(function, name=name, help=purpose)
node = App(name="node", help="Add nodes to the running cluster, let them fail and recover, drain and remove them.")
for name, function, purpose in (
    ("add", "schedlab.cli.node.add:add", "Add nodes."),
    ("fail", "schedlab.cli.node.fail:fail", "Let nodes fail."),
    ("recover", "schedlab.cli.node.fail:recover", "Let failed nodes live again."),
    ("drain", "schedlab.cli.node.drain:drain", "Drain nodes as kubectl does."),
    ("remove", "schedlab.cli.node.remove:remove", "Remove nodes."),
):
    node.command(function, name=name, help=purpose)
app.command(node)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and exit: 0 done, 1 a server said no, 2 the input cannot be used, 130 interrupted.

    141: who read the output has left, as a closed pipe ends other programs.
    """
    sys.exit(_run(arguments))


def _run(arguments: Sequence[str] | None) -> int:
    try:
        result = app(arguments, exit_on_error=False, print_error=False, result_action="return_value")
    except CycloptsError as error:
        print(f"error: {_one_line(error)}", file=sys.stderr)
        print("hint: schedlab --help lists the commands, schedlab COMMAND --help their options", file=sys.stderr)
        return 2
    except SchedlabError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        # Nobody is to try again to write what is left.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return _BROKEN_PIPE
    return result if isinstance(result, int) else 0


def _one_line(error: CycloptsError) -> str:
    return " ".join(str(error).split())
