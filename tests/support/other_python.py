"""Runs a script with a Python of this machine that has what it needs."""
import os
import shutil
import subprocess
import sys

SKIPPED = 77  # as tests/CMakeLists.txt says


def has(module):
    try:
        __import__(module)
    except ImportError:
        return False
    return True


def run_with(module):
    """This process goes on where it has the module; else another Python runs the same script in its place. False where none has."""
    if has(module):
        return True
    for python in dict.fromkeys([shutil.which("python3"), "/usr/bin/python3"]):
        if not python or os.path.realpath(python) == os.path.realpath(sys.executable):
            continue
        done = subprocess.run([python, "-c", f"import {module}"], capture_output=True)
        if done.returncode == 0:
            os.execv(python, [python, *sys.argv])
    print(f"{os.path.basename(sys.argv[0])}: no Python with {module} found, what needs it is skipped", file=sys.stderr)
    return False
