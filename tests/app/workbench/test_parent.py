"""What is to end with the process that started it."""

import subprocess
import sys
import threading

import psutil
from polling import until

from app.workbench import parent_process

CHILD = """
import time
from app.workbench.parent_process import end_with_parent
end_with_parent()
print(1, flush=True)
time.sleep(99)
"""
STARTER = f"""
import os, subprocess, sys, time
from app.workbench.parent_process import name_parent
environment = {{**os.environ, **name_parent()}}
child = subprocess.Popen([sys.executable, "-c", {CHILD!r}], env=environment, stdout=subprocess.PIPE)
child.stdout.readline()
print(child.pid, flush=True)
time.sleep(99)
"""


def test_a_process_ends_soon_after_the_one_that_started_it_was_killed():
    starter = subprocess.Popen([sys.executable, "-c", STARTER], stdout=subprocess.PIPE, text=True)
    child = psutil.Process(int(starter.stdout.readline()))
    assert child.is_running()
    starter.kill()
    starter.wait()
    until(lambda: not child.is_running() or child.status() == psutil.STATUS_ZOMBIE, "its end")


def test_a_process_that_was_not_asked_to_watches_nobody(monkeypatch):
    monkeypatch.delenv(parent_process.PARENT, raising=False)
    parent_process.end_with_parent()
    assert "parent" not in {t.name for t in threading.enumerate()}
