"""Which processes ask the network: a command run under strace, and the calls in its log that leave the loopback.

subprocess.run([*trace_prefix(log), "as2", "ask", ...])
assert find_outside_calls(log.read_text()) == []
"""

from __future__ import annotations

import ipaddress
import re
import shutil
import subprocess
from functools import cache
from pathlib import Path

import pytest

DNS_PORT = 53
CALLS = "trace=connect,sendto,sendmsg,sendmmsg"
_ADDRESS = re.compile(r'sin6?_port=htons\((\d+)\).*?"([0-9a-fA-F.:]+)"')
_RESOLVERS = re.compile(r'sun_path="[^"]*(?:systemd/resolve|mdns|dnsmasq)[^"]*"')


@cache
def _can_trace() -> bool:
    command = ["strace", "-qq", "-o", "/dev/null", "true"]
    return shutil.which("strace") is not None and subprocess.run(command, capture_output=True).returncode == 0


def trace_prefix(log: Path) -> list[str]:
    """What a command begins with to have its network calls, and those of all it starts, written to `log`. The command
    itself is the process that is started, so that it gets the signals."""
    if not _can_trace():
        pytest.skip("strace is not installed, or may not trace here")
    return ["strace", "-D", "-f", "--seccomp-bpf", "-qq", "-s", "200", "-e", CALLS, "-o", str(log)]


def find_outside_calls(log: str) -> list[str]:
    """The lines that speak to another machine, or look up a name, wherever the resolver is."""
    return [line for line in log.splitlines() if _leaves(line)]


def _leaves(line: str) -> bool:
    if _RESOLVERS.search(line):
        return True
    for port, address in _ADDRESS.findall(line):
        if int(port) == DNS_PORT or not ipaddress.ip_address(address).is_loopback:
            return True
    return False
