"""A model of the Hugging Face hub by name and commit: `org/name@COMMIT`.

A name alone is whatever its owner uploaded last, and may be another model tomorrow. With a commit it is the same for
good. A directory has no commits, and its name may hold an "@".

Where nothing answers at the hub's address, the cache alone is asked: `huggingface_hub` would try each file six times,
and wait 23 seconds, before it says that there is no network.
"""

from __future__ import annotations

import logging
import re
import socket
import time
from contextlib import suppress
from functools import lru_cache
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Any
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

from as2core.system.files import is_folder

NEWEST = "main"
# a "[SEP]" that somebody wrote is a text's; as the special token it would divide question and candidate
PLAIN_TEXT = {"split_special_tokens": True}
NO_CODE = {"trust_remote_code": False}  # or transformers asks on the terminal whether to run a checkpoint's own Python
REACH_SECONDS = 4.0  # in which the hub, or the proxy before it, has to take a connection
KNOWN_SECONDS = 30  # for so long the answer holds
_HUB_NAME = re.compile(r"\w[\w.-]*(?:/\w[\w.-]*)?")  # others are refused without a question to the hub
_PORTS = {"http": 80, "https": 443, "socks5": 1080}
_COMMIT = re.compile(r"[0-9a-f]{40}")

log = logging.getLogger(__name__)


def split_revision(name: str) -> tuple[str, str]:
    """The directory or hub name, and the revision to load."""
    if is_folder(name):
        return name, NEWEST
    source, _, revision = name.partition("@")
    if not _COMMIT.fullmatch(revision):
        log.info("%s: the newest revision is taken; NAME@COMMIT (40 digits) is the same for good", source)
    return source, revision or NEWEST


def find_source(name: str) -> tuple[str, dict[str, Any]]:
    """The directory or hub name, and what `from_pretrained` has to know of it."""
    source, revision = split_revision(name)
    is_asked_for = not is_folder(source) and _HUB_NAME.fullmatch(source) is not None
    return source, {"revision": revision, "local_files_only": is_asked_for and not _is_hub_reachable()}


def _is_hub_reachable() -> bool:
    """True also where it is not known, and where the hub is not to be asked."""
    from huggingface_hub import constants

    if constants.HF_HUB_OFFLINE:
        return True
    address = urlsplit(constants.ENDPOINT)
    proxies = {} if proxy_bypass(address.hostname or "") else getproxies()
    try:
        place = urlsplit(proxies.get(address.scheme) or proxies.get("all") or constants.ENDPOINT)
        port = place.port or _PORTS.get(place.scheme, 0)
    except ValueError:
        return True
    if not place.hostname or not port:
        return True
    return _takes_connections(place.hostname, port, int(time.monotonic() / KNOWN_SECONDS))


@lru_cache(maxsize=4)
def _takes_connections(host: str, port: int, _period: int) -> bool:
    """Whether one of the host's addresses does. All are tried at once, so that one that swallows what it is sent does
    not use up the time of the others; the threads may outlive this call, as a look-up of a name cannot be ended."""
    answers: SimpleQueue[bool] = SimpleQueue()

    def connect(address: tuple[str, int]) -> None:
        with suppress(OSError), socket.create_connection(address, REACH_SECONDS):
            answers.put(True)

    def try_all() -> None:
        with suppress(OSError, UnicodeError):
            addresses = {info[4][:2] for info in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)}
            threads = [Thread(target=connect, args=(address,), daemon=True) for address in addresses]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        answers.put(False)

    Thread(target=try_all, daemon=True).start()
    try:
        return answers.get(timeout=REACH_SECONDS)
    except Empty:
        return False
