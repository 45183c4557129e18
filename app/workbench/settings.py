"""Where things are and how the app runs: read from the environment (`AS2_...`) once, at the edge."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from socket import gethostname
from typing import Literal
from urllib.parse import unquote

from pydantic import Field, ValidationError, field_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

from as2core.errors import BadSetting
from as2core.retrieval.sqlite import EXACT_LIMIT
from as2core.system.cores import LIMIT, count_cores
from as2core.system.hosts import parse_hosts

REPO = Path(__file__).resolve().parents[2]
PREFIX = "AS2_"
OTHERS = ("AS2_KEYS", LIMIT)  # variables of the library that a name may be a misspelling of
MIN_LIKENESS = 0.85  # of two names, from where on one is taken for a misspelling of the other
_WHO = re.compile(r"\*|.+\|.+|(\*\.)?[\w-]+(\.[\w-]+)*|[^@*]+@[\w.-]+")  # everyone, an account, a domain, an address


class Settings(BaseSettings):
    """`home` holds everything the app makes: database, versions, indexes, job folders. `local_dir` holds this machine's
    own part of it where several machines share the home: caches, prepared graphs, the worker's lock and log.

    `worker`: "auto" starts the background worker when there is work, "external" leaves that to `as2 worker`.
    `newcomers`: the role of people who sign in for the first time, after the first person.
    `login`: "auto" is as configured; "required" refuses to start without, "off" opens the home to everyone.
    `login_allowed`: who may log in, as addresses, domains and accounts; "" is everyone whom the provider lets in.
    `admin`: who becomes the first admin, likewise, or by a typed name. `session_hours`: how long a log-in lasts.
    `audit_days`: how far back the audit log reaches at least; 0 is for ever.
    `allowed_hosts`: names by which the pages may be opened, besides the loopback's and the bound address.
    `data_dir`: data sets that are not in the repository; WikiQA's dev questions there are a benchmark of retrains.
    `candidates`: sentences of the documents found that a question looks at; `first_keep`: those the cascade reads.
    `index_url`: a Milvus server that has the search indexes; "" keeps them in the home.
    `exact_passages`: up to so many of a corpus, a question is compared with all vectors."""

    model_config = SettingsConfigDict(env_prefix=PREFIX, env_ignore_empty=True, extra="ignore", frozen=True)

    home: Path = REPO / ".as2"
    local_dir: Path | None = None
    database_url: str = ""
    index_url: str = ""
    models_dir: Path = REPO / "models"
    corpora_dir: Path = REPO / "corpora"
    data_dir: Path | None = None
    worker: Literal["auto", "external"] = "auto"
    engine: Literal["auto", "torch", "onnx"] = "auto"
    newcomers: Literal["annotator", "viewer", "blocked"] = "annotator"
    login: Literal["auto", "required", "off"] = "auto"
    login_allowed: str = ""
    admin: str = ""
    session_hours: float = Field(default=12, gt=0, le=720)
    audit_days: int = Field(default=400, ge=0, le=36_500)
    allowed_hosts: str = ""
    candidates: int = Field(default=1300, ge=1)
    first_keep: int = Field(default=100, ge=1)
    exact_passages: int = Field(default=EXACT_LIMIT, ge=0)

    @field_validator("home", "local_dir", "models_dir", "corpora_dir", "data_dir")
    @classmethod
    def _absolute(cls, value: Path | None) -> Path | None:
        return value and value.expanduser().absolute()

    @field_validator("database_url")
    @classmethod
    def _absolute_file(cls, value: str) -> str:
        """SQLite's file as seen from here: the worker and the server are started in another folder."""
        kind, _, file = value.partition(":///")
        if not kind.startswith("sqlite") or not file or file.startswith((":memory:", "file:")):
            return value
        return f"{kind}:///{Path(file).expanduser().absolute()}"

    @field_validator("allowed_hosts")
    @classmethod
    def _check_hosts(cls, value: str) -> str:
        parse_hosts(value)
        return value

    @field_validator("login_allowed")
    @classmethod
    def _check_who_may(cls, value: str) -> str:
        """An entry that nobody can be keeps people out, and its owner would look elsewhere for the reason."""
        for entry in value.replace(",", " ").split():
            if not _WHO.fullmatch(entry):
                raise BadSetting(
                    f"AS2_LOGIN_ALLOWED: {entry!r} is no address, domain (lab.example, *.lab.example) or account "
                    "(issuer|subject)"
                )
        return value

    @property
    def database(self) -> str:
        return self.database_url or to_sqlite_url(self.home / "as2.db")

    @property
    def database_file(self) -> Path | None:
        """SQLite's; None where the database is on a server."""
        kind, _, file = self.database.partition(":///")
        return Path(unquote(file.partition("?")[0])) if kind.startswith("sqlite") else None

    @property
    def has_database(self) -> bool:
        """Whether there is one already; one on a server is taken to be there."""
        return self.database_file is None or self.database_file.is_file()

    @property
    def starter_dir(self) -> Path:
        """The corpus that is shown first: articles, and a file of labelled questions a part."""
        return self.shipped_dir("starter")

    def shipped_dir(self, name: str) -> Path:
        """Where a shipped corpus is read from."""
        return self.corpora_dir / name

    def removed_mark(self, name: str) -> Path:
        """A file that is there when somebody deleted this shipped corpus."""
        return self.home / f"{name}-removed"

    @property
    def gates_dir(self) -> Path:
        """The files of gates that a version has to pass before it is promoted."""
        return self.home / "gates"

    @property
    def rankings_dir(self) -> Path:
        """Runs that people uploaded, to compare with."""
        return self.home / "rankings"

    @property
    def slices_file(self) -> Path:
        """The user's own slices of labelled questions."""
        return self.home / "slices.toml"

    @property
    def local(self) -> Path:
        """What may be lost, or is of this machine alone. On a network volume SQLite's locks cannot be relied on."""
        return self.local_dir or self.home

    @property
    def graphs_dir(self) -> Path:
        return self.local / "graphs"

    @property
    def passages_file(self) -> Path:
        """Sentences as generative rankers read them; may be deleted at any time."""
        return self.local / "passages.db"

    @property
    def logits_file(self) -> Path:
        """What versions scored in retrains; may be deleted at any time."""
        return self.local / "logits.db"

    @property
    def versions_dir(self) -> Path:
        return self.home / "versions"

    @property
    def jobs_dir(self) -> Path:
        return self.home / "jobs"

    @property
    def worker_lock(self) -> Path:
        """With PostgreSQL one a machine: workers of several machines may share the home."""
        if self.database.startswith("sqlite"):
            return self.home / "worker.lock"
        return self.local / f"worker-{gethostname()}.lock"

    @property
    def login_mark(self) -> Path:
        """A file that is there since somebody used this home with a log-in."""
        return self.home / "login-required"

    @property
    def worker_log(self) -> Path:
        return self.local / "worker.log"

    @property
    def worker_failure(self) -> Path:
        """A file that is there when the last worker ended by a fault."""
        return self.local / "worker-failure.json"

    @property
    def index_dir(self) -> Path:
        return self.home / "index"

    def index_file(self, corpus_id: int) -> Path:
        return self.index_dir / f"{corpus_id}.db"


def to_sqlite_url(file: Path) -> str:
    """A URL of SQLAlchemy, whatever is in the file's path."""
    return f"sqlite:///{str(file).replace('%', '%25').replace('?', '%3F')}"


@cache
def get_settings() -> Settings:
    """The process's settings. Raises BadSetting naming the variable."""
    check_names(os.environ)
    count_cores()  # says what is wrong with their limit
    try:
        return Settings()
    except ValidationError as e:
        first = e.errors()[0]
        raise BadSetting(f"{PREFIX}{'_'.join(map(str, first['loc'])).upper()}: {first['msg']}") from e


def check_names(variables: Iterable[str]) -> None:
    """Raises BadSetting for a misspelt variable: without it, `AS2_LOGIN_ALOWED` would let in everybody. Others that
    begin alike are somebody else's, such as those that Kubernetes sets for a service."""
    names = [*(name.removeprefix(PREFIX) for name in OTHERS), *(field.upper() for field in Settings.model_fields)]
    for name in sorted(v.removeprefix(PREFIX) for v in variables if v.startswith(PREFIX)):
        if name not in names and (near := get_close_matches(name, names, n=1, cutoff=MIN_LIKENESS)):
            raise BadSetting(
                f"{PREFIX}{name} is no setting: did you mean {PREFIX}{near[0]}? docs/running.md lists them"
            )
