"""What the tests of `distsim serve` share: TEST.py DISTSIM."""
import os
import pathlib
import subprocess
import sys
import unittest

from client import HANG, Server, talk

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
BINARY = os.path.abspath(sys.argv.pop(1))
CONFIG = "configs/dgx_a100_4node.yaml"
TEXT = (ROOT / CONFIG).read_text()
LLM = "cluster: {system: dgx_h100, nodes: 1}\nmodel: {name: llama3_8b, global_batch: 16}\nframework: {name: megatron_core}\n"
LONG = "cluster: {system: dgx_a100_80gb, nodes: 512}\nmodel: {name: dlrm_mlperf, global_batch: 1048576}\nframework: {name: pytorch_dlrm}\nengine: {contention: true}\n"


def command(*words):
    return subprocess.run([BINARY, *words], capture_output=True, text=True, cwd=ROOT, timeout=HANG)


class Serving(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server(BINARY, "--config", CONFIG, cwd=ROOT)

    @classmethod
    def tearDownClass(cls):
        code, said = cls.server.end()
        assert code == 0 and said == "", f"exit code {code}, standard error {said!r}"

    def talk(self):
        out = talk(self.server)
        self.addCleanup(out.close)
        return out

    def is_well(self):
        """A page that was there, or comes now, is served."""
        answer = self.talk().ask(type="predict", text=TEXT)
        self.assertEqual(answer["type"], "prediction")
