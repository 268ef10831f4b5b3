"""A real etcd gives back what was acknowledged; other writers, lost answers and refusals are told apart."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from schedlab.api.object import WatchEvent
from schedlab.apiserver.certificates import ensure_certificates
from schedlab.backends import EtcdPlace, EtcdTLS, etcd_claim, etcd_client, read_servers
from schedlab.backends import etcd as etcd_module
from schedlab.backends.etcd_marker import Marker
from schedlab.kernel.errors import SchedlabError
from tests.support.etcd import Etcd, free_ports
from tests.unit.backends.folders import Opened

Open = Callable[[], Opened]


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Etcd]:
    """One etcd for all tests that leave it as it is; each has a prefix of its own."""
    with Etcd(tmp_path_factory.mktemp("etcd")) as etcd:
        yield etcd


@pytest.fixture
def prefix(request: pytest.FixtureRequest) -> str:
    return f"/{request.node.name}"


@pytest.fixture
def opening() -> Iterator[Callable[[EtcdPlace], Opened]]:
    """Open a place after closing the one before."""
    made: list[Opened] = []

    def open_place(place: EtcdPlace) -> Opened:
        for each in made:
            each.close()
        made.clear()
        made.append(Opened(place))
        return made[0]

    yield open_place
    for each in made:
        each.close()


@pytest.fixture
def opened(shared: Etcd, prefix: str, opening: Callable[[EtcdPlace], Opened]) -> Open:
    return lambda: opening(EtcdPlace((shared.url,), prefix))


@pytest.fixture
def own(tmp_path: Path) -> Iterator[Etcd]:
    """An etcd that the test may harm."""
    with Etcd(tmp_path) as etcd:
        yield etcd


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wait for etcd as long as tests can."""
    monkeypatch.setattr(etcd_client, "ANSWER_S", 0.3)
    monkeypatch.setattr(etcd_client.EtcdClient.call, "__kwdefaults__", {"patience_s": 0.5})
    monkeypatch.setattr(etcd_module, "_IN_DOUBT_S", 1.0)


def test_objects_and_the_counter_come_back(opened: Open) -> None:
    """Also the revision of a deletion is not given again."""
    before = opened()
    for name in "abc":
        before.put(name)
    before.put("b", "2")
    before.put("n", resource="nodes")
    before.drop("c")
    before.settle()
    expected, revision = before.state(), before.store.revision
    after = opened()

    assert after.state() == expected
    assert sorted(expected) == ["nodes d/n", "pods d/a", "pods d/b"]
    assert after.store.revision == revision
    assert after.put("e").revision == revision + 1


def test_keys_are_kube_apiservers_and_values_json(opened: Open, shared: Etcd, prefix: str) -> None:
    """Whoever looks into etcd finds the object, with its revision, when its writer has heard of it."""
    store = opened()
    store.put("a", "1")
    store.put("n", resource="nodes")
    store.settle()
    pairs = shared.pairs(prefix)
    value = json.loads(pairs[f"{prefix}/pods/d/a"])

    assert f"{prefix}/minions/d/n" in pairs
    assert value == {
        "kind": "Pod",
        "apiVersion": "v1",
        "metadata": {"resourceVersion": "2", "name": "a", "namespace": "d", "uid": "u-a"},
        "value": "1",
    }


def test_watches_go_on_behind_a_restart(opened: Open) -> None:
    """Etcd tells of the changes with what they replaced, so a client that was away misses nothing."""
    before = opened()
    seen: list[WatchEvent] = []
    before.store.watch("pods", 1, seen.append)
    before.put("a")
    before.put("b")
    before.put("a", "2")
    before.drop("a")
    before.put("a", "3")
    before.settle()
    replayed: list[WatchEvent] = []
    opened().store.watch("pods", 1, replayed.append)

    def facts(events: list[WatchEvent]) -> list[tuple[str, bytes, int | None]]:
        return [
            (event.type, event.object.json(), event.previous.revision if event.previous else None) for event in events
        ]

    assert facts(replayed) == facts(seen)
    assert len(seen) == 5


def test_many_changes_go_together(opened: Open) -> None:
    """More than etcd takes at once, one key more than once, more bytes than one request may have."""
    store = opened()
    for number in range(300):
        store.put(f"p{number}")
        store.put("hot", str(number))
    for number in range(6):
        store.put(f"large{number}", "x" * 1_000_000)
    store.settle()
    expected = store.state()
    writes = len(store.backend._writes)

    assert opened().state() == expected
    assert 8 <= writes < 606


def test_pages_are_larger_than_grpc_takes_by_itself(opened: Open) -> None:
    store = opened()
    for number in range(8):
        store.put(f"large{number}", "x" * 1_400_000)
    store.settle()
    expected = store.state()

    assert opened().state() == expected


def test_compaction_forgets_changes_but_no_object(own: Etcd, opening: Callable[[EtcdPlace], Opened]) -> None:
    """Etcd no longer has what was replaced; watches begin where the compaction has left them."""
    place = EtcdPlace((own.url,))
    store = opening(place)
    for number in range(5):
        store.put("a", str(number))
        store.settle()
    store.put("b")
    store.settle()
    store.store.compact(5)
    store.put("c")
    store.settle()
    expected = store.state()
    after = opening(place)
    replayed: list[WatchEvent] = []
    after.store.watch("pods", 5, replayed.append)

    assert after.state() == expected
    assert after.store.compacted_revision == 5
    assert [(event.type, event.revision) for event in replayed] == [("MODIFIED", 6), ("ADDED", 7), ("ADDED", 8)]
    with pytest.raises(etcd_client.EtcdRefusedError, match="has been compacted"):
        own.call("KV", "Range", key=b"/registry/pods/d/a", revision=3)


def test_compaction_goes_on_behind_a_restart(own: Etcd, opening: Callable[[EtcdPlace], Opened]) -> None:
    """What was written before it is forgotten up to the revision that is asked for, no further."""
    place = EtcdPlace((own.url,))
    store = opening(place)
    for number in range(5):
        store.put("a", str(number))
        store.settle()
    again = opening(place)
    again.store.compact(4)
    again.put("b")
    again.settle()
    after = opening(place)

    assert after.store.compacted_revision == 4
    assert sorted(after.state()) == ["pods d/a", "pods d/b"]


def test_everything_can_be_compacted(own: Etcd, opening: Callable[[EtcdPlace], Opened]) -> None:
    """Also by etcd itself, up to its newest revision."""
    place = EtcdPlace((own.url,))
    store = opening(place)
    store.put("a")
    store.settle()
    expected = store.state()
    store.close()
    newest = own.call("KV", "Range", key=b"a").header.revision
    own.call("KV", "Compact", revision=newest)
    own_store = opening(place)

    assert own_store.state() == expected
    assert own_store.put("b").revision == 3


# --- Other writers ----------------------------------------------------------------------------------------------------


def test_foreign_change_is_noticed_by_the_next_write(opened: Open, shared: Etcd, prefix: str) -> None:
    """The cluster does not go on beside a program that changes it, and says what was changed."""
    store = opened()
    store.put("a")
    store.settle()
    shared.call("KV", "Put", key=f"{prefix}/pods/d/foreign".encode(), value=b"{}")
    told = store.told("b")

    assert f"another program has changed {prefix}/pods/d/foreign" in str(told)
    assert store.broken == [told]
    assert sorted(store.state()) == ["pods d/a"]


def test_foreign_change_is_noticed_at_the_start(opened: Open, shared: Etcd, prefix: str) -> None:
    """A deletion, too, which leaves nothing to be seen."""
    store = opened()
    store.put("a")
    store.settle()
    store.close()
    shared.call("KV", "DeleteRange", key=f"{prefix}/pods/d/a".encode())

    with pytest.raises(SchedlabError, match=r"another program has changed .*/pods/d/a"):
        opened()


def test_what_others_write_elsewhere_does_not_matter(opened: Open, shared: Etcd) -> None:
    store = opened()
    store.put("a")
    store.settle()
    shared.call("KV", "Put", key=b"/elsewhere", value=b"x")

    assert store.told("b") is None
    assert sorted(opened().state()) == ["pods d/a", "pods d/b"]


@pytest.mark.parametrize("value", [b"k8s\0\n\x0c", b"{}", b'{"metadata":{"resourceVersion":"99"}}', b"[]"])
def test_etcd_of_another_program_is_refused(value: bytes, shared: Etcd, opening: Callable[[EtcdPlace], Opened]) -> None:
    """An etcd of kube-apiserver is left as it is; so is one in which a value was put in the place of ours."""
    prefix = f"/foreign-{value.hex()}"
    shared.call("KV", "Put", key=f"{prefix}/pods/d/a".encode(), value=value)
    place = EtcdPlace((shared.url,), prefix)
    with pytest.raises(SchedlabError, match=r"etcd holds what schedlab did not write, .*/pods/d/a among it"):
        opening(place)
    assert list(shared.pairs(prefix)) == [f"{prefix}/pods/d/a"]

    shared.call("KV", "Put", key=f"{prefix}/schedlab/cluster".encode(), value=Marker(5, "w").encode())
    with pytest.raises(SchedlabError, match="/pods/d/a does not hold what schedlab writes there"):
        opening(place)


@pytest.mark.parametrize(
    ("marker", "words"), [(b"x", "does not hold what schedlab writes"), (Marker(5, "w", 99).encode(), "version 99")]
)
def test_unknown_marker_is_refused(
    marker: bytes, words: str, shared: Etcd, opening: Callable[[EtcdPlace], Opened]
) -> None:
    shared.call("KV", "Put", key=b"/marked/schedlab/cluster", value=marker)

    with pytest.raises(SchedlabError, match=words):
        opening(EtcdPlace((shared.url,), "/marked"))


def test_second_server_is_refused(opened: Open, shared: Etcd, prefix: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """While the first one runs, however long that is; it is told who runs."""
    opened()
    monkeypatch.setattr(etcd_claim, "PATIENCE_S", etcd_claim.TTL_S + 1)

    with pytest.raises(SchedlabError, match=r"/schedlab/writer says that process .* on .* uses it") as caught:
        Opened(EtcdPlace((shared.url,), prefix))
    assert "--etcd-prefix" in caught.value.hint


def test_claim_of_a_killed_server_ends(opened: Open, shared: Etcd, prefix: str) -> None:
    """The next one waits for the lease to end and goes on."""
    lease = shared.call("Lease", "LeaseGrant", TTL=2).ID
    shared.call("KV", "Put", key=f"{prefix}/schedlab/writer".encode(), value=b"{}", lease=lease)

    assert opened().told("a") is None


def test_lost_claim_is_taken_again(opened: Open, shared: Etcd, prefix: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that could not keep its lease, because it stood still, takes a new one."""
    monkeypatch.setattr(etcd_claim, "_RENEW_S", 0.1)
    store = opened()
    shared.call("KV", "DeleteRange", key=f"{prefix}/schedlab/writer".encode())
    shared.call("Lease", "LeaseRevoke", ID=store.backend._claim._lease)
    for _ in range(100):
        if f"{prefix}/schedlab/writer" in shared.pairs(prefix):
            break
        time.sleep(0.05)

    assert f"{prefix}/schedlab/writer" in shared.pairs(prefix)
    assert store.told("a") is None


def test_writer_that_was_followed_stops(opened: Open, shared: Etcd, prefix: str) -> None:
    """Whatever has happened to its lease: nothing is written beside another writer."""
    store = opened()
    store.put("a")
    store.settle()
    shared.call("KV", "Put", key=f"{prefix}/schedlab/cluster".encode(), value=Marker(2, "other").encode())
    told = store.told("b")

    assert "another schedlab has taken over" in str(told)
    assert store.broken == [told]
    assert f"{prefix}/pods/d/b" not in shared.pairs(prefix)


# --- Faults -----------------------------------------------------------------------------------------------------------


def test_etcd_that_is_not_there_is_told_at_the_start(impatient: None) -> None:
    [port] = free_ports(1)

    with pytest.raises(SchedlabError, match=f"etcd at http://127.0.0.1:{port} does not answer: failed to connect"):
        Opened(EtcdPlace((f"http://127.0.0.1:{port}",)))


def test_another_member_is_asked(opened: Open, shared: Etcd, prefix: str) -> None:
    [port] = free_ports(1)
    store = Opened(EtcdPlace((f"http://127.0.0.1:{port}", shared.url), prefix))
    told = store.told("a")
    store.close()

    assert told is None


def test_writes_are_taken_back_while_etcd_is_away(
    own: Etcd, impatient: None, opening: Callable[[EtcdPlace], Opened]
) -> None:
    """What etcd was never handed is told to its writer; when etcd is back, the cluster goes on."""
    place = EtcdPlace((own.url,))
    store = opening(place)
    store.put("a")
    store.settle()
    own.kill()
    time.sleep(0.5)  # until the connection is known to be gone: before, a write may be in its hands
    told = [store.told("b")]
    own.start()
    told += [store.told("c")]

    assert "does not answer: failed to connect" in str(told[0])
    assert told[1] is None
    assert store.broken == []
    assert sorted(opening(place).state()) == ["pods d/a", "pods d/c"]


def test_lost_answers_write_nothing_twice(
    own: Etcd, impatient: None, opening: Callable[[EtcdPlace], Opened], monkeypatch: pytest.MonkeyPatch
) -> None:
    """An etcd stands still with a write in its hands and answers too late: the write is there once."""
    monkeypatch.setattr(etcd_module, "_IN_DOUBT_S", 30.0)
    place = EtcdPlace((own.url,))
    store = opening(place)
    store.put("a")
    store.settle()
    own.pause()
    store.put("b")
    answers: list[Exception | None] = []
    store.store.when_durable(store.store.revision, answers.append)
    time.sleep(1.0)
    own.go_on()
    while not answers:
        store.mailbox.run()

    assert answers == [None]
    assert store.told("c") is None
    assert sorted(opening(place).state()) == ["pods d/a", "pods d/b", "pods d/c"]


def test_write_that_stays_in_doubt_ends_the_writing(
    own: Etcd, impatient: None, opening: Callable[[EtcdPlace], Opened]
) -> None:
    """It may be there or not: nothing is built on it."""
    store = opening(EtcdPlace((own.url,)))
    store.put("a")
    store.settle()
    own.pause()
    told = store.told("b")
    own.go_on()

    assert "does not answer" in str(told)
    assert store.broken == [told]


def test_object_that_etcd_refuses_is_taken_back(opened: Open) -> None:
    """The writer hears etcd's reason, and the next write is made."""
    store = opened()
    store.put("large", "x" * 2_000_000)
    answers: list[Exception | None] = []
    store.store.when_durable(store.store.revision, answers.append)
    while not answers:
        store.mailbox.run()

    assert "request is too large" in str(answers[0])
    assert store.broken == []
    assert store.told("b") is None
    assert sorted(opened().state()) == ["pods d/b"]


def test_full_etcd_refuses_writes_and_loses_none(tmp_path: Path, opening: Callable[[EtcdPlace], Opened]) -> None:
    """As a full disk does: reading goes on, and what was acknowledged is there."""
    with Etcd(tmp_path, ["--quota-backend-bytes", "8000000"]) as etcd:
        place = EtcdPlace((etcd.url,))
        store = opening(place)
        kept: list[str] = []
        for number in range(200):
            store.put(f"p{number}", "x" * 1_000_000)
            answers: list[Exception | None] = []
            store.store.when_durable(store.store.revision, answers.append)
            while not answers:
                store.mailbox.run()
            if answers[0] is not None:
                assert "database space exceeded" in str(answers[0])
                break
            kept.append(f"pods d/p{number}")
        else:
            raise AssertionError("etcd was never full")
        assert store.broken == []
        assert sorted(store.state()) == sorted(kept)
        pairs = etcd.pairs()

    assert sorted(key for key in pairs if "/pods/" in key) == sorted(f"/registry/pods/d/{key[7:]}" for key in kept)


# --- Addresses and certificates ---------------------------------------------------------------------------------------


def test_tls_with_client_certificates(tmp_path: Path, opening: Callable[[EtcdPlace], Opened]) -> None:
    """With the right files the cluster is kept; without them it is told at the start."""
    made = ensure_certificates(tmp_path / "pki", datetime.now(tz=UTC))
    options = ["--cert-file", str(made.serving.certificate), "--key-file", str(made.serving.key)]
    options += ["--client-cert-auth", "--trusted-ca-file", str(made.ca.certificate)]
    files = EtcdTLS(made.ca.certificate, made.admin.certificate, made.admin.key)
    other = ensure_certificates(tmp_path / "other", datetime.now(tz=UTC))
    with Etcd(tmp_path, options, scheme="https", tls=files) as etcd:
        assert opening(EtcdPlace((etcd.url,), tls=files)).told("a") is None
        for wrong in (EtcdTLS(made.ca.certificate), EtcdTLS(other.ca.certificate, files.certfile, files.keyfile)):
            with pytest.raises(SchedlabError, match=f"etcd at {etcd.url} does not answer"):
                Opened(EtcdPlace((etcd.url,), "/other", wrong))


@pytest.mark.parametrize(
    ("text", "found"),
    [("127.0.0.1:2379", "'127.0.0.1:2379'"), ("http://a:1,ftp://b:2", "'ftp://b:2'"), ("http://a", "'http://a'")],
)
def test_addresses_that_are_none_are_refused(text: str, found: str) -> None:
    with pytest.raises(SchedlabError, match=f"^--etcd-servers: {found} is not the address of an etcd"):
        read_servers(text)


def test_files_for_tls_are_read_at_the_start(tmp_path: Path) -> None:
    servers = ("https://127.0.0.1:1",)
    with pytest.raises(SchedlabError, match=r"--etcd-cafile: .* cannot be read: No such file"):
        Opened(EtcdPlace(servers, tls=EtcdTLS(tmp_path / "none")))
    with pytest.raises(SchedlabError, match="--etcd-certfile: a client certificate and its key belong together"):
        Opened(EtcdPlace(servers, tls=EtcdTLS(certfile=tmp_path / "none")))
