#!/usr/bin/env python3
"""Shell completion and the manual page: in real shells, and against what --help says."""
import fcntl
import os
import pathlib
import pty
import re
import select
import shutil
import struct
import subprocess
import sys
import tempfile
import termios
import time
import unittest

BINARY = pathlib.Path(sys.argv.pop(1)).resolve()
ENVIRONMENT = {"PATH": f"{BINARY.parent}:/usr/local/bin:/usr/bin:/bin", "LC_ALL": "C.UTF-8", "TERM": "dumb"}
GROUPS = ("cost", "curves", "hugectr", "calibrate", "generate")


def run(*args):
    return subprocess.run([BINARY, *args], capture_output=True, text=True, timeout=60, check=True).stdout


def subcommands(*path):
    text = run(*path, "--help")
    return re.findall(r"^  ([a-z]+) ", text[text.index("Subcommands:"):], re.M) if "Subcommands:" in text else []


def commands():
    """Every command that can be run, as a list of words."""
    return [[name, *rest] for name in subcommands() for rest in ([[sub] for sub in subcommands(name)] or [[]])]


def flags_of_help(*path):
    return set(re.findall(r"^  (?:-\w,)?(--[\w-]+)", run(*path, "--help"), re.M))


class InTerminal:
    """A shell on a pseudo-terminal, at which one types."""

    def __init__(self, argv, folder):
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.chdir(folder)
            os.execvpe(argv[0], argv, {**ENVIRONMENT, "HOME": str(folder), "PS1": "", "HISTFILE": ""})

        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", 50, 400, 0, 0))  # so wide that no line wraps

    def read_until(self, pattern):
        text, end = "", time.monotonic() + 30
        while time.monotonic() < end:
            if select.select([self.fd], [], [], 0.2)[0]:
                text += os.read(self.fd, 65536).decode(errors="replace")
            if found := re.search(pattern, text):
                return found
        raise AssertionError(f"{pattern} not in {text!r}")

    def do(self, line):
        os.write(self.fd, f"{line}; echo do''ne\r".encode())
        self.read_until(r"\ndone\r")

    def completed(self, typed):
        """What the line has become after a tab."""
        os.write(self.fd, typed.encode() + b"\t")
        os.write(self.fd, b'\x01echo "[\x05]"\r')  # to the start of the line, to its end
        return self.read_until(r"\n\[(.*)\]\r").group(1).strip()

    def close(self):
        os.close(self.fd)
        os.waitpid(self.pid, 0)


class Shell:
    """What bash and zsh do alike."""

    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name)
        (self.folder / "my experiment.yaml").touch()
        (self.folder / "results").mkdir()
        (self.folder / "script").write_text(run("completion", self.shell))
        self.terminal = InTerminal(self.argv, self.folder)
        self.addCleanup(self.terminal.close)
        self.terminal.do(self.prepare)

    def test_completes(self):
        for typed, line in [("distsim swe", "distsim sweep"),
                            ("distsim cost coll", "distsim cost collective"),
                            ("distsim predict --conf", "distsim predict --config"),
                            ("distsim --conf", "distsim --config"),
                            ("distsim --config my", "distsim --config my experiment.yaml"),
                            ("distsim sweep --scaling we", "distsim sweep --scaling weak"),
                            ("distsim sweep --scaling=we", "distsim sweep --scaling=weak"),
                            ("distsim --dump-after build_w", "distsim --dump-after build_workload"),
                            ("distsim cost collective --system dgx_b2", "distsim cost collective --system dgx_b200"),
                            ("distsim cost op --gpu gtx", "distsim cost op --gpu gtx_1080_ti"),
                            ("distsim -v list fram", "distsim -v list frameworks"),
                            ("distsim list -v fram", "distsim list -v frameworks"),
                            ("distsim sweep --log-level tr", "distsim sweep --log-level trace"),
                            ("distsim calibrate ops --out res", "distsim calibrate ops --out results"),
                            ("distsim curves show my", "distsim curves show my experiment.yaml"),
                            ("distsim --set cluster.nod", "distsim --set cluster.nodes="),
                            ("distsim serving --set load.rate", "distsim serving --set load.rate_per_s="),
                            ("distsim serving --set gpus.0.sp", "distsim serving --set gpus.0.speed="),
                            ("distsim serving --set cluster.nod", "distsim serving --set cluster.nod"),
                            ("distsim --set cluster.system=dgx_b2", "distsim --set cluster.system=dgx_b200"),
                            ("distsim --set framework.name=mega", "distsim --set framework.name=megatron"),
                            ("distsim sweep --set=model.name=resnet50_v1b", "distsim sweep --set=model.name=resnet50_v1b")]:
            with self.subTest(typed):
                self.assertEqual(self.terminal.completed(typed).replace("\\", "").rstrip("/"), line)


class Bash(Shell, unittest.TestCase):
    shell, argv, prepare = "bash", ["bash", "--norc", "--noprofile", "-i"], "source ./script; set +o history; bind 'set bell-style none'"

    def offered(self, *words):
        script = f'source "{self.folder}/script"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _distsim distsim; printf "%s\\n" "${{COMPREPLY[@]}}"'
        r = subprocess.run(["bash", "-c", script, "bash", "distsim", *words], capture_output=True, text=True, env=ENVIRONMENT, timeout=60)
        self.assertEqual(r.stderr, "")
        return set(r.stdout.split())

    def test_offers_every_flag_of_every_command(self):
        self.assertGreater(len(commands()), 10)
        for path in commands():
            with self.subTest(path):
                self.assertEqual(self.offered(*path, "--"), flags_of_help(*path) | flags_of_help())

    def test_offers_every_command(self):
        self.assertEqual(self.offered(""), set(subcommands()))
        for group in GROUPS:
            self.assertEqual(self.offered(group, ""), set(subcommands(group)))

    def test_offers_the_names_that_are_listed(self):
        systems = {line.split()[0] for line in run("list", "systems").splitlines()}
        self.assertEqual(self.offered("cost", "collective", "--system", ""), systems)
        devices = {line.split()[0] for line in run("list", "devices").splitlines()}
        self.assertEqual(self.offered("replay", "--measured-on", ""), systems | devices)

    def test_offers_nothing_for_a_number(self):
        self.assertEqual(self.offered("sweep", "--jobs", ""), set())

    def test_runs_no_name_of_a_file(self):
        systems = self.folder / "configs/systems"
        systems.mkdir(parents=True)
        names = ["zq$(echo ran >ran)", "zq`echo ran >ran`", "zq y", "zq;echo ran >ran", "zq'y", "zq*", "zq\ny", "zq\x1by", "zqplain"]
        for name in names:
            (systems / f"{name}.yaml").touch()
        (self.folder / "zqglob").touch()
        script = 'source ./script; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _distsim distsim; printf "%s\\0" "${COMPREPLY[@]}"'
        for words in (["cost", "collective", "--system", "zq"], ["--set", "cluster.system", "=", "zq"]):
            r = subprocess.run(["bash", "-c", script, "bash", "distsim", *words], capture_output=True, text=True, cwd=self.folder,
                               env={**ENVIRONMENT, "DISTSIM_CONFIGS": str(self.folder / "configs")}, timeout=60)
            self.assertEqual(r.stderr, "")
            self.assertFalse((self.folder / "ran").exists())
            offered = r.stdout.split("\0")[:-1]
            read = subprocess.run(["bash", "-c", "printf '%s\\0' " + " ".join(offered)], capture_output=True, text=True, cwd=self.folder, timeout=60)
            self.assertEqual(sorted(read.stdout.split("\0")[:-1]), sorted(set(names) - {"zq\ny", "zq\x1by"}))
            self.assertFalse((self.folder / "ran").exists())

    def test_offers_within_quotes(self):
        self.assertEqual(self.offered("cost", "collective", "--system", '"dgx_b2'), {"dgx_b200"})

    def test_never_runs_the_script_of_a_source_tree(self):
        (self.folder / "scripts").mkdir()
        (self.folder / "scripts/setup.sh").touch()
        (self.folder / "distsim").write_text("#!/bin/sh\ntouch called\n")
        (self.folder / "distsim").chmod(0o755)
        script = f'cd "{self.folder}"; source ./script; COMP_WORDS=(./distsim cost collective --system x); COMP_CWORD=4; _distsim ./distsim'
        subprocess.run(["bash", "-c", script], env=ENVIRONMENT, timeout=60)
        self.assertFalse((self.folder / "called").exists())


@unittest.skipUnless(shutil.which("zsh"), "zsh is not installed")
class Zsh(Shell, unittest.TestCase):
    shell, argv = "zsh", ["zsh", "-f", "-i"]
    prepare = "bindkey -e; unsetopt beep auto_menu; unset zle_bracketed_paste; autoload -U compinit; compinit -u -D; source ./script"

    def test_runs_no_name_of_a_file(self):
        systems = self.folder / "configs/systems"
        systems.mkdir(parents=True)
        (systems / "xq$(echo ran >ran).yaml").touch()
        (systems / "xqv`echo ran >ran`.yaml").touch()
        self.terminal.do(f"export DISTSIM_CONFIGS={self.folder}/configs")
        os.write(self.terminal.fd, b"distsim cost collective --system xq\t")
        self.terminal.read_until(r"xq")
        time.sleep(2)
        self.assertFalse((self.folder / "ran").exists())

    def test_syntax(self):
        subprocess.run(["zsh", "-n", self.folder / "script"], check=True)


class Help(unittest.TestCase):
    def test_every_value_has_a_word(self):
        for path in commands():
            self.assertEqual(re.findall(r"^ .* TEXT(?!:\{).*", run(*path, "--help"), re.M), [], "add its word to sim/app/completion/value_names.cpp, or call type_name()")


class ManualPage(unittest.TestCase):
    def test_has_every_command_and_flag(self):
        page = run("man")
        plain = page.replace("\\-", "-")
        for path in commands():
            self.assertIn(f'.SS "distsim {" ".join(path)}"', plain)
            for flag in flags_of_help(*path):
                self.assertIn(f"\\fB{flag}\\fR", plain)
        for section in ("NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS", "COMMANDS", "ENVIRONMENT", "FILES", "EXIT STATUS", "EXAMPLES"):
            self.assertRegex(page, rf"(?m)^\.SH {section}$")

    @unittest.skipUnless(shutil.which("groff"), "groff is not installed")
    def test_renders_without_a_warning(self):
        r = subprocess.run(["groff", "-man", "-Tutf8", "-ww", "-rLL=100n"], input=run("man"), capture_output=True, text=True, timeout=60)
        self.assertEqual(r.stderr, "")
        text = re.sub(r"\x1b\[[0-9;]*m|.\x08", "", r.stdout)
        self.assertIn("distsim - predicts how long one training iteration takes", text)
        self.assertIn("distsim --config configs/dgx_a100_4node.yaml --set cluster.nodes=8 --html report.html", text)


if __name__ == "__main__":
    unittest.main()
