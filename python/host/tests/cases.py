"""Expressions whose values in Salt 3006.0 are on record, and the program that records them.

    PYTHONPATH=DIRECTORY-OF-SALT python3 tests/cases.py record [NAME...]

evaluates the expressions of cases/NAME.txt, one a line, and writes cases/NAME.json, which has for
each of them the repr() of its value or the exception. test_cases.py compares them with Brine's
library. An expression names modules in full, salt.utils.path.join("a", "b"), and files as TMP.
"""

import atexit
import importlib
import importlib.util
import json
import os
import re
import shutil
import sys
import tempfile

HAS_YAML = importlib.util.find_spec("yaml") is not None
HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "cases")


def lines(name):
    with open(os.path.join(HERE, name + ".txt"), encoding="utf-8") as file:
        return [s for s in file.read().split("\n") if s and not s.startswith("#")]


def recorded(name):
    with open(os.path.join(HERE, name + ".json"), encoding="utf-8") as file:
        return json.load(file)


def names():
    return sorted(f[:-4] for f in os.listdir(HERE) if f.endswith(".txt"))


_directory = None


def directory():
    """Return the directory of files that expressions find as TMP."""
    global _directory
    if _directory is None:
        _directory = tempfile.mkdtemp(prefix="brine")
        atexit.register(shutil.rmtree, _directory)
        os.mkdir(os.path.join(_directory, "empty"))
        for name, content in (
            ("crlf", b"a\r\nb\r\n"), ("text", b"text\n"), ("buf", b"abcdefghij"),
            ("resolv", b"# c\nnameserver 1.2.3.4\nnameserver ::1\nsearch a.b c.d\n"
                       b"sortlist 10.0.0.0/255.0.0.0 11.0.0.0\ndomain x.y\n"),
        ):
            with open(os.path.join(_directory, name), "wb") as file:
                file.write(content)
    return _directory


def answer(expression):
    """Return the repr() of an expression's value, or ! and the exception."""
    for dotted in re.findall(r"salt(?:\.[a-zA-Z_0-9]+)+", expression):
        parts = dotted.split(".")
        for end in range(2, len(parts) + 1):
            try:
                importlib.import_module(".".join(parts[:end]))
            except ImportError:
                break
    try:
        import salt

        found = repr(eval(expression, {"salt": salt, "TMP": directory()}))
    except Exception as exc:
        found = "!%s: %s" % (type(exc).__name__, exc)
    return found.replace(directory(), "TMP")


def record(chosen):
    import logging
    import warnings

    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    for name in chosen or names():
        found = {expression: answer(expression) for expression in lines(name)}
        with open(os.path.join(HERE, name + ".json"), "w", encoding="utf-8") as file:
            json.dump(found, file, indent=0, ensure_ascii=False)
            file.write("\n")


if __name__ == "__main__" and sys.argv[1:2] == ["record"]:
    record(sys.argv[2:])
