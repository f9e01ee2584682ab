#!/usr/bin/env python3
"""Layouts that were measured on one system, of which distsim chooses: what the choice costs on the sample of tests/data, and how many pairs
are in the right order. A regression gate, a little below today's figures (docs/plan.md); scripts/plan_regret.py prints the table.

choices_test.py DISTSIM
"""
import pathlib
import statistics
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "scripts"))
sys.dont_write_bytecode = True
import plan_regret  # noqa: E402

SAMPLE = ROOT / "tests/data/llm_iterations"


class Choices(unittest.TestCase):
    def test_on_the_sample(self):
        sets = plan_regret.judged(sys.argv[1], SAMPLE / "choice_cases.csv", SAMPLE / "choice_sets.csv")
        self.assertEqual(len(sets), 20)
        self.assertEqual([s.name for s in sets if s.lost is None], [], "not predicted")
        self.assertLessEqual(statistics.median(s.lost for s in sets), 0.01)
        self.assertGreaterEqual(sum(s.lost <= 0.02 for s in sets), 13)
        right, pairs = sum(s.right for s in sets), sum(s.pairs for s in sets)
        self.assertGreaterEqual(pairs, 100)
        self.assertGreaterEqual(right / pairs, 0.85)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
