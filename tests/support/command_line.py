"""The command that a test was given, and a call of it. `memory`: bytes of address space that it may take."""
import pathlib
import resource
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
BINARY = sys.argv.pop(1)
FLAGSHIP = str(ROOT / "configs/dgx_a100_4node.yaml")


def run(*args, cwd=None, memory=None):
    limit = (lambda: resource.setrlimit(resource.RLIMIT_AS, (memory, memory))) if memory else None
    return subprocess.run([BINARY, *map(str, args)], capture_output=True, text=True, cwd=cwd, timeout=60, preexec_fn=limit)
