"""Files that appear whole, as salt.utils.atomicfile writes them."""

import os


class _Atomic:
    """An open file that gets its name when it is closed."""

    def __init__(self, temporary, path, mode):
        from salt.utils import files

        self._temporary, self._path = temporary, path
        self._file = files.fopen(temporary, mode)

    def __getattr__(self, name):
        return getattr(self._file, name)

    def __iter__(self):
        return iter(self._file)

    def __enter__(self):
        return self

    def __exit__(self, kind, value, trace):
        if kind is None:
            self.close()
        else:
            self._file.close()
            try:
                os.remove(self._temporary)
            except OSError:
                pass

    def close(self):
        """Give the file its name, with the owner and mode of the one that had it."""
        if self._file.closed:
            return
        self._file.close()
        try:
            old = os.stat(self._path)
            os.chmod(self._temporary, old.st_mode)
            os.chown(self._temporary, old.st_uid, old.st_gid)
        except OSError:
            mask = os.umask(0)
            os.umask(mask)
            os.chmod(self._temporary, 0o666 & ~mask)
        os.replace(self._temporary, self._path)


def atomic_open(filename, mode="w"):
    """Open a file to be written whole or not at all."""
    if mode in ("r", "rb", "r+", "rb+", "a", "ab"):
        raise TypeError("Read or append modes don't work with atomic_open")
    from salt.utils import files

    directory, name = os.path.split(os.path.abspath(filename))
    return _Atomic(files.mkstemp(prefix=".___atomic_write" + name, dir=directory), filename, mode)


atomic_rename = os.replace
