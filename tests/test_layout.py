"""Who may import whom, what import may cost, what is declared, and what the wheel holds."""

from __future__ import annotations

import ast
import importlib.metadata
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
OURS = ("as2core", "app", "db", "pages")


def sources(package: str) -> list[Path]:
    return sorted((ROOT / package).rglob("*.py"))


def list_imports(path: Path) -> set[str]:
    """Top-level names of everything a file imports, wherever in it."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {a.name.partition(".")[0] for a in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found.add(node.module.partition(".")[0])
    return found


def canonical(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def list_requirements(*extras: str) -> set[str]:
    """Names of the distributions that the project, with these extras, asks for."""
    lines = list(PROJECT["project"]["dependencies"])
    for extra in extras:
        lines += PROJECT["project"]["optional-dependencies"][extra]
    return {canonical(re.match(r"[\w.-]+", line)[0]) for line in lines}


def test_imports_go_only_in_the_directions_the_design_allows():
    program = "from importlinter.cli import lint_imports; import sys; sys.exit(lint_imports(no_cache=True))"
    # in a process of its own: pytest puts tests/ on the path, where more folders are called `pages` and `app`
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert " 0 broken" in done.stdout


def test_the_import_contracts_see_every_package_and_page():
    import grimp

    graph = grimp.build_graph(*OURS, cache_dir=None)
    for package in OURS:
        files = [p for p in sources(package) if p.name != "__init__.py" and "migrations" not in p.parts]
        modules = {".".join(p.relative_to(ROOT).with_suffix("").parts) for p in files}
        assert modules, package
        assert modules <= graph.modules, modules - graph.modules


def test_importing_the_library_does_not_import_torch():
    names = ["types", "errors", "metrics", "cost", "text", "terminal", "cli", "rankers.catalog", "evaluation"]
    assert "torch" not in loaded_by(*(f"as2core.{name}" for name in names))


def test_importing_the_worker_does_not_import_torch():
    assert "torch" not in loaded_by("app.worker")  # which waits for jobs, and ends without one


def test_importing_the_readers_does_not_import_torch():
    packages = ("as2core/data", "as2core/documents", "as2core/sources")
    paths = (p.relative_to(ROOT).with_suffix("") for package in packages for p in sources(package))
    names = [".".join(p.parts) for p in paths if p.name != "__init__"]
    assert {"as2core.data.jsonl", "as2core.data.label_files.rows", "as2core.documents.pdf"} <= set(names)
    assert "torch" not in loaded_by(*names)


def test_importing_the_command_line_loads_no_database_and_no_page():
    assert not {"torch", "sqlalchemy", "streamlit", "pandas", "transformers"} & loaded_by("as2core.cli", "app.cli")


def loaded_by(*modules: str) -> set[str]:
    """Top-level modules in memory after importing these in a fresh process."""
    program = f"import {', '.join(modules)}, sys; print(*{{m.partition('.')[0] for m in sys.modules}})"
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    return set(done.stdout.split())


@pytest.mark.parametrize(
    ("package", "extras"),
    [("as2core", ("hub", "serve", "langchain", "llama-index", "milvus", "ray")), ("db", ("app",)), ("app", ("app",))],
)
def test_every_library_imported_is_declared(package, extras):
    not_set_up = {
        "llama_index": ["llama-index-core"],
        "grpc": ["grpcio"],
    }  # named otherwise than its package, and not in `make setup`
    by_module = not_set_up | importlib.metadata.packages_distributions()
    allowed = list_requirements(*extras)
    for path in sources(package):
        for module in list_imports(path) - set(sys.stdlib_module_names) - set(OURS):
            distributions = {canonical(d) for d in by_module.get(module, [module])}
            assert distributions & allowed, f"{path.relative_to(ROOT)} imports {module}, which no extra declares"


def test_no_room_is_called_utils_or_the_like():
    names = {p.name for package in OURS for p in sources(package)}
    assert not names & {"utils.py", "helpers.py", "common.py", "misc.py"}


def test_only_the_library_goes_into_the_wheel():
    from setuptools import find_packages

    found = find_packages(str(ROOT), **PROJECT["tool"]["setuptools"]["packages"]["find"])
    assert "as2core.data" in found
    assert all(p == "as2core" or p.startswith("as2core.") for p in found)


def test_every_shipped_model_goes_into_the_wheel():
    models = {f"models/{p.name}/*" for p in (ROOT / "models").iterdir() if p.is_dir()}
    assert models == {p for ps in PROJECT["tool"]["setuptools"]["data-files"].values() for p in ps} != set()


def test_what_the_entry_points_name_is_there():
    points = [*PROJECT["project"]["scripts"].values()]
    points += [v for group in PROJECT["project"]["entry-points"].values() for v in group.values()]
    assert len(points) == 4
    for value in points:
        assert callable(importlib.metadata.EntryPoint("", value, "").load())


def test_the_constraints_pin_every_requirement_to_one_plain_version():
    pins = {}
    for line in (ROOT / "constraints.txt").read_text().splitlines():
        if not line.startswith("#"):
            name, _, version = line.partition("==")
            assert re.fullmatch(r"\d+(\.\w+)*", version), line
            pins[canonical(name)] = version
    assert list_requirements(*PROJECT["project"]["optional-dependencies"]) <= set(pins)


def test_the_container_installs_the_constraints_versions_and_each_has_hashes():
    text = (ROOT / "requirements-container.txt").read_text()
    blocks = re.split(r"\n(?=\S)", "\n" + re.sub(r"^#.*\n", "", text, flags=re.M))[1:]
    pins = {canonical(name): version for name, version in (re.match(r"(\S+?)==(\S+)", b).groups() for b in blocks)}
    assert all(re.search(r"--hash=sha256:[0-9a-f]{64}", block) for block in blocks)
    lines = [line for line in (ROOT / "constraints.txt").read_text().splitlines() if not line.startswith("#")]
    constraints = {canonical(name): version for name, _, version in (line.partition("==") for line in lines)}
    assert {name for name, version in pins.items() if constraints.get(name) != version} <= {"setuptools"}  # torch's
    assert list_requirements("app", "auth", "hub", "postgres", "serve") - {"torch"} <= set(pins)


def test_the_container_takes_the_torch_of_the_constraints():
    pin = re.search(r"^torch==\S+$", (ROOT / "constraints.txt").read_text(), re.M)[0]
    assert set(re.findall(r"torch==[\d.]+", (ROOT / "Dockerfile").read_text())) == {pin}


def test_what_the_docs_have_somebody_write_beside_the_program_is_in_no_commit_of_theirs():
    ignored = (ROOT / ".gitignore").read_text().splitlines()
    assert {"secrets.toml", ".env", "as2.env", "compose.override.yaml", "serve-keys/"} <= set(ignored)


def test_the_container_holds_all_that_the_app_reads():
    kept = {line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")}
    assert {*OURS, "models", "corpora", ".streamlit", "streamlit_app.py", "constraints.txt"} <= kept
    assert all((ROOT / name).exists() for name in kept)


def test_compose_starts_the_app_alone_unless_scaled():
    import yaml

    compose = yaml.safe_load((ROOT / "compose.yaml").read_text())
    profiles = {name: service.get("profiles", []) for name, service in compose["services"].items()}
    assert profiles == {"app": [], "worker": ["scale"], "db": ["scale"]}
    assert compose["services"]["app"]["ports"] == ["${AS2_BIND:-127.0.0.1}:8501:8501"]


def test_compose_hands_the_database_any_password_that_its_server_has():
    import yaml
    from sqlalchemy import make_url

    compose = yaml.safe_load((ROOT / "compose.yaml").read_text())
    services = {name: service["environment"] for name, service in compose["services"].items()}
    url = re.fullmatch(r"\$\{COMPOSE_PROFILES:\+(.+)\}", services["app"]["AS2_DATABASE_URL"])[1]
    assert make_url(url).password is None  # an address would take an @ or a % in it for something else
    for name in ("app", "worker"):
        assert services[name]["PGPASSWORD"] == services["db"]["POSTGRES_PASSWORD"] == "${AS2_DB_PASSWORD:-}"
        assert services[name].items() >= compose["x-workbench"]["environment"].items()


def test_compose_gives_every_container_the_same_limits():
    import yaml

    services = yaml.safe_load((ROOT / "compose.yaml").read_text())["services"]
    for service in services.values():
        assert service["read_only"] and service["cap_drop"] == ["ALL"] and service["mem_limit"]
        assert service["security_opt"] == ["no-new-privileges:true"] and service["pids_limit"]


def test_every_variable_compose_sets_is_a_setting():
    import yaml

    from app.workbench.settings import Settings

    known = {f"AS2_{name.upper()}" for name in Settings.model_fields}
    environment = yaml.safe_load((ROOT / "compose.yaml").read_text())["x-workbench"]["environment"]
    assert environment and set(environment) <= known


def test_a_variable_left_empty_counts_as_not_set(monkeypatch):
    from app.workbench.settings import Settings

    monkeypatch.setenv("AS2_WORKER", "")
    monkeypatch.setenv("AS2_DATABASE_URL", "")
    settings = Settings()
    assert settings.worker == "auto"
    assert settings.database.startswith("sqlite:")


def test_every_test_file_has_a_name_of_its_own():
    names = [p.name for p in (ROOT / "tests").rglob("*.py") if p.name != "conftest.py"]
    assert len(names) == len(set(names)), sorted(n for n in set(names) if names.count(n) > 1)


def test_the_script_for_root_runs_a_command_as_the_service_does(tmp_path):
    unit = (ROOT / "docs/deploy/as2.service").read_text()
    user, start = (
        re.search(r"^User=(\w+)", unit, re.MULTILINE)[1],
        re.search(r"^ExecStart=(\S+)", unit, re.MULTILINE)[1],
    )
    own = dict(pair.split("=") for pair in re.search(r"^Environment=(.*)", unit, re.MULTILINE)[1].split())
    own.pop("AS2_LOGIN")  # of the pages
    lines = ["# AS2_ADMIN=eve", "AS2_LOGIN_ALLOWED='https://id|1, *.lab'", 'AS2_ADMIN="a b"', 'PGPASSWORD=a$b`c="d']
    (tmp_path / "as2.env").write_text("\n".join(lines))  # the last line without an end, as editors may leave it
    (tmp_path / "setpriv").write_text('#!/bin/sh\nprintf "%s\\n" "$@"; env; umask\n')
    (tmp_path / "setpriv").chmod(0o700)
    script = (ROOT / "docs/deploy/as2").read_text().replace("/etc/as2.env", str(tmp_path / "as2.env"))
    environment = {"PATH": f"{tmp_path}:/usr/bin:/bin"}
    run = subprocess.run(["sh", "-c", script, "as2", "people", "role", "Ada B", "admin"], env=environment,
                         capture_output=True, text=True, check=True)  # fmt: skip
    output = run.stdout.splitlines()
    assert output[:7] == [
        f"--reuid={user}",
        f"--regid={user}",
        "--init-groups",
        start.split()[0],
        "people",
        "role",
        "Ada B",
    ]
    settings = {"AS2_LOGIN_ALLOWED": "https://id|1, *.lab", "AS2_ADMIN": "a b", "PGPASSWORD": 'a$b`c="d'}
    assert {f"{name}={value}" for name, value in {**own, **settings}.items()} < set(output)
    assert output[-1] == "0077"
