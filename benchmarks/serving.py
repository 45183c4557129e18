"""`as2 serve` against the servers that one would write or install, over the same weights and under the same load.

    python benchmarks/serving.py                  some minutes on two idle cores; writes docs/performance.md
    python benchmarks/serving.py --infinity PATH  infinity too; PATH is the `infinity_emb` command of its environment,
                                                  which has its extras torch, optimum and server
    python benchmarks/serving.py --memory         the memory of each alone, before and after some of the load
    python benchmarks/serving.py --minutes 10     the memory of `as2 serve` alone, each minute of a load that goes on
    python benchmarks/serving.py --tiny           a minute, to see that it runs; writes nothing

Every client is a thread with a connection of its own that sends its next request as soon as it has the answer to the
one before. A request is a question of `starter-test` with the first sentences of the starter corpus from a place of its
own. All servers run at once, and one at a time gets the load, in turns: the medians over the rounds are told. The peers
are FastAPI routes that take one request after another: around sentence-transformers' CrossEncoder as its own
documentation shows, for which the cascade is exported as `as2 versions export` does; and, where the packages openvino
and nncf are installed, around OpenVINO over the whole model in int8. infinity does not load that export, so it serves
the encoder with an untrained head of BERT's, which costs it the same: by torch, and by ONNX Runtime in int8.
"""

from __future__ import annotations

import argparse
import http.client
import json
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import count
from pathlib import Path
from urllib.parse import urlsplit

import numpy as np
import psutil
from _peers import Logits, compress, cross_encoder, export, has, quantise, write_onnx
from _served import AS2, PATIENCE, ROOT, free_port
from transformers import AutoModelForSequenceClassification, AutoTokenizer

from as2core.data.catalog import load_questions
from as2core.experiments.base import write_section
from as2core.nn.backbone import locate_weights
from as2core.rankers.cascade import CascadeRanker
from as2core.rankers.catalog import get

PAGE = ROOT / "docs" / "performance.md"
OURS, WHOLE = "`as2 serve`, cascade at .3", "`as2 serve`, whole model"
PEER, OPENVINO = "FastAPI around CrossEncoder", "FastAPI around OpenVINO, int8"
INFINITY, INFINITY_INT8 = "infinity", "infinity, ONNX Runtime, int8"
BESIDE, LONG = "2 beside long ones", 3_000  # documents of the long request
LOOP_SERVER = ROOT / "benchmarks" / "_loop_server.py"


@dataclass(frozen=True, slots=True)
class Plan:
    """`loads`: clients and documents. `seconds` of a round, which is longer where a request is."""

    loads: tuple[tuple[int, int], ...]
    rounds: int
    seconds: float


FULL = Plan(((1, 10), (4, 10), (16, 10), (64, 10), (1, 100), (4, 100)), 3, 5.0)
TINY = Plan(((2, 2),), 1, 0.5)


@dataclass(frozen=True, slots=True)
class Server:
    """`path` is that of its rerank route."""

    name: str
    url: str
    path: str
    process: psutil.Process

    def measure_memory(self) -> float:
        """What is resident of the process, in megabytes."""
        return self.process.memory_info().rss / 1e6


@dataclass(frozen=True, slots=True)
class Load:
    """What the clients of one round met: seconds of each request (n,), and of the round."""

    latencies: np.ndarray
    seconds: float

    @property
    def throughput(self) -> float:
        return len(self.latencies) / self.seconds


# --- the servers -----------------------------------------------------------------------------------------------------


@contextmanager
def start(name: str, command: list[str], port: int, path: str) -> Iterator[Server]:
    with tempfile.TemporaryFile("w+") as errors:
        process = subprocess.Popen(command, cwd=ROOT, stdout=errors, stderr=errors)
        try:
            wait_for_health(process, port)
            yield Server(name, f"http://127.0.0.1:{port}", path, psutil.Process(process.pid))
        except TimeoutError as e:
            errors.seek(0)
            raise SystemExit(f"{name} did not start:\n{errors.read()[-2000:]}") from e
        finally:
            process.terminate()
            process.wait(60)


def wait_for_health(process: subprocess.Popen, port: int) -> None:
    until = time.monotonic() + PATIENCE
    while process.poll() is None and time.monotonic() < until:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
        try:
            connection.request("GET", "/health")
            if connection.getresponse().status == 200:
                return
        except OSError:
            time.sleep(0.2)
        finally:
            connection.close()
    raise TimeoutError


def list_servers(folder: Path, infinity: str | None) -> list[tuple[str, Callable[[int], list[str]], str]]:
    """Name, command for a port, and path."""
    cascade = get("cascade:engine=torch")
    assert isinstance(cascade, CascadeRanker)
    cross_encoder(cascade, folder / "exported")
    exported, longest = str(folder / "exported"), str(cascade.max_length)
    loop = [sys.executable, str(LOOP_SERVER)]
    servers = [
        (OURS, lambda port: [*AS2, "serve", "--ranker", "cascade", "--port", str(port)], "/v1/rerank"),
        (WHOLE, lambda port: [*AS2, "serve", "--ranker", "cascade:drop_ratio=0", "--port", str(port)], "/v1/rerank"),
        (PEER, lambda port: [*loop, "cross-encoder", exported, longest, str(port)], "/rerank"),
    ]
    if has("openvino") and has("nncf"):
        whole, _ = export(cascade, folder)
        compressed = str(compress(whole))
        servers.append((OPENVINO, lambda port: [*loop, "openvino", compressed, longest, str(port)], "/rerank"))
    if infinity:
        write_classifier(cascade, folder / "plain")
        for name, engine in ((INFINITY, "torch"), (INFINITY_INT8, "optimum")):
            # from within the folder: its ONNX files are looked for by paths that hold no folder
            start_there = ["env", "-C", str(folder / "plain"), f"HF_HOME={folder / 'hub'}", infinity, "v2"]
            options = ["--model-id", ".", "--engine", engine, "--device", "cpu", "--no-model-warmup", "--port"]
            command = [*start_there, *options]
            servers.append((name, partial(_with_port, command), "/rerank"))
    return servers


def _with_port(command: list[str], port: int) -> list[str]:
    return [*command, str(port)]


def write_classifier(cascade: CascadeRanker, folder: Path) -> None:
    """The encoder as Hugging Face's own classifier of pairs, and in ONNX Runtime's int8, which infinity takes on a CPU
    where it is there."""
    source = locate_weights(cascade.backbone.name)
    classifier = AutoModelForSequenceClassification.from_pretrained(source, num_labels=1)
    classifier.save_pretrained(folder)
    AutoTokenizer.from_pretrained(source).save_pretrained(folder)
    real, small = folder / "model.onnx", folder / "model_quantized.onnx"
    pairs = cascade.backbone.encode(["when was it built?"] * 2, ["It was completed in 1889.", "Nobody knows."])
    ids, mask, _ = cascade.backbone.pad(pairs, [0, 1])
    write_onnx(Logits(classifier).eval(), {"input_ids": ids, "attention_mask": mask.long()}, real, cascade.max_length)
    quantise(real, small)
    real.unlink()


# --- the load --------------------------------------------------------------------------------------------------------


class Requests:
    """Bodies of requests, each another one."""

    def __init__(self) -> None:
        questions = load_questions("starter-test").questions
        self._queries = [q.text for q in questions]
        self._texts = list(dict.fromkeys(c.text for q in questions for c in q.candidates))
        self._number, self._lock = count(), threading.Lock()

    def make(self, documents: int) -> bytes:
        with self._lock:
            n = next(self._number)
        texts = [self._texts[(n * 7 + i) % len(self._texts)] for i in range(documents)]
        return json.dumps({"query": self._queries[n % len(self._queries)], "documents": texts}).encode()


def put_under_load(server: Server, requests: Requests, clients: int, documents: int, seconds: float) -> Load:
    """Requests that began within so many seconds. Raises SystemExit at any answer but 200."""
    latencies: list[float] = []
    failures: list[str] = []
    began = time.perf_counter()

    def send_on() -> None:
        connection = http.client.HTTPConnection(urlsplit(server.url).netloc, timeout=PATIENCE)
        while time.perf_counter() - began < seconds and not failures:
            body, at = requests.make(documents), time.perf_counter()
            connection.request("POST", server.path, body, {"Content-Type": "application/json"})
            answer = connection.getresponse()
            content = answer.read()
            if answer.status != 200 or len(json.loads(content)["results"]) != documents:
                failures.append(f"{answer.status} {content[:200]!r}")
            latencies.append(time.perf_counter() - at)
        connection.close()

    threads = [threading.Thread(target=send_on) for _ in range(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise SystemExit(f"{server.name}: {failures[0]}")
    return Load(np.array(latencies), time.perf_counter() - began)


def put_beside_long(server: Server, requests: Requests, seconds: float) -> list[Load]:
    """Requests of two documents while another client has its long ones ranked, one after another; none where the
    server refuses these."""
    is_over, refusals = threading.Event(), []

    def send_long() -> None:
        while not is_over.is_set() and not refusals:
            try:
                put_under_load(server, requests, 1, LONG, 0.01)
            except SystemExit as refusal:
                refusals.append(refusal)

    long = threading.Thread(target=send_long, daemon=True)
    long.start()
    time.sleep(1.0)
    load = put_under_load(server, requests, 1, 2, seconds)
    is_over.set()
    long.join(PATIENCE)
    return [] if refusals else [load]


# --- the table -------------------------------------------------------------------------------------------------------


def measure(servers: list[Server], plan: Plan) -> dict[tuple[str, object], list[Load]]:
    """By server and load, a round each."""
    requests = Requests()
    found: dict[tuple[str, object], list[Load]] = {}
    for server in servers:
        put_under_load(server, requests, 2, 10, min(1.0, plan.seconds))  # does not count
    for number in range(plan.rounds):
        for clients, documents in plan.loads:
            for server in servers:
                load = put_under_load(server, requests, clients, documents, plan.seconds)
                found.setdefault((server.name, (clients, documents)), []).append(load)
        print(f"round {number + 1} of {plan.rounds}", file=sys.stderr, flush=True)
    if plan is FULL:
        for server in servers:
            found[server.name, BESIDE] = put_beside_long(server, requests, 3 * plan.seconds)
    return found


def make_tables(servers: list[Server], found: dict[tuple[str, object], list[Load]], loads: list) -> list[str]:
    """Medians over the rounds; times are of single requests, in milliseconds."""
    lines = ["| clients | documents | server | requests/s | p50 | p95 | p99 | the first is faster by |"]
    lines.append("|---|---|---|---|---|---|---|---|")
    for key in loads:
        clients, documents = (1, BESIDE) if key == BESIDE else key
        first = np.median([load.throughput for load in found[servers[0].name, key]])
        for server in servers:
            rounds = found[server.name, key]
            if not rounds:
                lines.append(f"| {clients} | {documents} | {server.name} | refuses {LONG:,} documents | | | | |")
                continue
            speed = np.median([load.throughput for load in rounds])
            p50, p95, p99 = np.median([np.percentile(r.latencies, (50, 95, 99)) for r in rounds], axis=0) * 1000
            lines.append(
                f"| {clients} | {documents} | {server.name} | {speed:.1f} | {p50:,.0f} | {p95:,.0f} | {p99:,.0f} | "
                f"{first / speed:.2f} x |"
            )
    lines += ["", "| server | memory after the load (MB) |", "|---|---|"]
    lines += [f"| {s.name} | {s.measure_memory():,.0f} |" for s in servers]
    return [*lines, ""]


def measure_memory(servers: list[tuple[str, Callable[[int], list[str]], str]]) -> list[str]:
    """The resident memory of each, started alone: a table of megabytes."""
    lines = [
        "| server | started (MB) | 16 clients of 10 | 2 beside long ones | 16 clients of 10 again |",
        "|---|---|---|---|---|",
    ]
    requests = Requests()
    for name, command, path in servers:
        port = free_port()
        with start(name, command(port), port, path) as server:
            cells = [server.measure_memory()]
            for is_long in (False, True, False):
                if is_long:
                    put_beside_long(server, requests, 30.0)
                else:
                    put_under_load(server, requests, 16, 10, 20.0)
                cells.append(server.measure_memory())
        lines.append(f"| {name} | {' | '.join(f'{megabytes:,.0f}' for megabytes in cells)} |")
        print(lines[-1], file=sys.stderr, flush=True)
    return [*lines, ""]


def watch_memory(server: tuple[str, Callable[[int], list[str]], str], minutes: int) -> list[str]:
    """The resident memory of one, started alone, after each minute of 16 clients with requests of 10 documents."""
    name, command, path = server
    port, requests = free_port(), Requests()
    with start(name, command(port), port, path) as running:
        cells = [running.measure_memory()]
        for _ in range(minutes):
            put_under_load(running, requests, 16, 10, 60.0)
            cells.append(running.measure_memory())
            print(f"{cells[-1]:,.0f} MB", file=sys.stderr, flush=True)
    numbers = range(minutes + 1)
    return [
        f"Printed and written by `python benchmarks/serving.py --minutes {minutes}`: {name}, 16 clients, 10 documents.",
        "",
        f"| minute | {' | '.join(map(str, numbers))} |",
        f"|---|{'---|' * len(numbers)}",
        f"| MB | {' | '.join(f'{megabytes:,.0f}' for megabytes in cells)} |",
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tiny", action="store_true")
    parser.add_argument("--memory", action="store_true")
    parser.add_argument("--minutes", type=int, help="watch the memory for so long")
    parser.add_argument("--infinity", metavar="PATH", help="the command `infinity_emb`")
    arguments = parser.parse_args()
    plan = TINY if arguments.tiny else FULL
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        listed, servers = list_servers(Path(folder), arguments.infinity), []
        if arguments.memory:
            print("\n".join(measure_memory(listed)))
            return
        if arguments.minutes:
            lines = watch_memory(listed[0], arguments.minutes)
            print("\n".join(lines))
            write_section(PAGE, "serving-memory", "\n".join(lines))
            return
        for name, command, path in listed:
            port = free_port()
            servers.append(stack.enter_context(start(name, command(port), port, path)))
        found = measure(servers, plan)
        loads = [*plan.loads, *([BESIDE] if plan is FULL else [])]
        command = f"python benchmarks/serving.py{' --infinity PATH' if arguments.infinity else ''}"
        source = f"Printed and written by `{command}`: {plan.rounds} rounds of {plan.seconds:g} s."
        text = "\n".join(["## Served", "", source, "", *make_tables(servers, found, loads)])
    print(text)
    if plan is FULL:
        write_section(PAGE, "serving", text)


if __name__ == "__main__":
    main()
