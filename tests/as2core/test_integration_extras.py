"""Without its extra, an integration says which one to install."""

import importlib
import sys

import pytest


@pytest.mark.parametrize(
    ("module", "package", "extra"),
    [("langchain", "langchain_core", "langchain"), ("llama_index", "llama_index", "llama-index")],
)
def test_an_integration_without_its_package_names_the_extra(monkeypatch, module, package, extra):
    for name in [n for n in sys.modules if n == package or n.startswith(f"{package}.")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, package, None)
    monkeypatch.delitem(sys.modules, f"as2core.integrations.{module}", raising=False)
    with pytest.raises(ImportError, match=rf"pip install -e '\.\[{extra}\]'"):
        importlib.import_module(f"as2core.integrations.{module}")
