#!/usr/bin/env python3
"""What cmake --install makes, from where an installed distsim reads its configuration, and what configuring says when a package is missing.
Arguments: the cmake program, the build folder."""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent
CMAKE, BUILD = sys.argv.pop(1), sys.argv.pop(1)
EXPERIMENT = "configs/dgx_a100_4node.yaml"


def call(argv, configs=None, cwd="/"):
    environment = {k: v for k, v in os.environ.items() if k not in ("DISTSIM_CONFIGS", "DESTDIR")}
    if configs is not None:
        environment["DISTSIM_CONFIGS"] = configs
    return subprocess.run(list(map(str, argv)), capture_output=True, text=True, timeout=120, cwd=cwd, env=environment)


class Installed(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp())
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        first = cls.folder / "first"
        r = call([CMAKE, "--install", BUILD, "--prefix", first, "--component", "simulator"])
        assert r.returncode == 0, r.stderr
        cls.prefix = first.rename(cls.folder / "moved")  # an installation can be moved
        cls.binary = cls.prefix / "bin/distsim"
        cls.shipped = cls.prefix / "share/distsim/configs"

    def run_installed(self, *args, configs=None):
        return call([self.binary, *args], configs)

    def user_folder(self, files):
        folder = pathlib.Path(tempfile.mkdtemp(dir=self.folder))
        for name, text in files.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return folder

    def test_every_file_has_its_place(self):
        for file in ("bin/distsim", f"share/distsim/{EXPERIMENT}", "share/distsim/configs/systems/dgx_a100_80gb.yaml", "share/distsim/configs/validation/cases.csv",
                     "share/distsim/proto/curve.proto", "share/man/man1/distsim.1", "share/bash-completion/completions/distsim",
                     "share/zsh/site-functions/_distsim", "share/doc/distsim/LICENSE", "share/doc/distsim/copyright", "share/doc/distsim/README.md",
                     "share/doc/distsim/docs/install.md"):
            self.assertGreater((self.prefix / file).stat().st_size, 0, file)

    def test_generated_files_are_what_the_program_prints(self):
        for args, file in [(("man",), "share/man/man1/distsim.1"), (("completion", "bash"), "share/bash-completion/completions/distsim"),
                           (("completion", "zsh"), "share/zsh/site-functions/_distsim")]:
            self.assertEqual(self.run_installed(*args).stdout, (self.prefix / file).read_text())

    def test_reads_its_own_configuration_and_nothing_else(self):
        r = self.run_installed("--config", self.prefix / "share/distsim" / EXPERIMENT, "-v")
        self.assertEqual(r.returncode, 0, r.stderr)
        self.assertEqual(r.stdout, call([f"{BUILD}/bin/distsim", "--config", ROOT / EXPERIMENT]).stdout)
        folders = [line.split(": ")[-1] for line in r.stderr.splitlines() if "configuration folder" in line]
        self.assertEqual([os.path.join("/", folder) for folder in folders], [str(self.shipped.resolve())])
        self.assertNotIn(str(ROOT / "configs").lstrip("/"), r.stderr)

    def test_the_published_cases_are_found(self):
        self.assertEqual(self.run_installed("validate").returncode, 0)

    def test_folders_of_the_user_come_first_and_add(self):
        system = (self.shipped / "systems/dgx_a100_80gb.yaml").read_text()
        one = self.user_folder({"systems/my_cluster_one.yaml": system})
        two = self.user_folder({"systems/dgx_b200.yaml": system})
        listed = self.run_installed("list", "systems", configs=f"{one}:{two}").stdout
        names = [line.split()[0] for line in listed.splitlines()]
        self.assertEqual(len(names), len(set(names)))
        self.assertIn("my_cluster_one", names)
        self.assertIn("p5_h100", names, "the shipped ones stay")
        read = self.run_installed("cost", "collective", "--system", "dgx_b200", "--kind", "all_reduce", "--nodes", 1, "--bytes", 8, "-v", configs=f"{one}:{two}")
        self.assertIn(f"{two.name}/systems/dgx_b200.yaml", read.stderr)

    def test_a_curve_file_hides_only_its_namesake(self):
        def curves_read(configs):
            r = self.run_installed("--config", self.shipped / "dgx_a100_4node.yaml", "-v", configs=configs)
            self.assertEqual(r.returncode, 0, r.stderr)
            return r.stdout, [line.split(": ")[2] for line in r.stderr.splitlines() if "curves used" in line]
        plain, files = curves_read(None)
        self.assertGreater(len(files), 0)
        none = self.user_folder({"curves/README": "no curves", "op_models/README": "no models"})
        self.assertEqual(curves_read(str(none)), (plain, files), "an empty folder hides nothing")
        name = pathlib.Path(files[0]).name
        same = self.user_folder({f"curves/{name}": (self.shipped / "curves" / name).read_text()})
        text, now = curves_read(str(same))
        self.assertEqual(text, plain, "the same curves give the same prediction, from whatever folder")
        self.assertEqual([pathlib.Path(f).name for f in now], [pathlib.Path(f).name for f in files])
        self.assertIn(same.name, now[0])

    def test_a_folder_that_is_missing_is_refused(self):
        for configs in ("/nonexistent", f"{self.shipped}:/nonexistent", str(self.binary)):
            r = self.run_installed("list", "systems", configs=configs)
            self.assertEqual((r.returncode, r.stdout), (2, ""))
            self.assertEqual(r.stderr, f"distsim: DISTSIM_CONFIGS: found '{configs.split(':')[-1]}', expected folders, separated by colons\n")
        self.assertEqual(self.run_installed("list", "systems", configs=f":{self.shipped}:").returncode, 0, "empty places are no folders")


class Configuring(unittest.TestCase):
    def test_names_all_that_is_missing_in_one_line(self):
        with tempfile.TemporaryDirectory() as folder:
            r = call([CMAKE, "-G", "Ninja", "-S", ROOT, "-B", folder, "-DDISTSIM_TESTS=OFF", "-DDISTSIM_BENCH=OFF", "-DCMAKE_DISABLE_FIND_PACKAGE_CLI11=ON",
                      "-DCMAKE_DISABLE_FIND_PACKAGE_simdjson=ON"])
        self.assertNotEqual(r.returncode, 0)
        self.assertIn("distsim: not found: CLI11, simdjson. Debian and Ubuntu: apt-get install libcli11-dev libsimdjson-dev.", r.stderr)

    def test_names_the_package_of_ninja(self):
        with tempfile.TemporaryDirectory() as folder:
            (pathlib.Path(folder) / "bin").mkdir()
            r = subprocess.run([shutil.which(CMAKE), "-G", "Ninja", "-S", ROOT, "-B", f"{folder}/build"], env={"PATH": f"{folder}/bin"}, capture_output=True, text=True)
        self.assertIn("ninja not found. Debian and Ubuntu: apt-get install ninja-build.", r.stderr)


if __name__ == "__main__":
    unittest.main()
