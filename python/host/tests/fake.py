"""A worker whose channel a test answers."""

import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
if os.path.dirname(HERE) not in sys.path:
    sys.path.insert(0, os.path.dirname(HERE))

from brinehost import worker  # noqa: E402


class Channel:
    """Answers the operations that answers has: a value, or a function of the arguments."""

    def __init__(self, answers):
        self.answers = answers
        self.calls = []
        self.logged = []
        self.notes = {}

    def call(self, operation, *arguments):
        self.calls.append((operation,) + arguments)
        if operation not in self.answers:
            raise AssertionError("unexpected call %s%r" % (operation, arguments))
        answer = self.answers[operation]
        return answer(*arguments) if callable(answer) else answer

    def log(self, level, logger, text):
        self.logged.append((level, logger, text))


def start(directories=None, **answers):
    """Return a worker for plug-ins in directories by kind, and the channel that it uses."""
    answers.setdefault("opts", {"id": "web1", "__role": "minion", "test": False, "conf_file":
                                "/etc/salt/minion", "cachedir": "/tmp/brine-cache"})
    answers.setdefault("grains", {"os": "Debian", "host": "web1", "fqdn": "web1.x"})
    answers.setdefault("pillar", {})
    answers.setdefault("find", lambda kind, name: True if name in FUNCTIONS else None)
    answers.setdefault("module", lambda kind, name: any(
        f.startswith(name + ".") for f in FUNCTIONS))
    answers.setdefault("names", lambda kind: sorted(FUNCTIONS))
    answers.setdefault("invoke", lambda kind, name, args, kwargs: (kind, name, list(args),
                                                                  dict(kwargs)))
    made = worker.Worker(-1)
    made.channel = Channel(answers)
    made.do_open({"directories": directories or {}, "level": 10})
    return made, made.channel


FUNCTIONS = set((
    "cmd.run cmd.run_all cp.cache_file cp.get_file cp.hash_file cp.list_master cp.list_master_dirs "
    "file.chown file.file_exists file.set jobs.active pkg.list_repos saltutil.sync_modules sdb.get "
    "test.ping").split())
