"""A document of one file, its sentences, and PDFs written by hand."""

import io

import pypdf

from as2core.documents.reading import read_documents
from as2core.documents.sections import split_document


def one(name, data):
    (document,) = read_documents(name, data.encode() if isinstance(data, str) else data)
    return document


def split(name, data):
    """The texts of its sentences."""
    return [s.text for s in split_document(one(name, data))]


def split_page(body):
    return split("a.html", f"<title>Help</title><body>{body}")


def pdf(*pages, title="", password=""):
    """A PDF written by hand: each page's lines in Helvetica."""
    writer = pypdf.PdfWriter()
    font = pypdf.generic.DictionaryObject(
        {
            pypdf.generic.NameObject("/Type"): pypdf.generic.NameObject("/Font"),
            pypdf.generic.NameObject("/Subtype"): pypdf.generic.NameObject("/Type1"),
            pypdf.generic.NameObject("/BaseFont"): pypdf.generic.NameObject("/Helvetica"),
        }
    )
    for text in pages:
        page = writer.add_blank_page(300, 300)
        shown = "".join(f"({row}) Tj T* " for row in text.split("\n"))
        stream = pypdf.generic.DecodedStreamObject()
        stream.set_data(f"BT /F1 12 Tf 14 TL 20 280 Td {shown}ET".encode() if text else b"")
        page[pypdf.generic.NameObject("/Contents")] = writer._add_object(stream)
        fonts = pypdf.generic.DictionaryObject({pypdf.generic.NameObject("/F1"): font})
        page[pypdf.generic.NameObject("/Resources")] = pypdf.generic.DictionaryObject(
            {pypdf.generic.NameObject("/Font"): fonts}
        )
    if title:
        writer.add_metadata({"/Title": title})
    if password:
        writer.encrypt(password, algorithm="RC4-128")
    out = io.BytesIO()
    writer.write(out)
    return out.getvalue()
