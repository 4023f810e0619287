"""Which files may run: those that only root and the user of this process can change.

A directory of plug-ins, each directory above it, each file in it, and the links on the way have to
belong to root or to this user, and nobody else may write to them. In a directory above, the sticky
bit is enough: there others cannot replace an entry that is not theirs.
"""

import os
import stat

IMPORTED = (".py", ".pyc", ".so")
LINKS = 40  # on the way to one file


class Trust:
    """What has been found out about directories."""

    def __init__(self):
        self.clean = set()  # directories without a fault
        self.known = {}  # the faults in a directory, by entry; "" is the directory itself

    def forget(self):
        self.clean.clear()
        self.known.clear()

    def faults(self, directory):
        """Return why the directory, entry "", or entries of it may not be used, by entry."""
        if directory not in self.known:
            self.known[directory] = found = {}
            fault = self._path(directory)
            if fault:
                found[""] = fault
            else:
                self._entries(directory, found)
        return self.known[directory]

    def _entries(self, directory, found, package=False):
        try:
            with os.scandir(directory) as entries:
                entries = list(entries)
        except OSError:
            return
        for entry in entries:
            fault = None
            if entry.name == "__pycache__":
                continue  # main.py keeps compiled files elsewhere
            if entry.is_symlink():
                fault = self._path(entry.path)
                if not fault and os.path.isdir(entry.path):
                    fault = "%s is a link in a package, so it is not run" % entry.path if package \
                        else self._inside(entry.path)
            elif entry.is_dir():
                fault = _fault(entry.path, entry.stat())
                if not fault and not entry.name.startswith("."):
                    fault = self._inside(entry.path)  # also a package without __init__.py
            elif entry.name.endswith(IMPORTED):
                fault = _fault(entry.path, entry.stat())
            if fault:
                found[entry.name] = fault

    def _inside(self, directory):
        """Return the first fault in a package."""
        found = {}
        self._entries(directory, found, package=True)
        for name in sorted(found):
            return found[name]
        return None

    def _path(self, path):
        """Return what is wrong with a path or what is above it, None for nothing."""
        names = os.path.abspath(path).split(os.sep)
        at, links = os.sep, 0
        while names:
            name = names.pop(0)
            if name == os.pardir:
                at = os.path.dirname(at)
            elif name not in ("", os.curdir):
                at = os.path.join(at, name)
            if at in self.clean and names:
                continue
            try:
                info = os.lstat(at)
            except OSError:
                return None  # nothing is there to be loaded
            if stat.S_ISLNK(info.st_mode):
                links += 1
                if links > LINKS:
                    return "%s has too many links on its way, so it is not run" % path
                fault = _owner_fault(at, info)
                to = os.readlink(at)
                names = to.split(os.sep) + names
                at = os.sep if to.startswith(os.sep) else os.path.dirname(at)
            else:
                above = names or at == os.sep
                fault = _fault(at, info, above and stat.S_ISDIR(info.st_mode) and info.st_mode & stat.S_ISVTX)
                if not fault:
                    self.clean.add(at)
            if fault:
                return fault
        return None


def _fault(path, info, sticky=False):
    fault = _owner_fault(path, info)
    if fault is None and info.st_mode & 0o022 and not sticky:
        fault = "%s has mode %04o: other users could change the code, so it is not run" % (
            path, stat.S_IMODE(info.st_mode))
    return fault


def _owner_fault(path, info):
    if info.st_uid in (0, os.geteuid()):
        return None
    return "%s belongs to the user %d (mode %04o), who could change the code, so it is not run" % (
        path, info.st_uid, stat.S_IMODE(info.st_mode))
