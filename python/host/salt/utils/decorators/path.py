"""Decorators for functions that need a program."""

import functools


def _needing(missing):
    def decorate(function):
        @functools.wraps(function)
        def wrapper(*args, **kwargs):
            text = missing()
            if text:
                from salt.exceptions import CommandNotFoundError

                raise CommandNotFoundError(text)
            return function(*args, **kwargs)

        return wrapper

    return decorate


def which(exe):
    """Have a function raise CommandNotFoundError unless the program exe is there."""
    from salt.utils import path

    return _needing(lambda: None if path.which(exe) else (
        "The '%s' binary was not found in $PATH." % exe))


def which_bin(exes):
    """Have a function raise CommandNotFoundError unless one of several programs is there."""
    from salt.utils import path

    return _needing(lambda: None if path.which_bin(exes) else (
        "None of provided binaries(%s) were found in $PATH."
        % (["'%s'" % exe for exe in exes],)))
