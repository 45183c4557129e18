"""Files that need a parser are parsed in a process of their own, which may hang, die or eat memory without harm.

A page of 60 kB can keep libxml2 busy for minutes, in C code that no thread can interrupt. So each document has a time
and a memory limit, which the operating system enforces on the process (`alarm`, `RLIMIT_AS`). One process serves many
documents, and a new one is started after one that died. It is sent a JSON header and the file, and answers with JSON:
nothing that it writes is run or unpickled.
"""

import json
import logging
import os
import selectors
import struct
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Callable
from contextlib import suppress
from math import inf
from pathlib import Path
from typing import IO

from as2core.data.label_files.sheets import Table, write_table
from as2core.documents.reading import Contents, describe_fault, parse_file
from as2core.errors import UnreadableFile
from as2core.sources.content import Problem
from as2core.types import Definition, Document, Heading

log = logging.getLogger(__name__)

MAX_FILE_BYTES = 500_000_000
MAX_MEMORY_BYTES = 4_000_000_000
BASE_SECONDS, SECONDS_PER_MB, MAX_SECONDS = 20, 20, 600  # for one document
USUAL_SECONDS, USUAL_SECONDS_PER_MB = 2, 2  # that hardly a file takes longer than
WAIT_SECONDS = 0.25  # between two calls of `on_wait`
SIZES = struct.Struct(">II")  # of the header and of the file

ALARM = 14  # SIGALRM, which Windows does not have


def limit_seconds(content_bytes: int) -> int:
    """How long parsing a file of that size may take."""
    return min(MAX_SECONDS, BASE_SECONDS + content_bytes * SECONDS_PER_MB // 1_000_000)


class ParserProcess:
    """Parses one document at a time; started when first needed, and safe to share between threads. Once its files have
    taken `max_slow_seconds` more than is usual, all together, it refuses others. `on_wait` is called again and again
    while a file is parsed; an exception of it ends the parser (not on Windows)."""

    def __init__(
        self,
        limit: Callable[[int], int] = limit_seconds,
        *,
        max_slow_seconds: float = inf,
        clock: Callable[[], float] = time.monotonic,
        on_wait: Callable[[], object] | None = None,
    ) -> None:
        self._limit, self._clock, self._on_wait = limit, clock, on_wait
        self._max_slow_seconds, self._slow_seconds = max_slow_seconds, 0.0
        self._process: subprocess.Popen[bytes] | None = None
        self._lock = threading.Lock()

    def parse(self, stem: str, suffix: str, content: bytes) -> Document:
        """As `as2core.documents.reading.parse_single`. Raises UnreadableFile, also for a file beyond the limits."""
        [document] = self.parse_file(stem, suffix, content).documents
        return document

    def parse_file(self, stem: str, suffix: str, content: bytes) -> Contents:
        """As `as2core.documents.reading.parse_file`. Raises UnreadableFile, also for a file beyond the limits."""
        answer = self._ask({"task": DOCUMENTS, "stem": stem, "suffix": suffix}, content)
        documents = [_read_document(fields) for fields in answer["documents"]]
        return Contents(documents, [Problem(*p) for p in answer["problems"]], tuple(answer["notes"]))

    def write_table(self, content: bytes) -> Table:
        """As `write_table` of a workbook. Raises UnreadableFile, also for a file beyond the limits."""
        answer = self._ask({"task": TABLE}, content)
        return Table(answer["table"], tuple(answer["notes"]))

    def close(self) -> None:
        with self._lock:
            self._end()

    def _ask(self, request: dict[str, str], content: bytes) -> dict:
        if len(content) > MAX_FILE_BYTES:
            raise UnreadableFile(f"it is larger than {MAX_FILE_BYTES // 1_000_000} MB; divide it")
        seconds = self._limit(len(content))
        header = json.dumps({**request, "seconds": seconds}).encode()
        with self._lock:
            answer = self._exchange_in_time(header, content, seconds)
        if error := answer.get("error"):
            if trace := answer.get("trace"):
                log.warning("parsing %s: %s", request, trace)
            raise UnreadableFile(error)
        return answer

    def _exchange_in_time(self, header: bytes, content: bytes, seconds: int) -> dict:
        if self._slow_seconds > self._max_slow_seconds:
            slow = f"{self._max_slow_seconds / 60:.0f} minutes longer than usual"
            raise UnreadableFile(f"not read, since the files before it took {slow}; add it again without those")
        started = self._clock()
        try:
            return self._exchange(header, content, seconds)
        finally:
            usual = USUAL_SECONDS + USUAL_SECONDS_PER_MB * len(content) / 1_000_000
            self._slow_seconds += max(0.0, self._clock() - started - usual)

    def _exchange(self, header: bytes, content: bytes, seconds: int) -> dict:
        process = self._process = self._process or _start()
        assert process.stdin is not None and process.stdout is not None
        try:
            process.stdin.write(SIZES.pack(len(header), len(content)) + header)
            process.stdin.write(content)
            process.stdin.flush()
            if self._on_wait is not None and os.name == "posix":
                _await(process.stdout, self._on_wait)
            size = _read(process.stdout, 4)
            return json.loads(_read(process.stdout, int.from_bytes(size, "big")))
        except (OSError, EOFError, ValueError) as error:
            code = self._end()
            is_over_time = os.name == "posix" and code == -ALARM
            reason = f"took more than {seconds} s" if is_over_time else f"failed (the parser ended with code {code})"
            raise UnreadableFile(f"reading it {reason}; save it in a simpler form, for instance as text") from error
        except BaseException:  # Streamlit stops a script by an exception, and the answer would be taken for the next's
            self._end(0)
            raise

    def _end(self, patience_seconds: float = 1.0) -> int:
        """Have the process end, by force if it takes longer; returns its exit code."""
        process, self._process = self._process, None
        if process is None:
            return 0
        for pipe in (process.stdin, process.stdout):
            with suppress(OSError):
                if pipe is not None:
                    pipe.close()
        with suppress(subprocess.TimeoutExpired):
            return process.wait(patience_seconds)
        process.kill()
        return process.wait()


def _start() -> "subprocess.Popen[bytes]":
    root = str(Path(__file__).resolve().parents[1])
    path = os.pathsep.join(filter(None, (root, os.environ.get("PYTHONPATH"))))
    return subprocess.Popen(
        [sys.executable, "-m", "as2core.parser_process"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "PYTHONPATH": path},
        start_new_session=True,  # Ctrl-C is for the program that reads, which then closes the pipe
    )


def _await(file: IO[bytes], on_wait: Callable[[], object]) -> None:
    """Until there is something to read, or the end."""
    with selectors.DefaultSelector() as selector:
        selector.register(file, selectors.EVENT_READ)
        while not selector.select(WAIT_SECONDS):
            on_wait()


def _read(file: IO[bytes], size: int) -> bytes:
    content = file.read(size)
    if len(content) < size:
        raise EOFError
    return content


def _read_document(fields: dict) -> Document:
    verbatim, rows = (tuple((start, end) for start, end in fields[name]) for name in ("verbatim", "rows"))
    headings = tuple(Heading(*values) for values in fields["headings"])
    definitions = tuple(Definition(*values) for values in fields["definitions"])
    texts = fields["id"], fields["title"], fields["text"]
    return Document(*texts, "", fields["meta"], verbatim, headings, rows, definitions, fields["is_numbered"])


def _write_document(document: Document) -> dict[str, object]:
    return {
        "id": document.id,
        "title": document.title,
        "text": document.text,
        "meta": dict(document.meta),
        "verbatim": document.verbatim,
        "headings": document.headings,
        "rows": document.rows,
        "definitions": document.definitions,
        "is_numbered": document.is_numbered,
    }


def serve(requests: IO[bytes], answers: IO[bytes]) -> None:
    """Until the requests end. Dies where a limit is passed."""
    _limit_memory()
    while sizes := requests.read(SIZES.size):
        header_bytes, content_bytes = SIZES.unpack(sizes)
        header = json.loads(requests.read(header_bytes))
        content = requests.read(content_bytes)
        _set_alarm(header["seconds"])
        answer = _answer(header, content)
        _set_alarm(0)
        answers.write(len(answer).to_bytes(4, "big") + answer)
        answers.flush()


def _answer(header: dict[str, str], content: bytes) -> bytes:
    answer: dict[str, object]
    try:
        answer = TASKS[header["task"]](header, content)
    except UnreadableFile as error:
        answer = {"error": str(error)}
    except RecursionError:
        answer = {"error": "nested too deeply to read"}
    except MemoryError:
        answer = {"error": f"reading it takes more than {MAX_MEMORY_BYTES // 1_000_000_000} GB of memory; divide it"}
    except Exception as error:  # a fault of a parser
        answer = {"error": describe_fault(error), "trace": traceback.format_exc()}
    return json.dumps(answer).encode()


def _answer_documents(header: dict[str, str], content: bytes) -> dict[str, object]:
    contents = parse_file(header["stem"], header["suffix"], content)
    return {
        "documents": [_write_document(document) for document in contents.documents],
        "problems": [(p.line, p.reason, p.unit) for p in contents.problems],
        "notes": contents.notes,
    }


def _answer_table(_header: dict[str, str], content: bytes) -> dict[str, object]:
    table = write_table(content)
    return {"table": table.text, "notes": table.notes}


DOCUMENTS, TABLE = "documents", "table"  # what a file is read as
TASKS = {DOCUMENTS: _answer_documents, TABLE: _answer_table}


def _limit_memory() -> None:
    with suppress(ImportError, ValueError, OSError):
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (MAX_MEMORY_BYTES, MAX_MEMORY_BYTES))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _set_alarm(seconds: int) -> None:
    """The signal's default ends the process, whatever it is in the middle of; 0 calls it off."""
    import signal

    if hasattr(signal, "alarm"):
        signal.alarm(seconds)


if __name__ == "__main__":
    stdout = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a library prints is no answer
    serve(sys.stdin.buffer, stdout)
