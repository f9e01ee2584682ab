#!/usr/bin/env python3
"""The Python module as `cmake --install` leaves it: one folder that works wherever it is copied to. Arguments: the cmake program, the build
folder, the command."""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent
CMAKE, BUILD, BINARY = (sys.argv.pop(1) for _ in range(3))
ENVIRONMENT = {k: v for k, v in os.environ.items() if k not in ("DISTSIM_CONFIGS", "DESTDIR", "LD_LIBRARY_PATH", "PYTHONPATH")}


def call(*argv, cwd="/", **environment):
    done = subprocess.run(list(map(str, argv)), capture_output=True, text=True, timeout=300, cwd=cwd, env={**ENVIRONMENT, **environment})
    assert done.returncode == 0, f"{argv}: {done.returncode}\n{done.stdout}{done.stderr}"
    return done.stdout


class Installed(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp())
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        call(CMAKE, "--install", BUILD, "--prefix", cls.folder / "first", "--component", "python")
        found = list((cls.folder / "first").rglob("distsim/__init__.py"))
        assert len(found) == 1, found
        cls.site = cls.folder / "anywhere"
        found[0].parent.parent.rename(cls.site)

    def python(self, text):
        return call(sys.executable, "-c", text, PYTHONPATH=str(self.site), PYTHONDONTWRITEBYTECODE="1")

    def test_every_file_has_its_place(self):
        for file in ("distsim/__init__.py", "distsim/_distsim.pyi", "distsim/py.typed", "distsim/configs/systems/dgx_a100_80gb.yaml", "distsim_capture/capture.py",
                     "distsim_capture/__main__.py"):
            self.assertTrue((self.site / file).is_file(), file)
        self.assertEqual(len(list(self.site.glob("distsim/_distsim.*.so"))), 1)
        self.assertEqual(len(list(self.site.glob("distsim-*.dist-info/METADATA"))), 1)
        self.assertEqual(list(self.site.rglob("__pycache__")), [])

    def test_it_is_complete(self):
        shown = self.python("import distsim; print(*distsim.config_folders()); print(distsim.__file__)").splitlines()
        self.assertEqual([os.path.join("/", one) for one in shown[0].split()], [str((self.site / "distsim/configs").resolve())])
        self.assertEqual(shown[1], str(self.site / "distsim/__init__.py"))
        libraries = call("ldd", *self.site.glob("distsim/_distsim.*.so"))
        self.assertIn(f"=> {self.site.resolve()}/distsim/libdistsim.so", libraries.replace("/./", "/"))

    def test_it_answers_as_the_command_does(self):
        config = shutil.copy(ROOT / "configs/megatron_gpt_7_5b.yaml", self.folder)
        ours = self.python(f"import distsim, sys; sys.stdout.write(distsim.predict({str(config)!r}).to_json())")
        self.assertEqual(ours, call(BINARY, "--config", config, "--json", "-"))

    def test_pip_knows_it(self):
        self.assertEqual(self.python("import importlib.metadata as m, distsim; print(m.version('distsim') == distsim.__version__)"), "True\n")


if __name__ == "__main__":
    unittest.main()
