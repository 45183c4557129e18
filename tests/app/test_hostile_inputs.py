"""Whatever comes in at an edge, what comes out is an answer or an As2Error: no exception of another kind.

The quick tests try some inputs of each sort; `make test-all` tries 5,000 and more. They are the same in each run.
"""

import contextlib
import os

import pytest
from fake_clock import Clock
from fake_models import FakeModels, write_version
from fastapi.testclient import TestClient
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from label_files import import_labels
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Route
from starlette.testclient import TestClient as StarletteClient
from tower_texts import BREAD, BRIDGE, QUESTIONS, TOWER

from app import bootstrap
from app.ask import asking, proposals, questions, same_question, stored_questions
from app.compare import comparison, question_sets
from app.corpora import corpora, documents, indexing, ingestion
from app.exchange import exports, label_files
from app.jobs import queue
from app.labels import annotation, conflicts, consensus, flags, guidelines, leasing, progress, rules
from app.labels.annotation import Presentation
from app.labels.seats import Seat
from app.versions import archive, loading, management, promotion, registry
from app.workbench import login, people
from app.workbench.settings import Settings
from as2core.errors import As2Error
from as2core.serving.rankers import ServedRankers
from as2core.serving.routes import build
from as2core.system.hosts import HostGuard, parse_hosts

MANY = int(os.environ.get("AS2_TEST_INPUTS", "400"))  # a test
SEVERAL = [pytest.param(15, id="some"), pytest.param(MANY, id="many", marks=pytest.mark.slow)]
SLOW_MINUTES = 15

surrogates = st.characters(categories=["Cs"])
characters = st.one_of(
    st.characters(codec="utf-8"), surrogates, st.sampled_from("\0\r\n\t\x1b\u202e\ufeff'\"%_*\\/:;|,")
)
texts = st.one_of(
    st.text(characters, max_size=80),
    st.sampled_from(QUESTIONS),
    st.sampled_from(["", " ", "active", "auto", "../../etc/passwd", "/", "C:\\x", "=1+1", "x" * 5000, "\ud800" * 70]),
    st.builds(lambda part, times: part * times, st.text(characters, min_size=1, max_size=4), st.integers(1, 2000)),
)
ids = st.one_of(
    st.integers(1, 3),
    st.integers(1, 14),
    st.integers(-3, 60),
    st.integers(-(2**70), 2**70),
    st.sampled_from([2**31, 2**63 - 1, 2**63, -(2**63)]),
)
labels = st.one_of(st.sampled_from(["correct", "incorrect", "unsure", "random", "uncertain"]), texts)


@pytest.fixture(scope="module")
def wb(tmp_path_factory):
    root = tmp_path_factory.mktemp("hostile")
    write_version(root / "models" / "cascade", metrics={"AP": 0.7})
    write_version(root / "models" / "generative", "generative")
    values = Settings(
        home=root / "home", models_dir=root / "models", corpora_dir=root / "corpora", worker="external", _env_file=None
    )
    opened = bootstrap.open(values, FakeModels(), Clock())
    corpus = corpora.create_corpus(opened, "towers")
    files = [("tower.txt", TOWER.encode()), ("bridge.txt", BRIDGE.encode()), ("bread.txt", BREAD.encode())]
    ingestion.ingest(opened, corpus.id, files)
    people.sign_in(opened, "ann")
    for question in QUESTIONS:
        asking.ask(opened, corpus.id, question)
    opened.later.finish()
    yield opened
    opened.close()


def check(times, strategy, act):
    """Call `act` with each of so many inputs; As2Error is an answer."""

    @settings(
        max_examples=times, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck)
    )
    @given(strategy)
    def run(arguments):
        with contextlib.suppress(As2Error):
            act(*arguments)

    run()


def hostile(test):
    return pytest.mark.timeout(SLOW_MINUTES * 60)(pytest.mark.parametrize("times", SEVERAL)(test))


CONTENTS = {
    "txt": [TOWER.encode(), b"\x1f\x8b\x08\0broken"],
    "md": [b"---\ntitle: A\n---\n# A\n\n- one\n- two\n\n| a | b |\n|---|---|\n| 1 | 2 |\n", b"<!-- "],
    "html": [b"<html><head><title>T</title></head><body><p>One.</p><ul><li>Two.</li></ul></body></html>", b"<" * 50],
    "pdf": [b"%PDF-1.4\n1 0 obj\n<< /Type /Catalog >>\nendobj\ntrailer << /Root 1 0 R >>\n%%EOF"],
    "eml": [
        b"From: a@b.example\nSubject: =?utf-8?q?A?=\n\nOne.\n\n> Two?\n\nThree.\n-- \nAnn\n",
        b"Subject: A\nMIME-Version: 1.0\nContent-Type: multipart/alternative; boundary=b\n\n--b\n\nOne.\n--b\n"
        b"Content-Type: text/html; charset=utf-8\n\n<p>One.</p><blockquote type=cite>Two?</blockquote>\n--b--\n",
    ],
    "pptx": [b"PK\x03\x04"],
    "csv": [b"id,title,text\n1,A,One sentence.\n", b'text\n"open'],
    "tsv": [b"id\ttext\n1\tOne sentence.\n"],
    "jsonl": [
        b'{"id": "a", "title": "T", "text": "One."}\n',
        b'{"focus": 1, "answer": "x", "source": []}\n',
        b"[" * 90,
    ],
}


@st.composite
def mutations(draw, contents):
    """One of the contents, with bytes changed, cut out or put in."""
    content = bytearray(draw(st.sampled_from(contents)))
    for _ in range(draw(st.integers(0, 6))):
        at = draw(st.integers(0, len(content)))
        content[at : at + draw(st.integers(0, 5))] = draw(st.binary(max_size=6))
    return bytes(content)


@st.composite
def files(draw):
    kind = draw(st.sampled_from([*CONTENTS, "exe"]))
    name = draw(st.one_of(texts, st.just("note")))
    return f"{name}.{kind}", draw(st.one_of(mutations(CONTENTS.get(kind, [b"MZ"])), st.binary(max_size=200)))


@hostile
def test_documents(wb, times):
    corpus_id = corpora.find_corpus(wb, "towers").id

    def ingest(batch):
        view = ingestion.ingest(wb, corpus_id, batch, by=1)
        assert not [reason for _, reason in view.failed if "the program could not process it" in reason]

    check(times, st.tuples(st.lists(files(), min_size=1, max_size=4)), ingest)


@hostile
def test_file_names_on_the_disk(wb, times, tmp_path):
    from app.cli.ingestion import find_files

    def ingest(stem, suffix, content):
        path = os.fsencode(tmp_path) + b"/" + stem.replace(b"/", b"_").replace(b"\0", b"_") + suffix
        with contextlib.suppress(OSError):  # the file system refuses a name
            with open(path, "wb") as file:  # noqa: PTH123 (a Path has no bytes)
                file.write(content)
            from pathlib import Path

            found = list(find_files([Path(os.fsdecode(path))]))
            ingestion.ingest(wb, corpora.find_corpus(wb, "towers").id, found)

    names = st.binary(min_size=1, max_size=30)
    check(times, st.tuples(names, st.sampled_from([b".txt", b".md", b".csv", b""]), st.binary(max_size=40)), ingest)


@hostile
def test_looking_for_documents_and_corpora(wb, times):
    acts = [
        lambda text, i, j: documents.list_documents(wb, i, text, limit=5),
        lambda text, i, j: documents.find_document(wb, i),
        lambda text, i, j: documents.find_document_by_name(wb, i, text),
        lambda text, i, j: documents.load_sentences(wb, [i, j]),
        lambda text, i, j: documents.list_sentences(wb, i),
        lambda text, i, j: documents.delete_document(wb, max(i, 50), by=j),
        lambda text, i, j: corpora.find_corpus(wb, text),
        lambda text, i, j: corpora.get_corpus(wb, i),
        lambda text, i, j: corpora.create_corpus(wb, text, by=j),
        lambda text, i, j: corpora.delete_corpus(wb, max(i, 50), by=j),
        lambda text, i, j: indexing.reindex(wb, i),
    ]
    strategy = st.tuples(st.sampled_from(acts), texts, ids, ids)
    check(times, strategy, lambda act, text, i, j: act(text, i, j))


@hostile
def test_labels(wb, times):
    acts = [
        lambda q, c, a, text: annotation.give_label(
            wb, question_id=q, sentence_id=c, annotator_id=a, label=text, presentation=Presentation(queue=text)
        ),
        lambda q, c, a, text: annotation.give_label(wb, question_id=q, sentence_id=c, annotator_id=a, label="correct"),
        lambda q, c, a, text: annotation.give_labels(
            wb, question_id=q, annotator_id=a, label=text, presentations={c: Presentation()}
        ),
        lambda q, c, a, text: annotation.withdraw(wb, question_id=q, sentence_id=c, annotator_id=a),
        lambda q, c, a, text: annotation.undo_last(wb, a, c),
        lambda q, c, a, text: annotation.list_acts(wb, a, c),
        lambda q, c, a, text: flags.add_flag(wb, question_id=q, sentence_id=c, annotator_id=a, note=text),
        lambda q, c, a, text: consensus.read_visible_labels(wb, q, a),
        lambda q, c, a, text: progress.measure_progress(wb, c, a, text),
        lambda q, c, a, text: leasing.find_next_item(wb, Seat(c, a, text), [(q, c), q]),
        lambda q, c, a, text: leasing.open_item(wb, Seat(c, a, text), q, c),
        lambda q, c, a, text: leasing.find_next_question(wb, Seat(1, a, text), [q, c]),
        lambda q, c, a, text: leasing.open_question(wb, Seat(1, a, text), q),
        lambda q, c, a, text: leasing.read_assignment(wb, q, c, a),
        lambda q, c, a, text: leasing.leave(wb, Seat(c, a, text)),
        lambda q, c, a, text: conflicts.adjudicate(
            wb, question_id=q, sentence_id=c, label=text, annotator_id=a, note=text
        ),
        lambda q, c, a, text: conflicts.list_conflicts(wb, c, a),
        lambda q, c, a, text: guidelines.write_guidelines(wb, c, text, by=a),
        lambda q, c, a, text: rules.set_rules(wb, c, by=a, overlap=q, control=0.5),
        lambda q, c, a, text: rules.set_rules(wb, 1, by=1, target=q),
    ]
    strategy = st.tuples(st.sampled_from(acts), ids, ids, ids, labels)
    check(2 * times, strategy, lambda act, q, c, a, text: act(q, c, a, text))


LABEL_FILES = [
    b'{"qid": "q", "question": "Who?", "candidates": [{"id": "c", "text": "Me.", "label": 1}]}\n',
    b"query,docid,rating\nWho?,tower-1,1\n",
    b"q 0 d 1\n",
    b"QuestionID\tQuestion\tDocumentID\tDocumentTitle\tSentenceID\tSentence\tLabel\nQ1\tWho?\tD1\tT\tD1-0\tMe.\t1\n",
    b'{"data": [{"title": "T", "paragraphs": [{"context": "Me.", "qas": []}]}]}',
    b"<QApairs id='1'>\n<question>\nWho\n</question>\n<positive>\nMe\n</positive>\n</QApairs>\n",
    b'[{"data": {"question": "Who?", "text": "Me."}, "annotations": [{"completed_by": {"email": "ann"}, "result": '
    b'[{"from_name": "label", "value": {"choices": ["correct"]}}]}]}]',
    b'[{"question": "Who?", "text": "Me.", "label": "no", "annotator": 3, "annotation_id": 1}]',
    b'[{"fields": {"question": "Who?", "text": "Me."}, "responses": {"label": [{"value": "1", "user_id": "u"}]}}]',
    b'{"text": "Me.", "meta": {"question": "Who?"}, "answer": "accept", "_session_id": "ann"}\n'
    b'{"text": "Who?", "options": [{"id": 1, "text": "Me."}], "accept": [1], "answer": "accept"}\n',
    b"query,docid,ann,bob\nWho?,tower-1,1.0,\n",
    b"PK\x03\x04",
    b"\x1f\x8b\x08\0",
]


@hostile
def test_label_files(wb, times):
    formats = st.one_of(st.sampled_from(["auto", *label_files.IMPORTS]), texts)
    strategy = st.tuples(st.one_of(st.none(), ids), texts, mutations(LABEL_FILES), formats, texts, texts, ids)

    def act(corpus_id, name, content, fmt, annotator, split, by):
        split = split if len(split) > 30 else ""
        import_labels(wb, corpus_id, name, content, fmt, annotator, split=split, by=1 if by % 2 else by)

    check(2 * times, strategy, act)
    check(
        times // 2,
        st.tuples(ids, st.one_of(st.sampled_from(list(exports.FORMATS)), texts), texts, ids),
        lambda corpus_id, fmt, annotator, by: exports.export_labels(wb, corpus_id, fmt, annotator, by=by),
    )


@hostile
def test_versions(wb, times, tmp_path):
    def import_folder(text, content, i):
        folder = tmp_path / "version"
        folder.mkdir(exist_ok=True)
        for name in ("config.json", "card.json", "model.safetensors", "as2_card.json"):
            (folder / name).write_bytes(content if i % 3 else b'{"ranker": "cascade"}')
        management.import_version(wb, folder, name=text, by=1)

    import io

    acts = [
        lambda text, content, i: registry.get_version(wb, text),
        lambda text, content, i: registry.list_versions(wb, text),
        lambda text, content, i: loading.load_version(wb, text, kind=text),
        lambda text, content, i: loading.load_ranker(wb, text),
        lambda text, content, i: loading.load_ranker(wb, f"cascade:{text}"),
        lambda text, content, i: loading.load_ranker(wb, f"fusion:rankers={text}"),
        lambda text, content, i: loading.find_base(wb, text),
        lambda text, content, i: promotion.promote(wb, text, text, by=i),
        lambda text, content, i: promotion.reject(wb, text, by=i),
        lambda text, content, i: promotion.roll_back(wb, text, by=i),
        lambda text, content, i: management.rename(wb, text, text, by=i),
        lambda text, content, i: management.rename(wb, "cascade", text, by=1),
        lambda text, content, i: management.set_note(wb, "cascade", text, by=1),
        lambda text, content, i: management.delete(wb, text, by=i),
        lambda text, content, i: management.export(wb, text, text, tmp_path / "out"),
        lambda text, content, i: archive.import_zip(wb, io.BytesIO(content), filename=text, name=text, by=1),
        import_folder,
    ]
    contents = st.one_of(st.binary(max_size=200), mutations([b"PK\x03\x04", b'{"ranker": "cascade", "format": 1}']))
    strategy = st.tuples(st.sampled_from(acts), texts, contents, ids)
    check(times, strategy, lambda act, text, content, i: act(text, content, i))


@hostile
def test_questions(wb, times):
    acts = [
        lambda text, i, j: asking.ask(wb, 1, text),
        lambda text, i, j: asking.ask(wb, i, text, version=text),
        lambda text, i, j: same_question.find_same_questions(wb, i, text),
        lambda text, i, j: questions.add_questions(wb, 1, text.split("\n"), by=1),
        lambda text, i, j: questions.add_questions(wb, i, [text], by=j),
        lambda text, i, j: stored_questions.list_questions(wb, i, limit=j % 50),
        lambda text, i, j: stored_questions.list_recent(wb, i, j),
        lambda text, i, j: stored_questions.is_queued(wb, i),
        lambda text, i, j: stored_questions.set_queued(wb, [i, j], queued=True, by=j),
        lambda text, i, j: stored_questions.preview_deletion(wb, i, by=j),
        lambda text, i, j: stored_questions.delete_question(wb, i, labels=j, by=1),
        lambda text, i, j: proposals.accept(wb, i, annotator_id=j, text=text),
        lambda text, i, j: proposals.reject(wb, i, annotator_id=j),
        lambda text, i, j: proposals.start(wb, i, number=j),
    ]
    strategy = st.tuples(st.sampled_from(acts), texts, ids, ids)
    check(times, strategy, lambda act, text, i, j: act(text, i, j))


@hostile
def test_people_jobs_and_comparisons(wb, times):
    acts = [
        lambda text, i, j: people.sign_in(wb, text),
        lambda text, i, j: people.find_person(wb, text),
        lambda text, i, j: people.set_role(wb, i, text, by=j),
        lambda text, i, j: people.set_role(wb, i, "viewer", by=1),
        lambda text, i, j: people.sign_in_subject(wb, text, text),
        lambda text, i, j: queue.load_job(wb, i),
        lambda text, i, j: queue.list_jobs(wb, text, 5),
        lambda text, i, j: queue.list_recent(wb, i),
        lambda text, i, j: queue.find_newest(wb, text, i),
        lambda text, i, j: comparison.load_comparison(wb, i, by=j),
        lambda text, i, j: question_sets.load_questions(wb, text),
    ]
    strategy = st.tuples(st.sampled_from(acts), texts, ids, ids)
    check(times, strategy, lambda act, text, i, j: act(text, i, j))
    (wb.settings.home / "login-required").unlink(missing_ok=True)


json_values = st.recursive(
    st.one_of(st.none(), st.booleans(), ids, st.floats(), st.text(characters, max_size=20)),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(st.text(max_size=8), inner, max_size=4)),
    max_leaves=12,
)


@hostile
def test_requests_to_the_endpoint(times):
    import json

    client = TestClient(build(ServedRankers(["bm25", "jaccard"])))

    def post(path, query, texts_, model, extra, is_raw):
        record = {"query": query, "documents": texts_, "model": model, **extra}
        body = json.dumps(record).encode() if not is_raw else json.dumps(record)[:-3].encode()
        answer = client.post(path, content=body, headers={"content-type": "application/json"})
        assert answer.status_code < 500 and answer.json()

    names = (
        "top_n return_documents x query documents texts input encoding_format max_tokens_per_doc raw_scores truncate"
    )
    extras = st.dictionaries(st.sampled_from(names.split()), json_values)
    paths = st.sampled_from(["/v1/rerank", "/v2/rerank", "/rerank"])
    one_text = st.one_of(texts, json_values)
    strategy = st.tuples(
        paths, one_text, st.lists(one_text, max_size=4), st.one_of(st.just("bm25"), one_text), extras, st.booleans()
    )
    check(times, strategy, post)


@hostile
def test_hosts_origins_and_paths(times):
    async def answer(_request):
        return PlainTextResponse("x")

    client = StarletteClient(
        HostGuard(Starlette(routes=[Route("/{path:path}", answer)]), "0.0.0.0", parse_hosts("*.a"))
    )
    header = st.text(st.characters(min_codepoint=0x20, max_codepoint=0xFF, exclude_characters="\x7f"), max_size=40)
    hosts = st.one_of(
        header, st.sampled_from(["localhost", "[::1", "1.2.3.4:99999", "a@b", "x.a", "[]:1", "\xb2:\xb2"])
    )

    def get(host, origin):
        sent = {"host": host.encode("latin-1"), "origin": origin.encode("latin-1")}
        assert client.get("/x", headers=sent).status_code in (200, 403)

    check(times, st.tuples(hosts, hosts), get)


@hostile
def test_configurations_of_the_log_in(times, tmp_path):
    values = Settings(home=tmp_path / "home")

    def read(content):
        (tmp_path / "secrets.toml").write_bytes(content)
        login.needs_login(values, [tmp_path / "secrets.toml"])

    whole = b'[auth]\nredirect_uri = "a"\ncookie_secret = "b"\nclient_id = "c"\nclient_secret = "d"\n'
    check(times, st.tuples(st.one_of(mutations([whole, b"[Auth]\n", b"auth = 1\n"]), st.binary(max_size=60))), read)
