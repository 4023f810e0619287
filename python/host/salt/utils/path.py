"""Paths and programs, as salt.utils.path has them."""

import os
import sys

# Where programs are looked for beside PATH.
_MORE = ("/sbin", "/bin", "/usr/sbin", "/usr/bin", "/usr/local/sbin", "/usr/local/bin")


def _text(value):
    return value.decode("utf-8", "surrogateescape") if isinstance(value, bytes) else value


def islink(path):
    """Report whether path is a symbolic link."""
    return os.path.islink(path)


def readlink(path):
    """Return where the symbolic link path leads."""
    return os.readlink(path)


def _executable(path):
    return os.path.isfile(path) and os.access(path, os.X_OK)


def which(exe=None):
    """Return the path of a program, or None.

    A path is returned as it is. A name is looked for in PATH, then in the usual directories.
    """
    if not exe:
        return None
    if _executable(exe):
        return exe
    if os.sep in exe:
        return None
    directories = [d for d in os.environ.get("PATH", os.defpath).split(os.pathsep) if d]
    directories += [d for d in _MORE if d not in directories]
    names = [exe]
    if sys.platform == "win32":
        names += [exe + end.lower() for end in os.environ.get("PATHEXT", ".EXE").split(";")]
    for directory in directories:
        for name in names:
            path = os.path.join(directory, name)
            if _executable(path):
                return path
    return None


def which_bin(exes):
    """Return the path of the first of several programs that is there, or None."""
    if not isinstance(exes, (list, tuple, set, str)):
        return None
    for exe in [exes] if isinstance(exes, str) else exes:
        path = which(exe)
        if path:
            return path
    return None


def check_or_die(command):
    """Raise CommandNotFoundError unless the program command is there."""
    from salt.exceptions import CommandNotFoundError

    if command is None:
        raise CommandNotFoundError("'None' is not a valid command.")
    if not which(command):
        raise CommandNotFoundError("'%s' is not in the path" % command)


def join(*parts, **kwargs):
    """Return the parts joined to one path without needless dots and slashes.

    Unlike os.path.join, a part that begins with a slash does not drop those before it.
    use_posixpath=True has slashes on Windows too.
    """
    posix = kwargs.pop("use_posixpath", False)
    if kwargs:
        from salt.utils.args import invalid_kwargs

        invalid_kwargs(kwargs)
    if not parts:
        return ""
    if posix:
        import posixpath as library
    else:
        library = os.path
    first, rest = _text(parts[0]), [_text(p).lstrip(library.sep) for p in parts[1:]]
    return library.normpath(library.join(first, *rest))


def expand(path):
    """Return path, absolute, with ~ and variables in place."""
    return os.path.abspath(os.path.expandvars(os.path.expanduser(path)))


def sanitize_win_path(winpath):
    """Return a Windows path with _ in place of the characters it must not have."""
    return "".join("_" if c in '<>:"|?*' else c for c in winpath)


def safe_path(path, allow_path=None):
    """Report whether path, its links followed, is below allow_path (default: its directory)."""
    real = os.path.realpath(path)
    allowed = os.path.abspath(allow_path) if allow_path else os.path.dirname(os.path.abspath(path))
    return os.path.dirname(real).startswith(allowed) or real.startswith(os.path.realpath(allowed))


def os_walk(top, *args, **kwargs):
    """Walk a directory as os.walk does, with text for all names."""
    for directory, directories, files in os.walk(_text(top), *args, **kwargs):
        yield _text(directory), [_text(d) for d in directories], [_text(f) for f in files]


def is_readable(path):
    """Report whether path can be read."""
    return os.access(path, os.R_OK)
