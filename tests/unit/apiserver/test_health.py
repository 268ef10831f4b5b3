"""Health endpoints answer as kube-apiserver's do, and tell when the server is about to stop."""

from schedlab.apiserver.health import Health
from schedlab.apiserver.request_info import parse_query


def answer(path: str, query: str = "", *, stopping: bool = False, storage: bool = True) -> tuple[int, str] | None:
    found = Health(lambda: stopping, lambda: storage).answer(path, parse_query(query.encode()))
    return None if found is None else (found.status, found.text)


def test_brief_answers() -> None:
    """All is well in two letters; checks can be asked for one by one."""
    for path in ("/healthz", "/livez", "/readyz", "/healthz/ping", "/livez/etcd"):
        assert answer(path) == (200, "ok")
    assert answer("/readyz/nope") is None
    assert answer("/nope") is None


def test_verbose_answers_list_the_checks() -> None:
    """Each check has its line, and the last line sums up."""
    found = answer("/readyz", "verbose")

    assert found is not None
    lines = found[1].splitlines()
    assert (lines[0], lines[-2], lines[-1]) == ("[+]ping ok", "[+]shutdown ok", "readyz check passed")


def test_excluded_checks() -> None:
    """An excluded check cannot fail; an unknown one is pointed out."""
    found = answer("/readyz", "verbose&exclude=shutdown&exclude=bogus", stopping=True)

    assert found is not None
    assert found[0] == 200
    assert "[+]shutdown excluded: ok" in found[1]
    assert 'warn: some health checks cannot be excluded: no matches for "bogus"\n' in found[1]


def test_stopping_server_is_alive_but_not_ready() -> None:
    """Load balancers look at readyz, process managers at livez."""
    found = answer("/readyz", stopping=True)

    assert found is not None
    assert found[0] == 500
    assert "[-]shutdown failed: reason withheld\n" in found[1]
    assert answer("/livez", stopping=True) == (200, "ok")


def test_storage_that_fails_is_told() -> None:
    """A server that cannot keep writes is neither alive nor ready."""
    for path in ("/livez", "/readyz", "/healthz/etcd"):
        found = answer(path, storage=False)

        assert found is not None
        assert found[0] == 500
