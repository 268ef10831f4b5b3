"""WebAssembly guests at every extension point: what they answer is what the scheduler does."""

from __future__ import annotations

import json
from typing import Any

import pytest

from schedlab.scheduler.config import ConfigError
from schedlab.scheduler.framework.events import ActionType, EventResource
from schedlab.scheduler.wasm import wasm_entry
from schedlab.testing import check_plugin
from schedlab.testing.builders import make_node, make_pod
from tests.unit.scheduler.fake_cluster import BASIC_PLUGINS, FakeCluster, configuration, profile
from tests.unit.scheduler.wasm.guests import LABEL_FILTER, cluster_of, echo, entry, function, wat

REASON = '(import "k8s.io/scheduler" "result.status_reason" (func $reason (param i32 i32)))'
OK = "(i32.const 0)"


def said(message: str, prefix: str) -> str:
    """What a guest gave as the reason of an error."""
    assert message.startswith(prefix), message
    return message.removeprefix(prefix)


class TestPlacement:
    def test_guest_reads_a_label_of_the_node_and_decides(self) -> None:
        cluster = cluster_of(LABEL_FILTER)

        assert cluster.schedule(make_pod("p")) == ["n2"]

    def test_reason_of_the_guest_is_what_users_read(self) -> None:
        cluster = cluster_of(LABEL_FILTER)
        cluster.change("nodes", "n2", lambda node: node["metadata"]["labels"].update(disk="tape"))

        cluster.add(make_pod("p"))
        cluster.run()

        assert cluster.condition("p").message == "0/2 nodes are available: 2 node(s) without an ssd."

    def test_changed_node_is_read_anew(self) -> None:
        cluster = cluster_of(LABEL_FILTER)
        assert cluster.schedule(make_pod("p")) == ["n2"]

        cluster.change("nodes", "n1", lambda node: node["metadata"]["labels"].update(disk="ssd"))
        cluster.change("nodes", "n2", lambda node: node["metadata"]["labels"].update(disk="hdd"))

        assert cluster.schedule(make_pod("q")) == ["n1"]

    def test_guest_keeps_the_contract_of_plugins(self) -> None:
        check_plugin(entry(LABEL_FILTER), args={"guestURL": "file:///x"})

    def test_pre_filter_leaves_nodes_by_name(self) -> None:
        names = wat(
            function("prefilter", "i32", f"(call $names (i32.const 0) (i32.const 6)) {OK}"),
            function("filter", "i32", OK),
            imports='(import "k8s.io/scheduler" "result.node_names" (func $names (param i32 i32)))',
            data='(data (i32.const 0) "n2\\00n9\\00")',
        )
        cluster = cluster_of(names)

        assert cluster.schedule(make_pod("p")) == ["n2"]
        assert cluster.observer.cycles[0].pre_filter_nodes == {"Guest": ("n2", "n9")}

    def test_score_stands_in_the_upper_half(self) -> None:
        by_length = wat(
            function(
                "score",
                "i64",
                "(i64.shl (i64.extend_i32_u (call $name (i32.const 0) (i32.const 9))) (i64.const 32))",
            ),
            imports='(import "k8s.io/scheduler" "currentNodeName" (func $name (param i32 i32) (result i32)))',
        )
        cluster = cluster_of(by_length)
        cluster.add(make_node("n-long").capacity(cpu="4", pods="9"))

        assert cluster.schedule(make_pod("p")) == ["n-long"]
        score = cluster.observer.cycles[0].score
        assert score is not None
        assert score.raw[score.plugins.index("Guest")].tolist() == [2, 2, 6]

    def test_normalised_scores_are_matched_by_name(self) -> None:
        swap = wat(
            function("score", "i64", "(i64.const 0)"),
            function("normalizescore", "i32", f"(call $scores (i32.const 0) (i32.const 16)) {OK}"),
            imports='(import "k8s.io/scheduler" "result.normalized_score_list" (func $scores (param i32 i32)))',
            data='(data (i32.const 0) "{\\"n2\\":90,\\"n1\\":5}")',
        )

        assert cluster_of(swap).schedule(make_pod("p")) == ["n2"]

    def test_guest_that_does_not_normalise_leaves_the_scores(self) -> None:
        silent = wat(function("score", "i64", "(i64.const 30064771072)"), function("normalizescore", "i32", OK))
        cluster = cluster_of(silent)

        cluster.schedule(make_pod("p"))

        score = cluster.observer.cycles[0].score
        assert score is not None
        assert score.final[score.plugins.index("Guest")].tolist() == [7, 7]

    def test_permit_waits_for_milliseconds(self) -> None:
        wait = wat(function("permit", "i64", "(i64.or (i64.shl (i64.const 4) (i64.const 32)) (i64.const 2500))"))
        cluster = cluster_of(wait)

        cluster.add(make_pod("p"))
        cluster.run()

        assert cluster.observer.cycles[0].permit["Guest"][1] == 2_500_000_000
        cluster.advance(3)
        assert "timeout" in cluster.condition("p").message

    def test_post_filter_nominates_a_node(self) -> None:
        nominate = wat(
            function("filter", "i32", "(i32.const 2)"),
            function("postfilter", "i64", "(call $name (i32.const 0) (i32.const 2)) (i64.shl (i64.const 1) (i64.const 32))"),
            imports='(import "k8s.io/scheduler" "result.nominated_node_name" (func $name (param i32 i32)))',
            data='(data (i32.const 0) "n2")',
        )  # fmt: skip
        cluster = cluster_of(nominate)

        cluster.add(make_pod("p"))
        cluster.run()

        assert cluster.observer.cycles[0].post_filter == {"Guest": (None, "n2", True)}
        assert cluster.pod("p").status.nominated_node_name == "n2"

    def test_bind_that_skips_leaves_the_pod_to_the_next_plugin(self) -> None:
        cluster = cluster_of(wat(function("bind", "i32", "(i32.const 5)")), first=True)

        assert cluster.schedule(make_pod("p")) == ["n1"]
        assert list(cluster.observer.bindings[0].bind) == ["Guest", "DefaultBinder"]


class TestWhatGuestsAreTold:
    """A guest that gives back what it was told, as the reason of an error."""

    def told(self, guest: str, prefix: str, **options: Any) -> str:
        cluster = cluster_of(guest, **options)
        cluster.add(make_pod("p").label("app", "web").req(cpu="1"))
        cluster.run()
        return said(cluster.condition("p").message, prefix)

    def test_configuration(self) -> None:
        guest = echo("prefilter", "k8s.io/scheduler", "get_config", function("filter", "i32", OK))

        text = self.told(guest, 'running PreFilter plugin "Guest": ', guestConfig='{"reverse": true}')

        assert json.loads(text) == {"reverse": True}

    def test_name_of_the_node(self) -> None:
        guest = echo("filter", "k8s.io/scheduler", "currentNodeName")

        assert self.told(guest, 'running "Guest" filter plugin: ') == "n1"

    def test_feasible_nodes(self) -> None:
        guest = echo("prescore", "k8s.io/scheduler", "filteredNodeList", function("score", "i64", "(i64.const 0)"))

        assert self.told(guest, 'running PreScore plugin "Guest": ') == '["n1","n2"]'

    def test_scores_to_be_normalised(self) -> None:
        guest = echo(
            "normalizescore", "k8s.io/scheduler", "nodeScoreList", function("score", "i64", "(i64.const 4294967296)")
        )

        text = self.told(guest, 'running Normalize on Score plugins: plugin "Guest" failed with: ')
        assert json.loads(text) == {"n1": 1, "n2": 1}

    def test_statuses_of_nodes(self) -> None:
        guest = echo(
            "postfilter",
            "k8s.io/scheduler",
            "nodeToStatusMap",
            function("filter", "i32", "(i32.const 3)"),
            result="i64",
        )
        cluster = cluster_of(guest)

        cluster.add(make_pod("p"))
        cluster.run()

        status, *_ = cluster.observer.cycles[0].post_filter["Guest"]
        assert status is not None
        assert json.loads(status.message) == {"n1": 3, "n2": 3}

    def test_buffer_that_is_too_small_is_left_alone_and_its_size_told(self) -> None:
        guest = wat(
            function(
                "filter",
                "i32",
                "(drop (call $ask (i32.const 0) (i32.const 1))) "
                "(if (i32.ne (i32.load8_u (i32.const 0)) (i32.const 120)) (then unreachable)) "
                "(if (i32.ne (call $ask (i32.const 0) (i32.const 1)) (i32.const 2)) (then unreachable)) (i32.const 0)",
            ),
            imports='(import "k8s.io/scheduler" "currentNodeName" (func $ask (param i32 i32) (result i32)))',
            data='(data (i32.const 0) "x")',
        )

        assert cluster_of(guest).schedule(make_pod("p")) == ["n1"]


TRAP = "unreachable"
SLOTS = {
    "prefilter": ('running PreFilter plugin "Guest": ', "i32", (function("filter", "i32", OK),)),
    "filter": ('running "Guest" filter plugin: ', "i32", ()),
    "prescore": ('running PreScore plugin "Guest": ', "i32", (function("score", "i64", "(i64.const 0)"),)),
    "score": ('running Score plugins: plugin "Guest" failed with: ', "i64", ()),
    "normalizescore": (
        'running Normalize on Score plugins: plugin "Guest" failed with: ',
        "i32",
        (function("score", "i64", "(i64.const 0)"),),
    ),
    "reserve": ('running Reserve plugin "Guest": ', "i32", ()),
    "permit": ('running Permit plugin "Guest": ', "i64", ()),
    "prebind": ('running PreBind plugin "Guest": ', "i32", (function("permit", "i64", "(i64.const 0)"),)),
    "bind": ('running Bind plugin "Guest": ', "i32", ()),
}


@pytest.mark.parametrize("export", SLOTS)
def test_guest_that_traps_fails_the_pod(export: str) -> None:
    prefix, result, others = SLOTS[export]
    cluster = cluster_of(wat(function(export, result, TRAP), *others), first=True)

    cluster.add(make_pod("p"))
    cluster.run()

    message = said(cluster.condition("p").message, prefix)
    assert message.startswith(f"wasm: {export} error: ")
    assert "unreachable" in message
    assert "\n" not in message


@pytest.mark.parametrize(
    ("export", "others", "what"),
    [
        ("unreserve", (function("reserve", "i32", "(i32.const 2)"),), "running Unreserve plugin"),
        ("postbind", (function("permit", "i64", "(i64.const 0)"),), "running PostBind plugin"),
    ],
)
def test_trap_where_nothing_can_be_turned_down_is_an_event(export: str, others: tuple[str, ...], what: str) -> None:
    cluster = cluster_of(wat(function(export, "", TRAP), *others))

    cluster.add(make_pod("p"))
    cluster.run()

    [note, *_] = cluster.notes("PluginFailed")
    assert note.startswith(f'{what} "Guest": GuestError: wasm: {export} error: ')


def test_post_filter_that_traps_is_told() -> None:
    cluster = cluster_of(wat(function("filter", "i32", "(i32.const 2)"), function("postfilter", "i64", TRAP)))

    cluster.add(make_pod("p"))
    cluster.run()

    assert "wasm: postfilter error: " in cluster.condition("p").message


def test_instance_that_trapped_is_not_used_again() -> None:
    """The guest traps on its second call; a new instance begins to count anew."""
    guest = wat(
        "(global $calls (mut i32) (i32.const 0))",
        function(
            "reserve",
            "i32",
            "(global.set $calls (i32.add (global.get $calls) (i32.const 1))) "
            "(if (i32.gt_u (global.get $calls) (i32.const 1)) (then unreachable)) (i32.const 0)",
        ),
    )
    cluster = cluster_of(guest)

    assert cluster.schedule(make_pod("a")) == ["n1"]
    cluster.add(make_pod("b"))
    cluster.run()
    cluster.advance(5)

    assert cluster.nodes_of("b") == ["n2"]
    assert any("wasm: reserve error" in note for note in cluster.notes("FailedScheduling"))


def test_pod_keeps_its_instance_while_others_are_scheduled() -> None:
    """What a guest remembers of a pod is still there when the pod is bound after a wait in permit."""
    name = '(import "k8s.io/scheduler" "currentPod" (func $pod (param i32 i32) (result i32)))'
    size = "(call $pod (i32.const 0) (i32.const 60000))"
    guest = wat(
        "(global $size (mut i32) (i32.const 0))",
        function("prefilter", "i32", f"(global.set $size {size}) (i32.const 0)"),
        function("permit", "i64", "(i64.or (i64.shl (i64.const 4) (i64.const 32)) (i64.const 9000))"),
        function("prebind", "i32", f"(if (i32.ge_u (global.get $size) {size}) (then unreachable)) (i32.const 0)"),
        imports=name,
    )
    cluster = cluster_of(guest)
    cluster.add(make_pod("first"), make_pod("second-with-a-longer-name"))
    cluster.run()

    for waiting in cluster.scheduler.profiles["default-scheduler"].waiting_pods():
        waiting.allow("Guest")
    cluster.run()

    # In prebind the pod has its node's name and is longer than what prefilter saw, whoever came between.
    assert all(cluster.nodes_of("first", "second-with-a-longer-name"))


class TestQueue:
    def registered(self, *pairs: tuple[int, int]) -> list[tuple[EventResource, ActionType]]:
        data = "".join(f"\\{byte:02x}" for pair in pairs for word in pair for byte in word.to_bytes(4, "little"))
        guest = wat(
            function("enqueue", "", f"(call $events (i32.const 0) (i32.const {8 * len(pairs)}))"),
            function("filter", "i32", OK),
            imports='(import "k8s.io/scheduler" "result.cluster_events" (func $events (param i32 i32)))',
            data=f'(data (i32.const 0) "{data}")' if data else "",
        )
        plugin: Any = cluster_of(guest).scheduler.profiles["default-scheduler"].plugin("Guest")
        return [(each.event.resource, each.event.action) for each in plugin.events_to_register()]

    def test_events_of_the_guest(self) -> None:
        assert self.registered((1, 1), (0, 2), (1, 8), (6, 1), (10, 63)) == [
            (EventResource.NODE, ActionType.ADD),
            (EventResource.POD, ActionType.DELETE),
            (EventResource.NODE, ActionType.UPDATE_NODE_LABEL),
            (EventResource.STORAGE_CLASS, ActionType.ADD),
            (EventResource.WILDCARD, ActionType.ALL),
        ]

    def test_every_update_of_the_guest_is_every_update_here(self) -> None:
        assert self.registered((0, 60)) == [(EventResource.POD, ActionType.UPDATE)]

    def test_what_is_gone_from_kubernetes_is_left_out(self) -> None:
        assert self.registered((4, 1), (99, 1), (1, 1)) == [(EventResource.NODE, ActionType.ADD)]

    def test_guest_that_names_none_hears_of_what_upstream_chose(self) -> None:
        assert (EventResource.CSI_NODE, ActionType.ALL) in self.registered()


class TestRefusals:
    @pytest.mark.parametrize(
        ("guest", "words"),
        [
            ("(module)", "wasm: guest doesn't export memory[memory]"),
            (wat(), "wasm: guest does not export any plugin functions"),
            (wat(function("prescore", "i32", OK)), "wasm: filter, score, reserve, permit or bind must be exported"),
            (
                wat(function("filter", "i64", "(i64.const 0)")),
                "wrong signature for func[filter]. should be () -> (i32)",
            ),
            (wat(function("score", "i32", OK)), "wrong signature for func[score]. should be () -> (i64)"),
            (wat('(func (export "filter") (param i32) (result i32) (i32.const 0))'), "should be () -> (i32)"),
            (
                wat(function("filter", "i32", OK), imports='(import "env" "abort" (func))'),
                "wasm: guest imports env.abort, which the scheduler does not offer",
            ),
            (
                wat(function("filter", "i32", OK), imports='(import "k8s.io/scheduler" "secrets" (func))'),
                "wasm: guest imports k8s.io/scheduler.secrets, which the scheduler does not offer",
            ),
            (wat(function("filter", "i32", OK), function("_start", "", TRAP)), "wasm: instantiate error: "),
        ],
    )
    def test_guest_that_cannot_be_used_is_refused_before_anything_starts(self, guest: str, words: str) -> None:
        with pytest.raises(ConfigError) as caught:
            cluster_of(guest)

        assert 'initializing plugin "Guest": wasm: ' in caught.value.message
        assert words in caught.value.message

    def test_code_that_is_none(self) -> None:
        config = profile(*BASIC_PLUGINS, "Guest", pluginConfig=[{"name": "Guest", "args": {"guestURL": "file://x"}}])
        with pytest.raises(ConfigError, match="wasm: error compiling guest: "):
            FakeCluster(configuration(config), registry={"Guest": wasm_entry("Guest", lambda _url: b"not wasm")})

    @pytest.mark.parametrize(("code", "words"), [(9, "the unknown status code 9"), (1, "guest returned an error")])
    def test_answers_that_mean_nothing(self, code: int, words: str) -> None:
        cluster = cluster_of(wat(function("filter", "i32", f"(i32.const {code})")))

        cluster.add(make_pod("p"))
        cluster.run()

        assert words in cluster.condition("p").message

    @pytest.mark.parametrize(
        ("scores", "words"),
        [
            ('{\\"n1\\":1}', "size mismatch: scores has 2 elements, but updatedScores has 1 elements"),
            ("[1,2]", "the normalized score list is no JSON object of whole numbers"),
            ("{", "invalid JSON"),
        ],
    )
    def test_normalised_scores_that_do_not_fit(self, scores: str, words: str) -> None:
        size = len(scores.replace("\\", ""))
        guest = wat(
            function("score", "i64", "(i64.const 0)"),
            function("normalizescore", "i32", f"(call $scores (i32.const 0) (i32.const {size})) {OK}"),
            imports='(import "k8s.io/scheduler" "result.normalized_score_list" (func $scores (param i32 i32)))',
            data=f'(data (i32.const 0) "{scores}")',
        )
        cluster = cluster_of(guest)

        cluster.add(make_pod("p"))
        cluster.run()

        assert words in cluster.condition("p").message

    def test_buffer_outside_of_the_memory(self) -> None:
        guest = wat(
            function("filter", "i32", f"(drop (call $ask (i32.const 65535) (i32.const 9))) {OK}"),
            imports='(import "k8s.io/scheduler" "currentNodeName" (func $ask (param i32 i32) (result i32)))',
        )
        cluster = cluster_of(guest)

        cluster.add(make_pod("p"))
        cluster.run()

        assert "wasm: filter error: out of memory" in cluster.condition("p").message


def test_add_pod_and_remove_pod_see_the_other_pod() -> None:
    """The guest lets a pod onto a node only when it was told of a pod that went."""
    guest = wat(
        "(global $gone (mut i32) (i32.const 0))",
        function("prefilter", "i32", "(global.set $gone (i32.const 0)) (i32.const 0)"),
        function("removepod", "i32", "(global.set $gone (call $target (i32.const 0) (i32.const 60000))) (i32.const 0)"),
        function("addpod", "i32", "(global.set $gone (i32.const 0)) (i32.const 0)"),
        function("filter", "i32", "(select (i32.const 0) (i32.const 2) (global.get $gone))"),
        imports='(import "k8s.io/scheduler" "targetPod" (func $target (param i32 i32) (result i32)))',
    )
    cluster = cluster_of(guest, plugins=(*BASIC_PLUGINS, "DefaultPreemption"))
    cluster.add(make_pod("low").node("n2").priority(1))

    cluster.add(make_pod("high").priority(9))
    cluster.run()

    preemption = cluster.observer.cycles[0].preemption
    assert preemption is not None
    assert [(each.node, each.victims) for each in preemption.candidates] == [("n2", ("default/low",))]


def test_waiting_pod_can_be_rejected_by_a_guest() -> None:
    """Every pod waits for long; a pod called `x` rejects the first one, by its uid."""
    guest = wat(
        function("permit", "i64", "(i64.or (i64.shl (i64.const 4) (i64.const 32)) (i64.const 90000))"),
        function(
            "reserve",
            "i32",
            "(call $reject (i32.const 0) (i32.const 13) (i32.const 64) (i32.const 8)) (i32.const 0)",
        ),
        imports='(import "k8s.io/scheduler" "handle.reject_waiting_pod" (func $reject (param i32 i32 i32 i32)))',
        data='(data (i32.const 0) "uid-default/a")',
    )
    cluster = cluster_of(guest)
    cluster.add(make_pod("a"))
    cluster.run()
    assert len(cluster.scheduler.profiles["default-scheduler"].waiting_pods()) == 1

    cluster.add(make_pod("x"))
    cluster.run()

    assert "removed" in cluster.condition("a").message
