"""Files, as salt.utils.files has them."""

import os
import sys

TEMPFILE_PREFIX = "__salt.tmp."
LOCAL_PROTOS = ("", "file")
REMOTE_PROTOS = ("http", "https", "ftp", "swift", "s3")
VALID_PROTOS = ("salt", "file") + REMOTE_PROTOS
HASHES = {"sha512": 128, "sha384": 96, "sha256": 64, "sha224": 56, "sha1": 40, "md5": 32}
HASHES_REVMAP = {length: name for name, length in HASHES.items()}


class _Manager:
    """A context manager whose steps are those of a generator function."""

    def __init__(self, steps, args, kwargs):
        self._steps = steps(*args, **kwargs)

    def __enter__(self):
        return next(self._steps)

    def __exit__(self, kind, value, trace):
        if kind is None:
            for _ in self._steps:
                break
            return False
        try:
            self._steps.throw(value if value is not None else kind())
        except StopIteration:
            return True
        except BaseException as exc:
            if exc is value:
                return False
            raise
        return False


def _manager(steps):
    def made(*args, **kwargs):
        return _Manager(steps, args, kwargs)

    made.__name__, made.__doc__, made.__module__ = steps.__name__, steps.__doc__, __name__
    made.__qualname__ = steps.__name__
    return made


def fopen(*args, **kwargs):
    """Open a file as open() does: text is UTF-8, its line ends stay, no program inherits it."""
    if args and args[0] in (0, 1, 2) and not isinstance(args[0], str):
        raise TypeError("%s is not a permitted file descriptor" % (args[0],))
    mode = kwargs.get("mode", args[1] if len(args) > 1 else "r")
    if "b" not in mode:
        if len(args) < 4:
            kwargs.setdefault("encoding", "utf-8")
        if len(args) < 6:
            kwargs.setdefault("newline", "")
    return open(*args, **kwargs)


@_manager
def flopen(*args, **kwargs):
    """Open a file and lock it for the time of a with statement."""
    with fopen(*args, **kwargs) as file:
        import fcntl

        fcntl.flock(file.fileno(), fcntl.LOCK_SH)
        try:
            yield file
        finally:
            fcntl.flock(file.fileno(), fcntl.LOCK_UN)


@_manager
def fpopen(*args, **kwargs):
    """Open a file and set its owner and mode: the keywords uid, gid and mode."""
    path = args[0]
    uid, gid, mode = kwargs.pop("uid", -1), kwargs.pop("gid", -1), kwargs.pop("mode", None)
    with fopen(*args, **kwargs) as file:
        found = os.stat(path)
        if isinstance(mode, int) and found.st_mode & 0o7777 != mode:
            os.chmod(path, (found.st_mode & ~0o7777) | mode)
        if uid not in (-1, found.st_uid) or gid not in (-1, found.st_gid):
            os.chown(path, uid, gid)
        yield file


def mkstemp(*args, **kwargs):
    """Make a temporary file and return its path.

    With close_fd=False it stays open, and (descriptor, path) is returned.
    """
    import tempfile

    kwargs.setdefault("prefix", TEMPFILE_PREFIX)
    close = kwargs.pop("close_fd", True)
    descriptor, path = tempfile.mkstemp(*args, **kwargs)
    if not close:
        return descriptor, path
    os.close(descriptor)
    return path


def recursive_copy(source, dest):
    """Copy a directory into another one, which is made if it is not there."""
    import shutil

    for directory, directories, files in os.walk(source):
        relative = os.path.relpath(directory, source)
        target = dest if relative == "." else os.path.join(dest, relative)
        os.makedirs(target, exist_ok=True)
        for name in files:
            shutil.copyfile(os.path.join(directory, name), os.path.join(target, name))


def copyfile(source, dest, backup_mode="", cachedir=""):
    """Copy a file by way of a temporary one. An old file keeps its owner and mode.

    With backup_mode "minion" or "both" the old file is kept in cachedir.
    """
    import errno
    import shutil

    if not os.path.isfile(source):
        raise OSError("[Errno %d] No such file or directory: %s" % (errno.ENOENT, source))
    if not os.path.isdir(os.path.dirname(dest)):
        raise OSError("[Errno %d] No such file or directory: %s" % (errno.ENOENT, dest))
    temporary = mkstemp(prefix=os.path.basename(dest), dir=os.path.dirname(dest))
    try:
        shutil.copyfile(source, temporary)
        if backup_mode in ("minion", "both") and cachedir and os.path.exists(dest):
            backup_minion(dest, os.path.join(cachedir, "file_backup"))
        try:
            old = os.stat(dest)
        except OSError:
            old = None
        shutil.move(temporary, dest)
        if old is not None:
            os.chown(dest, old.st_uid, old.st_gid)
            os.chmod(dest, old.st_mode)
    finally:
        safe_rm(temporary)


def rename(src, dst):
    """Rename a file, in place of another one as well."""
    os.replace(src, dst)


def process_read_exception(exc, path, ignore=None):
    """Raise CommandExecutionError for an OSError of reading path, but for numbers to ignore."""
    import errno

    from salt.exceptions import CommandExecutionError

    ignored = ignore if isinstance(ignore, (list, tuple)) else (ignore,)
    if ignore is not None and exc.errno in ignored:
        return
    if exc.errno == errno.ENOENT:
        raise CommandExecutionError("%s does not exist" % path)
    if exc.errno == errno.EACCES:
        raise CommandExecutionError("Permission denied reading from %s" % path)
    raise CommandExecutionError(
        "Error %s encountered reading from %s: %s" % (exc.errno, path, exc.strerror)
    )


@_manager
def wait_lock(path, lock_fn=None, timeout=5, sleep=0.1, time_start=None):
    """Hold the lock of a file, which is another file, for the time of a with statement."""
    import time

    from salt.exceptions import FileLockError

    begun = time.time() if time_start is None else time_start
    if lock_fn is None:
        lock_fn = path + ".w"
    while True:
        try:
            descriptor = os.open(lock_fn, os.O_CREAT | os.O_EXCL | os.O_WRONLY)
            break
        except FileExistsError:
            if time.time() - begun > timeout:
                raise FileLockError(
                    "%s was locked by %s for more than %s seconds" % (path, lock_fn, timeout),
                    time_start=begun,
                ) from None
            time.sleep(sleep)
        except OSError as exc:
            raise FileLockError(
                "Error %s encountered obtaining file lock %s: %s"
                % (exc.errno, lock_fn, exc.strerror), time_start=begun
            ) from exc
    os.close(descriptor)
    try:
        yield
    finally:
        remove(lock_fn)


def get_umask():
    """Return the umask of the process."""
    mask = os.umask(0)
    os.umask(mask)
    return mask


@_manager
def set_umask(mask):
    """Have a umask for the time of a with statement. None changes nothing."""
    if mask is None:
        yield
        return
    old = os.umask(mask)
    try:
        yield
    finally:
        os.umask(old)


def safe_walk(top, topdown=True, onerror=None, followlinks=True, _seen=None):
    """Walk a directory as os.walk does, and follow each symbolic link once."""
    seen = set() if _seen is None else _seen
    found = os.stat(top)
    if found.st_ino:
        if (found.st_dev, found.st_ino) in seen:
            return
        seen.add((found.st_dev, found.st_ino))
    try:
        names = os.listdir(top)
    except OSError as exc:
        if onerror is not None:
            onerror(exc)
        return
    directories = [n for n in names if os.path.isdir(os.path.join(top, n))]
    files = [n for n in names if n not in directories]
    if topdown:
        yield top, directories, files
    for name in directories:
        path = os.path.join(top, name)
        if followlinks or not os.path.islink(path):
            yield from safe_walk(path, topdown, onerror, followlinks, seen)
    if not topdown:
        yield top, directories, files


def safe_rm(tgt):
    """Remove a file, and be content if that fails."""
    try:
        os.remove(tgt)
    except OSError:
        pass


def rm_rf(path):
    """Remove a file or a directory with all in it."""
    import shutil
    import stat

    def again(function, failed, info):
        parent = os.path.dirname(failed)
        if isinstance(info[1], FileNotFoundError):
            if os.path.abspath(failed) == os.path.abspath(path):
                raise info[1]
            return
        os.chmod(parent, os.stat(parent).st_mode | stat.S_IRWXU)
        if not os.path.islink(failed):
            os.chmod(failed, stat.S_IRWXU)
        function(failed)

    if os.path.islink(path) or not os.path.isdir(path):
        os.remove(path)
    else:
        shutil.rmtree(path, onerror=again)


def remove(path):
    """Remove a file, unless it is not there."""
    try:
        os.remove(path)
    except FileNotFoundError:
        pass


def is_empty(filename):
    """Report whether filename is a file of no bytes."""
    try:
        return os.stat(filename).st_size == 0
    except OSError:
        return False


def is_fcntl_available(check_sunos=False):
    """Report whether files can be locked. With check_sunos they cannot on SunOS."""
    if check_sunos and sys.platform.startswith("sunos"):
        return False
    return sys.platform != "win32"


def safe_filename_leaf(file_basename):
    """Return a file's name with %XX in place of what some file systems refuse."""
    return "".join("%%%02X" % ord(c) if c in '\\/:*?"<>|' else c for c in file_basename)


def safe_filepath(file_path_name, dir_sep=None):
    """Return a path with each part made safe by safe_filename_leaf."""
    separator = dir_sep or os.sep
    drive, path = os.path.splitdrive(file_path_name)
    path = separator.join(safe_filename_leaf(part) for part in path.rsplit(separator))
    return separator.join([drive, path]) if drive else path


def list_files(directory):
    """Return the paths of all that a directory has, itself among them, without order."""
    found = {directory}
    for root, directories, files in safe_walk(directory) if os.path.isdir(directory) else ():
        found.update(os.path.join(root, name) for name in directories + files)
    return list(found)


def st_mode_to_octal(mode):
    """Return the mode that os.stat gives as text like 0644; "" if it is none."""
    try:
        return "%04o" % (mode & 0o7777)
    except (TypeError, ValueError):
        return ""


def normalize_mode(mode):
    """Return a mode as text like 0644, from a number of octal digits or text. None stays."""
    if mode is None:
        return None
    text = str(mode).strip("\"'")
    text = text.lstrip("0Oo") or "0"
    return text.zfill(4) if text.isdigit() else str(mode).strip("\"'").lstrip("0Oo").zfill(4)


def human_size_to_bytes(human_size):
    """Return the bytes of a size like 10M."""
    text = str(human_size).upper()
    units = "KMGTP"
    number = text[:-1] if text[-1:] and text[-1:] in units else text
    if not (number.isdigit() and number.isascii()):
        raise ValueError(
            "Size must be all digits, with an optional unit type (K, M, G, T, or P)"
        )
    return int(number) * 1024 ** (units.find(text[-1]) + 1)


def backup_minion(path, bkroot):
    """Copy a file below bkroot, under its path and the time of its last change."""
    import shutil
    import time

    found = os.stat(path)
    directory, name = os.path.split(os.path.abspath(path))
    micro = str(int(found.st_mtime * 1000000))[-6:]
    stamp = time.strftime("%a_%b_%d_%H:%M:%S_" + micro + "_%Y", time.localtime(found.st_mtime))
    target = os.path.join(bkroot, directory.lstrip("/"), "%s_%s" % (name, stamp))
    os.makedirs(os.path.dirname(target), mode=0o755, exist_ok=True)
    shutil.copyfile(path, target)
    os.chown(target, found.st_uid, found.st_gid)
    os.chmod(target, found.st_mode)


def case_insensitive_filesystem(path=None):
    """Report whether the file system of path (default: that of temporary files) ignores case."""
    import tempfile

    with tempfile.NamedTemporaryFile(prefix="TmP", dir=path, delete=True) as file:
        return os.path.exists(file.name.lower())


_BOMS = (
    (b"\xef\xbb\xbf", "utf-8-sig"), (b"\xff\xfe\x00\x00", "utf-32-le"),
    (b"\x00\x00\xfe\xff", "utf-32-be"), (b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be"),
)


def get_encoding(path):
    """Return the encoding of a text file, or raise CommandExecutionError."""
    from salt.exceptions import CommandExecutionError

    if not os.path.isfile(path):
        raise CommandExecutionError("Not a file")
    with open(path, "rb") as file:
        content = file.read()
    for mark, name in _BOMS:
        if content.startswith(mark):
            return name
    for name in ("UTF-8", "UTF-16", "ascii"):
        try:
            content.decode(name)
        except UnicodeError:
            continue
        return name
    raise CommandExecutionError("Could not detect file encoding")


def is_binary(path):
    """Report whether a file has bytes that no text has."""
    if not os.path.isfile(path):
        return False
    from salt.utils import stringutils

    try:
        with open(path, "rb") as file:
            return stringutils.is_binary(file.read(2048).decode("utf-8"))
    except UnicodeDecodeError:
        return True
    except OSError:
        return False


def is_text(fp_, blocksize=512):
    """Report whether a file, given by path or open, is text, from its first bytes."""
    try:
        if hasattr(fp_, "read"):
            block = fp_.read(blocksize)
        else:
            with open(fp_, "rb") as file:
                block = file.read(blocksize)
    except OSError:
        return False
    if isinstance(block, str):
        block = block.encode("utf-8", "surrogateescape")
    if b"\x00" in block:
        return False
    if not block:
        return True
    try:
        block.decode("utf-8")
        return True
    except UnicodeDecodeError:
        strange = sum(1 for b in block if b < 32 and b not in b"\n\r\t\f\b" or b > 126)
        return strange / len(block) <= 0.3


def guess_archive_type(name):
    """Return tar, zip or rar for the name of an archive; None for others."""
    lower = name.lower()
    for kind, ends in (
        ("tar", ("tar", "tar.gz", "tgz", "tar.bz2", "tbz2", "tbz", "tar.xz", "txz", "tar.lzma",
                 "tlz")),
        ("zip", ("zip",)), ("rar", ("rar",)),
    ):
        if lower.endswith(tuple("." + end for end in ends)):
            return kind
    return None
