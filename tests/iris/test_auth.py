"""Who asks, where a controller wants to know."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path

import fray
import pytest

from tests.iris.conftest import Cluster, client_of
from tests.iris.controller import Controller

TOKENS = {"static-of-bob": "bob", "static-of-ann": "ann"}


@pytest.fixture
def guarded(start: Callable[..., Controller], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Controller:
    """A controller that lets nobody in without a token; this process has none."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("FRAY_IRIS_TOKEN", raising=False)
    return start(tokens=TOKENS, admins=frozenset({"ann"}))


def _store(tmp_path: Path, url: str, token: str) -> None:
    folder = tmp_path / "home" / ".iris"
    folder.mkdir(parents=True)
    (folder / "tokens.json").write_text(json.dumps({"clusters": {"ours": {"url": url + "/", "token": token}}}))


def test_without_a_token_nobody_gets_in_and_is_told_what_to_do(guarded: Controller) -> None:
    with pytest.raises(fray.NodeDiedError, match="FRAY_IRIS_TOKEN"):
        client_of(guarded.url).list_jobs()


def test_a_static_token_is_exchanged_and_says_whose_the_jobs_are(
    guarded: Controller, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FRAY_IRIS_TOKEN", "static-of-bob")
    own = Cluster(guarded.url, client_of(guarded.url))
    job = own.submit("echo ran")
    assert job.startswith("/bob/")
    assert own.lines(job) == ["ran"]
    assert guarded.server.count("Login") == 1


def test_a_token_may_lie_in_a_file(guarded: Controller, tmp_path: Path) -> None:
    (tmp_path / "token").write_text("static-of-bob\n")
    assert client_of(guarded.url, token_file=str(tmp_path / "token")).list_jobs() == []


@pytest.mark.parametrize("content", [None, ""])
def test_a_file_without_a_token_is_named(guarded: Controller, tmp_path: Path, content: str | None) -> None:
    path = tmp_path / "token"
    if content is not None:
        path.write_text(content)
    with pytest.raises(ValueError, match=f"token_file names {path}"):
        client_of(guarded.url, token_file=str(path))


def test_the_login_of_iriss_own_command_line_is_used(guarded: Controller, tmp_path: Path) -> None:
    _store(tmp_path, guarded.url, guarded.auth.login("static-of-bob")[0])
    assert client_of(guarded.url).list_jobs() == []
    assert guarded.server.count("Login") == 0


def test_a_stored_login_for_another_cluster_is_not_shown_to_this_one(guarded: Controller, tmp_path: Path) -> None:
    _store(tmp_path, "http://127.0.0.1:1", guarded.auth.login("static-of-bob")[0])
    with pytest.raises(fray.NodeDiedError, match="no token was given"):
        client_of(guarded.url).list_jobs()


def test_a_token_that_has_expired_is_told_as_such(guarded: Controller, tmp_path: Path) -> None:
    key = guarded.auth.login("static-of-bob")[1]
    _store(tmp_path, guarded.url, guarded.auth.sign("bob", key, int(time.time()) - 60))
    with pytest.raises(fray.NodeDiedError, match=r"tokens\.json \(cluster ours\), which expired on 20"):
        client_of(guarded.url).list_jobs()


def test_a_wrong_token_is_never_repeated(guarded: Controller, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FRAY_IRIS_TOKEN", "hidden-word")
    with pytest.raises(fray.NodeDiedError, match="does not take the token from FRAY_IRIS_TOKEN") as raised:
        client_of(guarded.url).list_jobs()
    assert "hidden-word" not in str(raised.value)


def test_a_login_elsewhere_does_not_end_this_one(guarded: Controller, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FRAY_IRIS_TOKEN", "static-of-bob")
    own = Cluster(guarded.url, client_of(guarded.url))
    job = own.submit("sleep 600")
    client_of(guarded.url).list_jobs()  # logs in anew, which revokes the first login
    assert own.jobs.get(job)["id"] == job
    client_of(guarded.url).list_jobs()
    assert own.submit("true").startswith("/bob/")
    assert own.jobs.stop(job) is True


def test_other_peoples_jobs_are_not_ones_own(guarded: Controller, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FRAY_IRIS_TOKEN", "static-of-ann")
    ann = Cluster(guarded.url, client_of(guarded.url))
    job = ann.submit("sleep 600")
    monkeypatch.setenv("FRAY_IRIS_TOKEN", "static-of-bob")
    bob = client_of(guarded.url)
    logins = guarded.server.count("Login")
    with pytest.raises(fray.NodeDiedError, match="does not own"):
        bob.stop(job)
    assert guarded.server.count("Login") == logins + 1
    ann.jobs.stop(job)


def test_an_open_controller_is_shown_no_token(stand_in: Controller, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FRAY_IRIS_TOKEN", "static-of-bob")
    assert client_of(stand_in.url).list_jobs() == []
    assert stand_in.server.count("Login") == 0
