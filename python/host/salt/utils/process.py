"""Processes, as far as plug-ins ask salt.utils.process for them."""

import os


def os_is_running(pid):
    """Report whether there is a process of a number."""
    try:
        os.kill(int(pid), 0)
        return True
    except PermissionError:
        return True
    except OSError:
        return False


def get_pidfile(pidfile):
    """Return the number in a pid file; None if there is none."""
    try:
        with open(pidfile, encoding="ascii") as file:
            return int(file.read().strip())
    except (OSError, ValueError):
        return None


def check_pidfile(pidfile):
    """Report whether there is a pid file."""
    return os.path.isfile(pidfile)


def appendproctitle(name):
    """Do nothing: the title of the process is Brine's."""


class default_signals:
    """Has signals do what they do by default for the time of a with statement."""

    def __init__(self, *signals):
        self._signals, self._old = signals, {}

    def __enter__(self):
        import signal

        for number in self._signals:
            try:
                self._old[number] = signal.signal(number, signal.SIG_DFL)
            except ValueError:  # not the main thread
                pass

    def __exit__(self, *_):
        import signal

        for number, handler in self._old.items():
            signal.signal(number, handler)
