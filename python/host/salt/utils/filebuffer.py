"""Reading of files in parts, as salt.utils.filebuffer does it."""

from salt.exceptions import SaltException


class InvalidFileMode(SaltException):
    """A file is to be opened to be written."""


class BufferedReader:
    """Yields a file in windows that move on by chunk_size and are max_in_mem at most."""

    def __init__(self, path, max_in_mem=256 * 1024, chunk_size=32 * 1024, mode="r"):
        if "a" in mode or "w" in mode:
            raise InvalidFileMode("Cannot open file in write or append mode")
        from salt.utils import files

        self.__file = files.fopen(path, mode)
        self.__max, self.__chunk, self.__held = max_in_mem, chunk_size, None

    @property
    def buffered(self):
        """What is held of the file."""
        return self.__held

    def __iter__(self):
        return self

    def next(self):
        """Return the next window."""
        size = self.__chunk if self.__held is not None else self.__max
        more = self.__file.read(size)
        if not more:
            raise StopIteration
        if self.__held is None:
            self.__held = more
        else:
            self.__held = self.__held[-(self.__max - len(more)):] + more if (
                len(self.__held) + len(more) > self.__max) else self.__held + more
        return self.__held

    __next__ = next

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if not self.__file.closed:
            self.__file.close()
