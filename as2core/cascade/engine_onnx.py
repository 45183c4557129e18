"""The cascade run on ONNX Runtime, int8, on a CPU: one session a stretch, one thread a core.

Every session has a single thread of its own and no spinning; the cores are kept busy by Python threads that each take
a micro-batch through its stretch (the runtime lets go of the interpreter's lock). Sessions that bring their own
thread pools fight over the cores and lose the better part of what dropping saves. The one barrier is the cut: there
all scores are needed, and the survivors are packed anew. Texts are tokenised by the same threads, a chunk at a time, so
that the first stretch begins before the last text is read.

Rescoring in float32 has threads of its own, as many. torch and MKL keep work space for every thread that has called
them, some megabytes each, and a server computes in as many threads as it has requests (docs/decisions/0076).
"""

import math
import time
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cache
from pathlib import Path
from threading import Lock

import numpy as np
import onnxruntime as ort

from as2core.cascade.engine import Engine, Run
from as2core.nn.backbone import Backbone
from as2core.system.cores import count_cores

BATCH_TOKENS = 512  # a micro-batch holds about so many: what it works on stays near the core
MAX_CHUNK_TEXTS = 128  # tokenised at once
MAX_ERROR_LOGITS = 0.2  # two candidates this near may be in the wrong order (docs/decisions/0008)
_session_lock = Lock()


@cache
def worker_pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(count_cores(), thread_name_prefix="onnx")


@cache
def exact_pool() -> ThreadPoolExecutor:
    """Not `worker_pool`, where the rescoring of a short request would wait behind the stretches of a long one."""
    return ThreadPoolExecutor(count_cores(), thread_name_prefix="exact")


class OnnxEngine:
    """`graphs` are the files of `as2core.cascade.graphs`, a stretch each; `backbone` gives tokenizer and sizes.

    `exact` runs the same weights in float32, with the last exit alone: it decides which candidate is first.
    """

    name, error = "onnx", MAX_ERROR_LOGITS

    def __init__(
        self, backbone: Backbone, exits: Sequence[int], graphs: Sequence[Path], *, max_length: int, exact: Engine
    ) -> None:
        self.exits, self.max_length, self.exact = tuple(exits), max_length, exact
        self.shape = backbone.shape
        self.encode, self.pad_id = backbone.encode, backbone.tokenizer.pad_token_id or 0
        self.graphs = tuple(graphs)
        # the folder is named by the weights and by how they became graphs
        self.identity = f"onnx {ort.__version__} {self.graphs[0].parent.name} {max_length}"
        self.sessions = [session(path) for path in graphs]

    def start(self, questions: Sequence[str], texts: Sequence[str], *, keeps_states: bool = False) -> Run:
        return _OnnxRun(self, questions, texts, keeps_states)


@cache
def _shared_memory() -> None:
    """One arena for the work space of all sessions. With one each, every stretch would begin in memory that has left
    the caches, and exits would cost what they need not."""
    kind = ort.OrtMemoryInfo("Cpu", ort.OrtAllocatorType.ORT_ARENA_ALLOCATOR, 0, ort.OrtMemType.DEFAULT)
    ort.create_and_register_allocator(kind, None)


def session(path: Path, *, profile: str = "") -> ort.InferenceSession:
    """The session of a graph; with `profile`, a path's beginning, it writes down the time of every operator."""
    with _session_lock:  # a cache alone would let two threads in
        _shared_memory()
    options = ort.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 3
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    options.add_session_config_entry("session.use_env_allocators", "1")
    if profile:
        options.enable_profiling, options.profile_file_prefix = True, profile
    return ort.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


class _OnnxRun:
    def __init__(self, engine: OnnxEngine, questions: Sequence[str], texts: Sequence[str], keeps_states: bool) -> None:
        self.engine, self.questions, self.texts = engine, questions, texts
        self.keeps_states = keeps_states
        n = len(texts)
        self.lengths, self.begins = np.zeros(n, np.int64), np.zeros(n, np.int64)
        # per pair what it enters the next stretch with: token ids, later hidden states (length, width). The states are
        # views of their whole micro-batch, so nothing is left here that no stretch will read
        self.inputs: list = [None] * n

    def advance(self, members: np.ndarray, first: int, last: int) -> tuple[np.ndarray, list[float]]:
        began = time.perf_counter()
        scores = np.empty((last - first, len(self.texts)), dtype=np.float32)
        busy = np.zeros(last - first)
        pending: list[Future] = []

        def submit(part: np.ndarray) -> None:
            for rows in pack(self.lengths[part]):
                pending.append(worker_pool().submit(self._walk, part[rows], first, last))

        if first == 0:
            by_size = members[np.argsort([-len(self.texts[m]) for m in members], kind="stable")]
            size = max(1, min(math.ceil(len(members) / count_cores()), MAX_CHUNK_TEXTS))
            chunks = [by_size[i : i + size] for i in range(0, len(members), size)]
            for tokens, part in [(worker_pool().submit(self._tokenise, part), part) for part in chunks]:
                tokens.result()
                submit(part)
        else:
            if not self.keeps_states:
                for m in np.setdiff1d(np.arange(len(self.texts)), members):
                    self.inputs[m] = None
            submit(members)
        for future in pending:
            rows, logits, seconds = future.result()
            scores[:, rows] = logits
            busy += seconds
        duration = time.perf_counter() - began
        return scores[:, members], (duration * busy / max(busy.sum(), 1e-9)).tolist()

    def exact(self, members: np.ndarray) -> np.ndarray:
        run = self.engine.exact.start([self.questions[m] for m in members], [self.texts[m] for m in members])
        return exact_pool().submit(run.advance, np.arange(len(members)), 0, 1).result()[0][0]

    def _tokenise(self, part: np.ndarray) -> None:
        e = self.engine
        packed = e.encode([self.questions[m] for m in part], [self.texts[m] for m in part], max_length=e.max_length)
        self.lengths[part], self.begins[part] = packed.lengths, packed.second
        for m, ids in zip(part, packed.ids, strict=True):
            self.inputs[m] = np.array(ids, dtype=np.int64)

    def _walk(self, rows: np.ndarray, first: int, last: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """A micro-batch through exits first..last-1: its pairs, logits (exits, pairs), seconds an exit."""
        at = time.perf_counter()
        e, lengths = self.engine, self.lengths[rows]
        feeds = {"lengths": lengths.astype(np.int32), "pool": pooling(lengths, self.begins[rows])}
        states: np.ndarray | None = self._pad_inputs(rows, int(lengths.max()))
        for m in rows:
            self.inputs[m] = None
        logits, seconds = np.empty((last - first, len(rows)), np.float32), np.zeros(last - first)
        for i in range(first, last):
            logits[i - first], *rest = e.sessions[i].run(None, feeds | {"hidden" if i else "ids": states})
            states = rest[0] if rest else None  # the last stretch has none
            seconds[i - first], at = time.perf_counter() - at, time.perf_counter()
        if states is not None:
            for j, m in enumerate(rows):
                self.inputs[m] = states[j, : self.lengths[m]]
        return rows, logits, seconds

    def _pad_inputs(self, rows: np.ndarray, longest: int) -> np.ndarray:
        some = self.inputs[rows[0]]
        fill = self.engine.pad_id if some.ndim == 1 else 0.0
        out = np.full((len(rows), longest, *some.shape[1:]), fill, dtype=some.dtype)
        for j, m in enumerate(rows):
            out[j, : self.lengths[m]] = self.inputs[m]
        return out


def pack(lengths: np.ndarray) -> list[np.ndarray]:
    """Positions of `lengths` (n,), in tokens, as micro-batches of like lengths, the longest first: about BATCH_TOKENS
    tokens each, a multiple of the cores in number, so that none of them waits long for the others at the cut."""
    if not len(lengths):
        return []
    longest_first = np.argsort(-lengths, kind="stable")
    total, workers = int(lengths.sum()), count_cores()
    batches = min(len(lengths), workers * math.ceil(total / (workers * BATCH_TOKENS)))
    before = np.cumsum(lengths[longest_first]) - lengths[longest_first]
    which = (before * batches) // total
    return [part for part in np.split(longest_first, np.flatnonzero(np.diff(which)) + 1) if len(part)]


def pooling(lengths: np.ndarray, begins: np.ndarray) -> np.ndarray:
    """Weights of the means over all tokens, those before `begins`, those from it on: float32 (n, 3, longest)."""
    at = np.arange(int(lengths.max()))[None, :]
    real = at < lengths[:, None]
    second = real & (at >= begins[:, None])
    masks = np.stack([real, real & ~second, second], 1).astype(np.float32)
    return masks / np.maximum(masks.sum(2, keepdims=True), 1)
