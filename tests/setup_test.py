#!/usr/bin/env python3
"""./distsim and ./run_tests on a machine that lacks packages: when they ask, what they say, and what they run. Nothing is installed: the tools are fakes."""
import os
import pathlib
import pty
import shutil
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent
TOOLS = "sh env grep sed tail mktemp rm mkdir find dirname touch chmod cat".split()
FAKES = {
    "id": "echo ${FAKE_UID-1000}",
    "dpkg-query": 'case " $FAKE_MISSING " in *" $3 "*) exit 1 ;; esac; echo "install ok installed"',
    "apt-get": 'echo "apt-get $*" >>"$CALLS"; exit ${FAKE_APT_STATUS-0}',
    "sudo": 'echo "sudo $1" >>"$CALLS"; exec "$@"',
    "cmake": 'mkdir -p build/bin; printf \'#!/bin/sh\\necho ran "$@"\\n\' >build/bin/distsim; chmod +x build/bin/distsim',
    "ctest": ":",
}
BY_HAND = "sudo apt-get install --no-install-recommends cmake libfmt-dev"


class Setup(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name)
        self.checkout, self.bin, self.calls = self.folder / "checkout", self.folder / "bin", self.folder / "calls"
        (self.checkout / "scripts").mkdir(parents=True)
        self.bin.mkdir()
        for script in ("distsim", "run_tests", "scripts/setup.sh"):
            shutil.copy(ROOT / script, self.checkout / script)
        for source in "base topology opmodels collectives traces sim cmake configs/collectives".split():
            (self.checkout / source).mkdir(parents=True)
        for source in ("CMakeLists.txt", "CMakePresets.json"):
            (self.checkout / source).touch()
        for tool in TOOLS:
            (self.bin / tool).symlink_to(shutil.which(tool))
        for name, body in FAKES.items():
            (self.bin / name).write_text(f"#!/bin/sh\n{body}\n")
            (self.bin / name).chmod(0o755)

    def run_script(self, *args, missing="cmake libfmt-dev", answer=None, script="distsim", **fakes):
        """Runs the script; with an answer, standard input is a terminal on which it is typed."""
        environment = {"PATH": str(self.bin), "CALLS": str(self.calls), "FAKE_MISSING": missing, **fakes}
        master, slave = pty.openpty() if answer is not None else (None, subprocess.DEVNULL)
        if answer is not None:
            os.write(master, answer.encode())
        try:
            return subprocess.run([self.checkout / script, *args], stdin=slave, capture_output=True, text=True, env=environment, timeout=60)
        finally:
            if answer is not None:
                os.close(master)
                os.close(slave)

    def called(self):
        return self.calls.read_text().splitlines() if self.calls.exists() else []

    def assert_installed(self, run, by):
        self.assertEqual(run.returncode, 0, run.stderr)
        lines = [line for line in self.called() if line.startswith("apt-get")]
        self.assertEqual(lines, ["apt-get update -qq", "apt-get install -y -qq --no-install-recommends cmake libfmt-dev"])
        self.assertEqual("sudo env" in self.called(), by == "sudo")

    def test_a_yes_installs(self):
        for answer in ("y\n", "Yes\n", "\n"):
            with self.subTest(answer):
                self.calls.unlink(missing_ok=True)
                shutil.rmtree(self.checkout / "build", ignore_errors=True)
                run = self.run_script("--config", "x", answer=answer)
                self.assertIn("missing packages: cmake libfmt-dev\n", run.stderr)
                self.assertIn("[Y/n]", run.stderr)
                self.assertEqual(run.stdout, "ran --config x\n")
                self.assert_installed(run, by="sudo")

    def test_a_no_changes_nothing_and_says_what_to_type(self):
        for answer in ("n\n", "no\n", "what?\n", "\x04"):
            for script in ("distsim", "run_tests"):
                with self.subTest(answer=answer, script=script):
                    run = self.run_script(answer=answer, script=script)
                    self.assertEqual(run.returncode, 2, run.stderr)
                    self.assertTrue(run.stderr.endswith(f"distsim: nothing installed; by hand: {BY_HAND}\n"), run.stderr)
                    self.assertEqual(self.called(), [])
                    self.assertFalse((self.checkout / "build").exists())

    def test_yes_asks_nothing_and_is_not_handed_on(self):
        run = self.run_script("--yes", "--config", "x", answer="n\n")
        self.assertNotIn("[Y/n]", run.stderr)
        self.assertEqual(run.stdout, "ran --config x\n")
        self.assert_installed(run, by="sudo")

    def test_yes_behind_the_command_belongs_to_the_program(self):
        self.assertEqual(self.run_script("sweep", "--yes", missing="").stdout, "ran sweep --yes\n")

    def test_without_a_terminal_it_says_what_it_does(self):
        for script in ("distsim", "run_tests"):
            with self.subTest(script):
                self.calls.unlink(missing_ok=True)
                run = self.run_script(script=script)
                self.assertIn("distsim: installing cmake libfmt-dev with sudo (once)\n", run.stderr)
                self.assert_installed(run, by="sudo")

    def test_root_is_not_asked(self):
        run = self.run_script(answer="n\n", FAKE_UID="0")
        self.assertIn("distsim: installing cmake libfmt-dev (once)\n", run.stderr)
        self.assert_installed(run, by="root")

    def test_nothing_missing_asks_nothing(self):
        run = self.run_script(missing="", answer="n\n")
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertEqual(self.called(), [])
        again = self.run_script("list", missing="cmake", answer="n\n")
        self.assertEqual((again.returncode, again.stdout, again.stderr), (0, "ran list\n", ""), "what is built only runs")

    def test_without_sudo_it_names_the_command(self):
        (self.bin / "sudo").unlink()
        run = self.run_script()
        self.assertEqual(run.returncode, 2)
        self.assertEqual(run.stderr, "distsim: missing packages, and no sudo to install them; as root: apt-get install --no-install-recommends cmake libfmt-dev\n")

    def test_a_failure_of_apt_is_told(self):
        run = self.run_script(FAKE_APT_STATUS="100")
        self.assertEqual(run.returncode, 1)
        self.assertEqual(run.stderr.splitlines()[-1], "distsim: apt could not install cmake libfmt-dev")

    def test_another_distribution_is_told_what_to_install(self):
        (self.bin / "dpkg-query").unlink()
        run = self.run_script()
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertIn("not a Debian or Ubuntu machine", run.stderr)
        self.assertEqual(self.called(), [])

    def test_the_tests_take_yes_and_quick_in_any_order(self):
        self.assertIn("expected --quick, --yes or nothing", self.run_script("--yess", script="run_tests").stderr)
        run = self.run_script("--quick", "--yes", script="run_tests", answer="n\n")
        self.assert_installed(run, by="sudo")


if __name__ == "__main__":
    unittest.main()
