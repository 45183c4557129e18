"""A PostgreSQL of one test's own: Debian's, on a socket in a folder of its own, as a user it agrees to run as."""

from __future__ import annotations

import os
import shutil
import subprocess
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def find_postgres() -> Path | None:
    """The folder of its programs; None where there is none."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    return found[-1].parent if found else None


@contextmanager
def serve_postgres(binaries: Path) -> Iterator[str]:
    """Its address, for AS2_DATABASE_URL. The database is deleted afterwards."""
    home = Path("/tmp") / f"as2-pg-{os.getpid()}"  # a socket's path must be short
    home.mkdir()
    as_root = ["runuser", "-u", "postgres", "--"] if os.getuid() == 0 else []
    if as_root:
        shutil.chown(home, "postgres")

    def run(*command: str) -> None:
        done = subprocess.run([*as_root, *command], cwd=home, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr

    run(str(binaries / "initdb"), "-D", str(home / "data"), "-A", "trust", "-U", "as2", "--no-sync")
    options = f"-k {home} -c listen_addresses= -c fsync=on"
    control = [str(binaries / "pg_ctl"), "-D", str(home / "data"), "-w", "-l", str(home / "log")]
    run(*control, "-o", options, "start")
    try:
        yield f"postgresql+psycopg://as2@/postgres?host={home}"
    finally:
        run(*control, "-m", "fast", "stop")
        shutil.rmtree(home)


@contextmanager
def own_schema(url: str) -> Iterator[str]:
    """The address of an empty schema of that server. It is deleted afterwards."""
    import psycopg

    schema = f"test_{uuid.uuid4().hex[:12]}"
    plain = url.replace("+psycopg", "", 1)  # as the driver itself wants it
    with psycopg.connect(plain, autocommit=True) as connection:
        connection.execute(f"CREATE SCHEMA {schema}")
    try:
        yield f"{url}{'&' if '?' in url else '?'}options=-csearch_path%3D{schema}"
    finally:
        with psycopg.connect(plain, autocommit=True) as connection:
            connection.execute(f"DROP SCHEMA {schema} CASCADE")
