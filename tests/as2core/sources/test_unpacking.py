"""Packed files that hold far more than they seem to."""

import gzip
import io
import subprocess
import sys
import zipfile

import pytest

from as2core.data import jsonl, squad
from as2core.data.source import read_all
from as2core.documents.reading import read_documents
from as2core.errors import UnreadableFile
from as2core.sources import unpacking
from as2core.sources.content import read_bytes

MB = 1_000_000


def pack_zeros(megabytes):
    out = io.BytesIO()
    with gzip.GzipFile(fileobj=out, mode="wb", compresslevel=9) as file:
        for _ in range(megabytes):
            file.write(b"a" * MB)
    return out.getvalue()


def test_a_text_file_that_is_a_packed_bomb_is_refused_in_little_memory():
    """300 MB in 0.3 MB, read by a process that stays below 200 MB."""
    program = (
        "import sys\n"
        "from as2core.documents.reading import read_documents\n"
        "from as2core.errors import UnreadableFile\n"
        "content = sys.stdin.buffer.read()\n"
        "try:\n    list(read_documents('a.txt', content))\n"
        "except UnreadableFile as e:\n    print(e)\n"
        "print(open('/proc/self/status').read().partition('VmHWM:')[2].split()[0])\n"
    )
    done = subprocess.run([sys.executable, "-c", program], input=pack_zeros(300), capture_output=True, check=True)
    message, kilobytes = done.stdout.decode().splitlines()
    assert message == "a.txt: it unpacks to more than 200 times its size, as no text does; unpack it first"
    assert int(kilobytes) < 200_000


def test_a_packed_file_within_the_limits_is_read(tmp_path):
    text = "".join(f"Sentence {i} of many.\n" for i in range(400_000)).encode()
    packed = gzip.compress(text)
    assert len(text) / len(packed) < 10
    assert read_bytes(packed) == text
    (tmp_path / "a.gz").write_bytes(packed)
    assert read_bytes(tmp_path / "a.gz") == text


def test_content_beyond_the_size_limit_is_refused(monkeypatch, tmp_path):
    monkeypatch.setattr("as2core.sources.content.MAX_WHOLE_BYTES", MB)
    packed = gzip.compress(bytes(range(256)) * 4000)
    (tmp_path / "a.gz").write_bytes(packed)
    for source in (packed, tmp_path / "a.gz"):
        with pytest.raises(UnreadableFile, match="it unpacks to more than 1 MB"):
            read_bytes(source)


def test_what_is_packed_twice_is_refused():
    with pytest.raises(UnreadableFile, match=r"a\.txt: it is packed twice"):
        list(read_documents("a.txt", gzip.compress(gzip.compress(b"text"))))


def test_a_line_without_end_is_refused(monkeypatch, tmp_path):
    monkeypatch.setattr("as2core.sources.content.MAX_LINE_BYTES", 1000)
    (tmp_path / "a.jsonl").write_text("x" * 2000)
    with pytest.raises(UnreadableFile, match=r"a\.jsonl: a line has more than"):
        jsonl.read(tmp_path / "a.jsonl")


def test_the_members_of_an_archive_are_counted_together_and_each_alone():
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("zeros", b"\0" * (30 * MB))
        archive.writestr("again", gzip.compress(b"x"))
    with zipfile.ZipFile(packed) as archive:
        for name, reason in (("zeros", "far more than its size|200 times"), ("again", "packed once more")):
            with archive.open(name) as source, pytest.raises(UnreadableFile, match=reason):
                member = archive.getinfo(name)
                unpacking.copy_member(source, io.BytesIO(), member.compress_size, unpacking.Quota())
        quota = unpacking.Quota(40)
        with pytest.raises(UnreadableFile, match="more than"):
            for _ in range(2):
                unpacking.copy_member(io.BytesIO(b"x" * 30), io.BytesIO(), 30, quota)


@pytest.mark.parametrize("name", ["a.jsonl", "a.csv", "a.tsv"])
def test_a_document_file_has_no_longer_lines_either(monkeypatch, name):
    monkeypatch.setattr("as2core.sources.content.MAX_LINE_BYTES", 1000)
    monkeypatch.setattr("as2core.documents.reading.MAX_LINE_BYTES", 1000)
    row = {"a.jsonl": b'{"text": "%s"}\n'}.get(name, b"text\n%s\n")
    assert len(list(read_documents(name, row % b"One word."))) == 1
    with pytest.raises(UnreadableFile, match="more than 0 MB"):
        list(read_documents(name, row % (b"x" * 2000)))


def test_a_json_document_that_was_sent_is_no_larger_than_a_line(monkeypatch, tmp_path):
    monkeypatch.setattr("as2core.data.source.MAX_LINE_BYTES", 1000)
    content = b'{"data": []}' + b" " * 1000
    (tmp_path / "a.json").write_bytes(content)
    assert read_all(squad.stream, tmp_path / "a.json")[0] == []
    with pytest.raises(UnreadableFile, match="a JSON document has at most"):
        read_all(squad.stream, content)


def test_json_of_more_values_than_a_program_can_hold_is_refused_before_it_is_parsed(monkeypatch, tmp_path):
    """Of a line, and of a document that was sent: `[[],[],…` takes thirty times its size, and stops all threads."""
    monkeypatch.setattr("as2core.sources.content.MAX_JSON_VALUES", 100)
    few, many = b"[" + b"[]," * 40 + b"[]]", b"[" + b"[]," * 60 + b"[]]"
    for content, reason in ((few, "not SQuAD's JSON"), (many, "it has more than 5,000,000 values")):
        with pytest.raises(UnreadableFile, match=reason):
            read_all(squad.stream, content)
    (tmp_path / "a.json").write_bytes(many)
    with pytest.raises(UnreadableFile, match="not SQuAD's JSON"):
        read_all(squad.stream, tmp_path / "a.json")
    assert "5,000,000 values" in str(read_all(jsonl.stream, many)[1][0])
    with pytest.raises(UnreadableFile, match="5,000,000 values"):
        list(read_documents("a.jsonl", many))
