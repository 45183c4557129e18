"""A model of the hub is loaded by the commit that its name holds."""

import contextlib
import socket
import threading
import time

import pytest
import transformers
from huggingface_hub import constants

from as2core.errors import As2Error
from as2core.nn import hub
from as2core.nn.backbone import load_backbone
from as2core.nn.hub import find_source, split_revision
from as2core.rankers.classifier import load_classifier
from as2core.rankers.generative import load_question_lm
from as2core.rankers.seq2seq_classifier import is_seq2seq

COMMIT = "0123456789abcdef0123456789abcdef01234567"


def test_a_name_may_hold_a_commit_and_a_directory_an_at_sign(tmp_path):
    assert split_revision(f"org/name@{COMMIT}") == ("org/name", COMMIT)
    assert split_revision("org/name@v1.0") == ("org/name", "v1.0")
    assert split_revision("org/name") == ("org/name", "main")
    folder = tmp_path / "a@b"
    folder.mkdir()
    assert split_revision(str(folder)) == (str(folder), "main")


@pytest.mark.parametrize("load", [load_backbone, load_classifier, load_question_lm, is_seq2seq])
def test_every_kind_of_model_is_asked_for_at_that_commit(load, monkeypatch):
    monkeypatch.setattr(hub, "_is_hub_reachable", lambda: True)
    requests = []

    def refuse(name, *rest, revision=None, **more):
        requests.append((name, revision))
        raise OSError("no network here")

    for loader in ("AutoConfig", "AutoModelForSequenceClassification"):
        monkeypatch.setattr(getattr(transformers, loader), "from_pretrained", refuse)
    with contextlib.suppress(As2Error):
        load(f"org/name@{COMMIT}")
    assert requests == [("org/name", COMMIT)]


@pytest.fixture
def endpoint(monkeypatch):
    """Sets the hub's address; nothing was asked of it yet, and no proxy is set."""
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    forget = hub._takes_connections.cache_clear
    forget()
    yield lambda address: monkeypatch.setattr(constants, "ENDPOINT", address)
    forget()


@pytest.fixture
def door():
    """(host and port of a server that takes connections, of one that takes none)."""
    with socket.create_server(("127.0.0.1", 0)) as server, socket.create_server(("127.0.0.1", 0)) as other:
        open_, closed = (f"127.0.0.1:{s.getsockname()[1]}" for s in (server, other))
        other.close()
        yield open_, closed


@pytest.mark.parametrize("load", [load_backbone, load_classifier, load_question_lm])
def test_without_a_network_the_error_comes_at_once(load, endpoint, door):
    endpoint(f"http://{door[1]}")
    started = time.monotonic()
    with pytest.raises(As2Error, match="hub"):
        load(f"no-such-org/no-such-name@{COMMIT}")
    assert time.monotonic() - started < 10  # the hub's own library takes 23 s


def test_the_cache_alone_is_asked_where_nobody_answers_for_the_hub(endpoint, door):
    answering, closed = door
    endpoint(f"http://{answering}")
    assert find_source("org/name") == ("org/name", {"revision": "main", "local_files_only": False})
    endpoint(f"http://{closed}")
    assert find_source("org/name")[1]["local_files_only"]


@pytest.mark.parametrize("name", [".", "../no/such/folder", "./model", "a/b/c"])
def test_for_what_is_no_hub_name_nobody_is_asked(name, endpoint, monkeypatch):
    monkeypatch.setattr(hub, "_takes_connections", lambda *_: pytest.fail("asked"))
    assert not find_source(name)[1]["local_files_only"]


@pytest.mark.parametrize(("proxy", "is_out_of_reach"), [(0, False), (1, True)])
def test_behind_a_proxy_the_proxy_is_what_has_to_answer(proxy, is_out_of_reach, endpoint, door, monkeypatch):
    endpoint("http://hub.invalid")
    monkeypatch.setenv("http_proxy", f"http://{door[proxy]}")
    assert find_source("org/name")[1]["local_files_only"] is is_out_of_reach
    monkeypatch.setenv("no_proxy", "hub.invalid")
    monkeypatch.setattr(hub, "_takes_connections", lambda host, *_: host != "hub.invalid")
    assert find_source("org/name")[1]["local_files_only"]


def test_who_forbids_to_ask_the_hub_is_heeded_without_a_connection(endpoint, monkeypatch):
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    monkeypatch.setattr(hub, "_takes_connections", lambda *_: pytest.fail("asked"))
    assert not find_source("org/name")[1]["local_files_only"]


def test_a_look_up_that_hangs_is_not_waited_for(endpoint, monkeypatch):
    over = threading.Event()
    monkeypatch.setattr(hub, "REACH_SECONDS", 0.1)
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_args, **_more: over.wait() and [])
    endpoint("https://hub.invalid")
    assert find_source("org/name")[1]["local_files_only"]
    over.set()


def test_an_address_that_swallows_everything_does_not_hide_one_that_answers(endpoint, monkeypatch):
    over = threading.Event()

    def connect(address, _seconds):
        if address[0] == "swallows":
            over.wait()
            raise TimeoutError
        return contextlib.nullcontext()

    infos = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (name, 443)) for name in ("swallows", "answers")]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_args, **_more: infos)
    monkeypatch.setattr(socket, "create_connection", connect)
    endpoint("https://hub.invalid")
    assert not find_source("org/name")[1]["local_files_only"]
    over.set()
