"""Compares the library with what Salt 3006.0 answered."""

import os
import sys
import unittest
import warnings

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.dirname(HERE), HERE]

import cases  # noqa: E402


class TestCases(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        warnings.simplefilter("ignore")

    def test_cases(self):
        for name in cases.names():
            known = cases.recorded(name)
            for expression in cases.lines(name):
                with self.subTest(expression):
                    self.assertIn(expression, known, "not on record; see cases.py")
                    got = cases.answer(expression)
                    if name == "yaml" and not cases.HAS_YAML or "Python needs" in got:
                        continue  # a library that this Python does not have
                    if sys.version_info >= (3, 12) and "OrderedDict" in got:
                        continue  # it prints them in another way
                    self.assertEqual(got, known[expression])


if __name__ == "__main__":
    unittest.main()
