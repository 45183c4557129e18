"""How long a question takes: through the service, and in a real browser from Enter until the answer is drawn.

    python benchmarks/ask_latency.py                   all corpora; writes its section of docs/performance.md
    python benchmarks/ask_latency.py --baseline DIR    an older checkout beside this one, turn by turn
    python benchmarks/ask_latency.py --only starter    of starter, long, many
    python benchmarks/ask_latency.py --quick           a little of it; writes nothing

`starter` is the corpus that is shipped; `long` are 48 articles of SQuAD (some 10,000 sentences), skipped where
../shared/data/squad is missing; `many` are 200,000 generated passages with random vectors. Every checkout gets a home
of its own with the same corpus. Both answer the same questions, one after the other, so that what else the machine does
meets both: compare the columns of one run, not runs. `--homes DIR` keeps the prepared homes for the next run.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import _served
import numpy as np
from _texts import DATA

from as2core.data.catalog import load_questions
from as2core.experiments.base import write_section

ROOT = Path(__file__).resolve().parents[1]
SQUAD = DATA / "squad" / "train-v1.1.json.gz"
ARTICLES, PEOPLE = 48, 4
CORPORA = ("starter", "long", "many")
WORDS = 20_000  # of the generated vocabulary
WANTED = {"p50": 300, "p95": 600, "first ever": 2000, "service p50": 120}  # ms, on two idle cores

# Runs in a checkout of its own; the older ones had the same functions in app.services.
DRIVER = """
import json, os, sys, time
sys.path.insert(0, os.getcwd())
from pathlib import Path
from as2core.cascade.schedule import DropSchedule
try:
    from app.bootstrap import open as open_workbench
    from app.ask import asking
    from app.corpora import corpora, ingestion
    from app.exchange.starter import ensure_starter
    from app.jobs.attempt import run_queued
    from app.worker import RUNNERS
    from app.workbench.settings import Settings
except ImportError:
    from app.jobs import run_queued
    from app.services import asking, corpora, documents, open as open_workbench
    from app.services.corpora import ensure_starter
    from app.settings import Settings
    from app.worker import RUNNERS
wb = open_workbench(Settings(home=Path(sys.argv[1]), worker="external"))

def prepare(files, random_vectors):
    if not files:
        corpus = ensure_starter(wb)
    else:
        import numpy as np
        corpus = corpora.create_corpus(wb, "documents")
        ingestion.ingest(wb, corpus.id, [(Path(f).name, Path(f)) for f in files])
        if random_vectors:
            index, draw = wb.index(corpus.id), np.random.default_rng(0)
            pending = getattr(index, "list_pending", None) or index.pending
            while batch := pending(5000):
                v = draw.normal(size=(len(batch), 384)).astype("f4")
                v /= np.linalg.norm(v, axis=1, keepdims=True)
                index.set_vectors({p.id: x for p, x in zip(batch, v, strict=True)})
    run_queued(wb, RUNNERS)
    return {}

def preload():
    asking.preload(wb)
    until = time.monotonic() + 300
    known = corpora.list_corpora(wb) if hasattr(corpora, "list_corpora") else corpora.corpora(wb)
    while time.monotonic() < until:
        view = asking.ask(wb, known[-1].id, "How is it prepared?")
        asking.score_generative(wb, view)
        if not any("being prepared" in note for note in view.notes):
            break
    return {"corpus": known[-1].id}

def ask(corpus, question):
    settings = {"store_later": True} if "store_later" in asking.ask.__code__.co_varnames else {}
    answers = []
    if hasattr(asking, "EarlyAnswer"):
        settings["early"] = asking.EarlyAnswer(make_schedule, lambda answer: answers.append(time.perf_counter()))
    began = time.perf_counter()
    view = asking.ask(wb, corpus, question, as_typed=True, **settings)
    complete = time.perf_counter()
    answered = answers[0] if answers else complete
    run = view.trace.replay(make_schedule(len(view.trace.exits)))
    best = view.candidates[run.ranking()[0]].text if view.candidates else ""
    asking.score_generative(wb, view)
    done = time.perf_counter()
    parts = {"answer": answered - began, "complete": complete - began, "generative": done - complete}
    return parts | {"best": best, "retrieve": view.seconds["retrieve"]}

def make_schedule(exits):
    return DropSchedule.constant(0.3, exits=exits)

for line in sys.stdin:
    name, *arguments = json.loads(line)
    print("=" + json.dumps({"prepare": prepare, "preload": preload, "ask": ask}[name](*arguments)), flush=True)
wb.close()
"""

WATCH = """() => {
    window.as2_times = {};
    const begin = e => { if (e.key === "Enter") window.as2_times.begin = performance.now(); };
    document.addEventListener("keydown", begin, true);
    new MutationObserver(() => {
        if (window.as2_times.begin && !window.as2_times.end && document.querySelector(".as2-answer"))
            requestAnimationFrame(() => { window.as2_times.end = performance.now(); });
    }).observe(document.body, {subtree: true, childList: true});
}"""

STEP = """(slider, share) => {  // a step of the slider: ms for the picture, and for what the server draws
    const begin = performance.now(), times = {};
    const costs = () => document.querySelector(".as2-costs")?.textContent;
    const before = costs();
    slider.dispatchEvent(new PointerEvent("pointerdown", {bubbles: true}));
    slider.value = share;
    slider.dispatchEvent(new Event("input", {bubbles: true, composed: true}));
    slider.dispatchEvent(new Event("change", {bubbles: true, composed: true}));
    requestAnimationFrame(() => setTimeout(() => { times.picture = performance.now() - begin; }));
    return new Promise(done => {
        const look = () => costs() && costs() !== before
            ? setTimeout(() => done({...times, page: performance.now() - begin})) : requestAnimationFrame(look);
        look();
    });
}"""
SLIDER = ".cascade .common"
SHARES = (50, 20, 60, 10, 40, 25, 55, 15, 45, 35)  # per cent

EMPTY = """
import streamlit as st
with st.form("form", border=False):
    question = st.text_input("Question")
    st.form_submit_button("Ask")
st.caption("Try one of these")
if question:
    st.html('<section class="as2-answer">' + question + "</section>")
"""


@dataclass(frozen=True, slots=True)
class Sizes:
    """Questions through the service and in the browser, rounds of four people, generated passages."""

    service: int = 40
    browser: int = 12
    together: int = 3
    passages: int = 200_000


QUICK = Sizes(service=2, browser=1, together=1, passages=300)
Checkouts = dict[str, Path]


def main(arguments: Sequence[str] | None = None) -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--quick", action="store_true")
    options.add_argument("--only", default=",".join(CORPORA))
    options.add_argument("--baseline", type=Path, help="an older checkout")
    options.add_argument("--homes", type=Path, help="where prepared homes are kept")
    options.add_argument("--questions", type=int, help="through the service; a third of them in the browser")
    parsed = options.parse_args(arguments)
    names = parsed.only.split(",")
    if unknown := set(names) - set(CORPORA):
        options.error(f"no corpus {', '.join(sorted(unknown))}; known: {', '.join(CORPORA)}")
    checkouts = {"before": parsed.baseline.resolve()} if parsed.baseline else {}
    checkouts["after" if parsed.baseline else "this checkout"] = ROOT
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        sizes = QUICK if parsed.quick else Sizes()
        if parsed.questions:
            sizes = replace(sizes, service=parsed.questions, browser=max(1, parsed.questions // 3), together=1)
        lines = report(Path(folder), parsed.homes, names, checkouts, sizes)
    print("\n".join(lines))
    if not parsed.quick:
        write_section(ROOT / "docs" / "performance.md", "ask-latency", "\n".join(lines))


def report(folder: Path, homes: Path | None, names: Sequence[str], checkouts: Checkouts, sizes: Sizes) -> list[str]:
    busy = os.getloadavg()[0]
    lines = [
        "## From Enter to the answer",
        "",
        f"Printed and written by `python benchmarks/ask_latency.py{_describe_options(names, checkouts)}`, "
        f"on {_served_cores()} cores: {sizes.service} questions a corpus through the service, {sizes.browser} in a "
        f"browser. When it began, {busy:.1f} processes wanted the cores: on a busy machine only the ratios between "
        "columns count, since both take turns. Times in ms.",
        "",
        f"| corpus | what | {' | '.join(f'{name} p50 | {name} p95' for name in checkouts)} |",
        "|---|---|" + "---|---|" * len(checkouts),
    ]
    notes: list[str] = []
    for name in names:
        files, questions = make_corpus(name, folder, sizes)
        if not questions:
            notes.append(f"`{name}` was not measured: {SQUAD} is missing.")
            continue
        own = {c: prepare_home(name, c, root, folder, homes, files) for c, root in checkouts.items()}
        rows, same = time_service(checkouts, own, questions[: sizes.service])
        print(
            *(format_row(name, what, times, checkouts) for what, times in rows.items()), same, sep="\n", file=sys.stderr
        )
        notes += [same] if same else []
        if (why := _served.no_browser()) is None:
            rows |= time_browser(checkouts, own, questions, sizes)
        else:
            notes.append(f"The browser was not measured: {why}.")
        lines += [format_row(name, what, times, checkouts) for what, times in rows.items()]
        print("\n".join(lines[-len(rows) :]), file=sys.stderr)
    if _served.no_browser() is None:
        own_trip = time_empty_script(folder, sizes)
        lines.append(
            format_row("none", "Streamlit alone: an empty script", dict.fromkeys(checkouts, own_trip), checkouts)
        )
    wanted = ", ".join(f"{name} {ms} ms" for name, ms in WANTED.items())
    return [*lines, "", *notes, f"Wanted on two idle cores: {wanted}."]


def _describe_options(names: Sequence[str], checkouts: Checkouts) -> str:
    only = "" if len(names) == len(CORPORA) else f" --only {','.join(names)}"
    return only + (" --baseline DIR" if len(checkouts) > 1 else "")


def _served_cores() -> int:
    from as2core.system.cores import count_cores

    return count_cores()


def format_row(corpus: str, what: str, times: dict[str, list[float]], checkouts: Checkouts) -> str:
    cells = [f"{np.percentile(times[c], q) * 1000:,.0f}" if times.get(c) else "" for c in checkouts for q in (50, 95)]
    return f"| {corpus} | {what} | {' | '.join(cells)} |"


# --- the corpora -----------------------------------------------------------------------------------------------------


def make_corpus(name: str, folder: Path, sizes: Sizes) -> tuple[list[Path], list[str]]:
    """Its files (none for the starter corpus), and questions about it; no questions where its data is missing."""
    file = folder / f"{name}.jsonl"
    if name == "starter":
        return [], [q.text for q in load_questions("starter-test").questions if q.positives]
    if name == "long":
        if not SQUAD.exists():
            return [], []
        with gzip.open(SQUAD) as packed:
            articles = json.load(packed)["data"][:ARTICLES]
        texts = [(a["title"].replace("_", " "), "\n\n".join(p["context"] for p in a["paragraphs"])) for a in articles]
        questions = [q["question"] for a in articles for p in a["paragraphs"] for q in p["qas"]]
        random.Random(0).shuffle(questions)
    else:
        texts, questions = generate(sizes.passages)
    records = ({"id": str(i), "title": title, "text": text} for i, (title, text) in enumerate(texts))
    file.write_text("\n".join(map(json.dumps, records)) + "\n", encoding="utf-8")
    return [file], questions


def generate(passages: int) -> tuple[list[tuple[str, str]], list[str]]:
    """Documents of one sentence, which is a passage each, of words as frequent as in a language; and questions of the
    rarer words of some."""
    draw = np.random.default_rng(0)
    words = np.array([f"w{_letters(i)}" for i in range(WORDS)])
    ranks = np.minimum(draw.zipf(1.3, size=(passages, 14)) - 1, WORDS - 1)
    texts = [("", f"{' '.join(row).capitalize()}.") for row in words[ranks]]
    asked = draw.choice(passages, size=200)
    questions = [f"What is {' '.join(words[sorted(set(ranks[i]))[-4:]])}?" for i in asked]
    return texts, questions


def _letters(number: int) -> str:
    return "".join(chr(97 + int(c)) for c in str(number))


def prepare_home(
    corpus: str, checkout: str, root: Path, folder: Path, homes: Path | None, files: Sequence[Path]
) -> Path:
    """A home of the checkout with the corpus, its vectors and its graphs."""
    home = folder / f"{corpus}-{checkout}".replace(" ", "-")
    kept = homes / home.name if homes else None
    if kept is None or not kept.exists():
        with Driver(root, home) as driver:
            driver.call("prepare", [str(f) for f in files], corpus == "many")
            driver.call("preload")
        if kept is None:
            return home
        shutil.copytree(home, kept)
        return home
    shutil.copytree(kept, home)
    return home


# --- the service -----------------------------------------------------------------------------------------------------


class Driver:
    """A process of a checkout that answers calls, one line each."""

    def __init__(self, root: Path, home: Path) -> None:
        environment = {k: v for k, v in os.environ.items() if not k.startswith("AS2_")} | {"PYTHONPATH": str(root)}
        self._process = subprocess.Popen(
            [sys.executable, "-c", DRIVER, str(home)],
            cwd=root,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def __enter__(self) -> Driver:
        return self

    def __exit__(self, *_: object) -> None:
        assert self._process.stdin
        self._process.stdin.close()
        self._process.wait(120)

    def call(self, *request: object) -> dict:
        assert self._process.stdin and self._process.stdout
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        for line in self._process.stdout:
            if line.startswith("="):
                return json.loads(line[1:])
        raise SystemExit("the driver of a checkout ended; its error is above")


def time_service(
    checkouts: Checkouts, homes: dict[str, Path], questions: Sequence[str]
) -> tuple[dict[str, dict[str, list[float]]], str]:
    """Seconds by what and checkout; and whether both gave the same answers."""
    rows: dict[str, dict[str, list[float]]] = {}
    first: dict[str, list[str]] = {c: [] for c in checkouts}
    with ExitStack() as stack:
        drivers = {c: stack.enter_context(Driver(root, homes[c])) for c, root in checkouts.items()}
        corpora = {c: d.call("preload")["corpus"] for c, d in drivers.items()}
        for what in ("service", "service, repeated"):
            for question in questions:
                for checkout, driver in drivers.items():
                    got = driver.call("ask", corpora[checkout], question)
                    rows.setdefault(what, {}).setdefault(checkout, []).append(got["answer"])
                    if what == "service":
                        first[checkout].append(got["best"])
                        for part, row in (("retrieve", "of which: retrieval"), ("complete", "the trace complete, too")):
                            rows.setdefault(f"service, {row}", {}).setdefault(checkout, []).append(got[part])
                        then = rows.setdefault("service, generative scores after it", {})
                        then.setdefault(checkout, []).append(got["generative"])
    if len(checkouts) == 1:
        return rows, ""
    equal = sum(len(set(answers)) == 1 for answers in zip(*first.values(), strict=True))
    return rows, f"The same answer before and after: {equal} of {len(questions)} questions."


# --- the browser -----------------------------------------------------------------------------------------------------


def time_browser(
    checkouts: Checkouts, homes: dict[str, Path], questions: Sequence[str], sizes: Sizes
) -> dict[str, dict[str, list[float]]]:
    """From Enter until the answer is drawn, each question in a session of its own. The first ever is asked as soon as
    the page can be typed in, its server just started."""
    rows: dict[str, dict[str, list[float]]] = {}

    def note(what: str, checkout: str, seconds: float) -> None:
        rows.setdefault(f"browser, {what}", {}).setdefault(checkout, []).append(seconds)

    with ExitStack() as stack:
        browser = stack.enter_context(_served.browser())
        urls = {}
        for c, root in checkouts.items():
            urls[c] = stack.enter_context(_served.app(_served.environment(homes[c], root / "corpora"), root))
            note("the first ever", c, time_question(browser, urls[c], questions[0])[0])
        later = questions[1 : 1 + sizes.browser]
        for what in ("a new question", "repeated"):
            for question in later:
                for c, url in urls.items():
                    drawn, ranked = time_question(browser, url, question, generative=what == "a new question")
                    note(what, c, drawn)
                    if ranked is not None:
                        note("a new question, with generative scores", c, ranked)
        for c, url in urls.items():
            for what, seconds in time_slider(browser, url, later[0]):
                note(what, c, seconds)
        beyond = iter(questions[1 + sizes.browser :])
        for _ in range(sizes.together):
            those = [next(beyond, questions[0]) for _ in range(PEOPLE)]
            for c, url in urls.items():
                for seconds in time_together(browser, url, those):
                    note(f"{PEOPLE} people at once", c, seconds)
    return rows


def time_question(browser, url: str, question: str, *, generative: bool = False) -> tuple[float, float | None]:
    """Seconds from Enter until the answer is drawn, and until the generative scores are, if they are waited for."""
    with _served.ready(browser, url) as page:
        began, end = ask_in(page, question)
        drawn = end()
        ranked = None
        if generative:
            _served.wait_for_generative(page)
            ranked = time.perf_counter() - began
        return drawn, ranked


def time_slider(browser, url: str, question: str) -> Iterator[tuple[str, float]]:
    """Seconds from a step of the slider until its picture is drawn, and until what the server draws under it is."""
    with _served.ready(browser, url) as page:
        ask_in(page, question)[1]()
        page.locator(".as2-costs").wait_for(state="attached")
        _served.wait_for_generative(page)
        for share in SHARES:
            times = page.locator(SLIDER).evaluate(STEP, share)
            yield "a slider step, the picture", times["picture"] / 1000
            yield "a slider step, the rest of the page", times["page"] / 1000


def time_together(browser, url: str, questions: Sequence[str]) -> list[float]:
    with ExitStack() as stack:
        pages = [stack.enter_context(_served.ready(browser, url)) for _ in questions]
        ends = [ask_in(page, question)[1] for page, question in zip(pages, questions, strict=True)]
        return [end() for end in ends]


def ask_in(page, question: str) -> tuple[float, Callable[[], float]]:
    """Press Enter; when that was, and what waits for the answer and gives its seconds as the browser measured them."""
    box = page.get_by_label("Question", exact=True)
    box.fill(question)
    page.evaluate(WATCH)
    began = time.perf_counter()
    box.press("Enter")

    def end() -> float:
        page.wait_for_function("window.as2_times.end")
        return page.evaluate("window.as2_times.end - window.as2_times.begin") / 1000

    return began, end


@contextmanager
def empty_app(folder: Path) -> Iterator[str]:
    script = folder / "empty.py"
    script.write_text(EMPTY)
    command = [sys.executable, "-m", "streamlit", "run", str(script), "--server.headless", "true"]
    command += ["--browser.gatherUsageStats", "false", "--server.address", "127.0.0.1", "--server.port"]
    with _served.app(dict(os.environ), folder, command) as url:
        yield url


def time_empty_script(folder: Path, sizes: Sizes) -> list[float]:
    with empty_app(folder) as url, _served.browser() as browser:
        return [time_question(browser, url, f"question {i}")[0] for i in range(1 + sizes.browser)][1:]


if __name__ == "__main__":
    main()
