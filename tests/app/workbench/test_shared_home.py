"""Servers that share a home and a database, each with a folder of its own for what is its machine's alone."""

import contextlib

import pytest
from fake_models import FakeModels, write_version
from tower_texts import BRIDGE, TOWER

from app import bootstrap
from app.corpora import corpora, ingestion
from app.ranking import retrieval
from app.versions import loading, promotion, registry
from app.workbench.workbench import DatabaseTrouble


@pytest.fixture
def servers(settings, tmp_path):
    """Two, with one home and a folder each."""
    with contextlib.ExitStack() as stack:
        opened = []
        for name in ("first", "second"):
            own = settings.model_copy(update={"local_dir": tmp_path / name})
            opened.append(stack.enter_context(contextlib.closing(bootstrap.open(own, FakeModels()))))
        yield opened


def find_documents(wb, corpus_id):
    found = retrieval.retrieve(wb, corpus_id, "Which tower and which bridge?", documents=9, candidates=99)
    return {s.title for s in found.candidates}


def test_what_one_server_adds_and_promotes_the_other_finds_and_answers_with(servers):
    first, second = servers
    corpus = corpora.create_corpus(first, "towers")
    for wb, file in ((first, ("tower.txt", TOWER)), (second, ("bridge.txt", BRIDGE))):
        ingestion.ingest(wb, corpus.id, [(file[0], file[1].encode())])
    found = [find_documents(wb, corpus.id) for wb in servers]
    assert found[0] == found[1] == {"tower", "bridge"}

    with first.write() as s:
        registry.add_candidate(s, first, "new", write_version(first.settings.versions_dir / "new"))
    promotion.promote(first, "new")
    loaded = loading.load_version(second)
    assert (loaded.name, loaded.note) == ("new", "")


def test_caches_graphs_and_log_are_of_the_machine_and_nothing_of_it_is_in_the_home(servers, settings, tmp_path):
    for wb, name in zip(servers, ("first", "second"), strict=True):
        own = wb.settings
        for path in (own.graphs_dir, own.passages_file, own.logits_file, own.worker_log, own.worker_failure):
            assert path.parent == tmp_path / name
        for path in (own.versions_dir, own.jobs_dir, own.index_dir, own.gates_dir, own.rankings_dir):
            assert path.parent == settings.home


def test_with_sqlite_one_worker_serves_the_home_and_with_postgresql_one_a_folder(servers, settings):
    postgres = [wb.settings.model_copy(update={"database_url": "postgresql://db/labels"}) for wb in servers]
    assert postgres[0].worker_lock != postgres[1].worker_lock
    sqlite = [wb.settings.model_copy(update={"database_url": ""}) for wb in servers]
    assert {s.worker_lock for s in sqlite} == {settings.home / "worker.lock"}


def test_a_folder_that_cannot_be_made_is_named_with_its_variable(settings, tmp_path):
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(DatabaseTrouble, match=r"cannot use the folder .*/file: it is a file; set AS2_LOCAL_DIR"):
        bootstrap.open(settings.model_copy(update={"local_dir": tmp_path / "file"}))
    with pytest.raises(DatabaseTrouble, match=r"cannot use the folder .*/file/in.*set AS2_HOME"):
        bootstrap.open(settings.model_copy(update={"home": tmp_path / "file" / "in" / "it", "local_dir": None}))


def test_a_home_of_somebody_else_is_to_be_opened_by_its_owner(settings, monkeypatch):
    def refuse(_settings):
        raise PermissionError(13, "Permission denied", str(settings.versions_dir))

    monkeypatch.setattr(bootstrap, "prepare_home", refuse)
    with pytest.raises(DatabaseTrouble, match=r"/versions: Permission denied; run this as the owner .* set AS2_HOME$"):
        bootstrap.open(settings)
