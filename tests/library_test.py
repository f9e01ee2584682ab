#!/usr/bin/env python3
"""The C++ library as another project uses it: installed, moved, found by find_package, linked; the same bytes as the command's.
Arguments: the cmake program, the build folder, the command."""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent
CMAKE, BUILD, BINARY = (sys.argv.pop(1) for _ in range(3))
ENVIRONMENT = {k: v for k, v in os.environ.items() if k not in ("DISTSIM_CONFIGS", "DESTDIR", "LD_LIBRARY_PATH")}
SCALING_CMAKE = """cmake_minimum_required(VERSION 3.22)
project(from_the_guide LANGUAGES CXX)
set(CMAKE_CXX_STANDARD 17)
find_package(distsim 0.1 REQUIRED)
add_executable(from_the_guide main.cpp)
target_link_libraries(from_the_guide PRIVATE distsim::distsim)
"""


def call(*argv, cwd="/", code=0):
    done = subprocess.run(list(map(str, argv)), capture_output=True, text=True, timeout=300, cwd=cwd, env=ENVIRONMENT)
    assert code is None or done.returncode == code, f"{argv}: {done.returncode}\n{done.stdout}{done.stderr}"
    return done


class Linked(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp())
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        call(CMAKE, "--install", BUILD, "--prefix", cls.folder / "first", "--component", "library")
        cls.prefix = (cls.folder / "first").rename(cls.folder / "moved")  # an installation can be moved
        cls.scaling = cls.built(cls.prefix / "share/distsim/examples/cpp", "scaling")

    @classmethod
    def built(cls, source, name):
        build = cls.folder / f"build_{name}"
        call(CMAKE, "-G", "Ninja", "-S", source, "-B", build, f"-DCMAKE_PREFIX_PATH={cls.prefix}", "-DCMAKE_BUILD_TYPE=Debug", "-DCMAKE_CXX_FLAGS=-Wall -Wextra -Werror")
        call(CMAKE, "--build", build)
        return build / name

    def test_the_example_says_how_a_job_scales(self):
        lines = call(self.scaling, self.prefix / "share/distsim/configs/dgx_a100_4node.yaml").stdout.splitlines()
        self.assertRegex(lines[0], r"^32 GPUs: \d+\.\d{3} ms \(\d.*\), limited by \w")
        self.assertEqual([line.split(" GPUs")[0].strip() for line in lines[1:]], ["8", "16", "32", "64"])
        self.assertIn("efficiency 1.00", lines[1])

    def test_the_same_bytes_as_the_command(self):
        for name, *sets in [("dgx_a100_4node",), ("dgx_a100_4node", "cluster.nodes=2", "model.global_batch=32768"), ("megatron_gpt_7_5b",),
                            ("resnet50_dgx_a100", "framework.gradients.bucket_size=5MiB"), ("dgx_a100_4node", "title='Überprüfung \"1\"'")]:
            config = shutil.copy(ROOT / f"configs/{name}.yaml", self.folder)  # what comes with the one is a user's file to the other
            flags = [word for one in sets for word in ("--set", one)]
            asked = call(BINARY, "--config", config, *flags, "--json", "-", cwd=ROOT).stdout
            self.assertEqual(call(self.scaling, "--json", config, *sets, cwd=ROOT).stdout, asked, config)

    def test_bad_input_is_one_line_of_the_program(self):
        wrong = self.folder / "wrong.yaml"
        wrong.write_text("cluster: {system: dgx_a100_80gb, nodes: 0}\nmodel: {name: dlrm_mlperf}\n")
        done = call(self.scaling, wrong, code=2)
        self.assertEqual((done.stdout, done.stderr.count("\n")), ("", 1))
        self.assertTrue(done.stderr.startswith(f"{wrong}:1:41: cluster.nodes: found '0', expected"), done.stderr)
        self.assertIn("no_such.yaml", call(self.scaling, "no_such.yaml", code=2).stderr)

    def test_the_program_of_the_guide(self):
        guide = (ROOT / "docs/cpp_library.md").read_text()
        source = self.folder / "guide"
        source.mkdir()
        (source / "main.cpp").write_text(re.search(r"```cpp\n(.*?)```", guide, re.S).group(1))
        (source / "CMakeLists.txt").write_text(SCALING_CMAKE)
        lines = call(self.built(source, "from_the_guide")).stdout.splitlines()
        self.assertRegex("\n".join(lines[:2]), r"^\d+\.\d{3} ms\n\d+\.\d{3} ms$")
        self.assertEqual(lines[2:], ["set cluster.nodes: found '-1', expected 1 .. 1000000"])

    def test_nothing_of_the_inside_is_shown(self):
        names = call("nm", "-DC", "--defined-only", self.prefix / "lib/libdistsim.so").stdout.splitlines()
        shown = [line.split(" ", 2)[2] for line in names]
        inside = [n for n in shown if "distsim::" in n and "distsim::api::" not in n]
        self.assertEqual(inside, [])
        self.assertTrue(any(n.startswith("distsim::api::predict(") for n in shown))
        for header in sorted((self.prefix / "include/distsim").iterdir()):
            for include in re.findall(r'^#include ([<"].*[>"])', header.read_text(), re.M):
                self.assertRegex(include, r'^(<[a-z]+>|"[a-z]+\.hpp")$', header.name)


if __name__ == "__main__":
    unittest.main()
