"""systemd, as salt.utils.systemd knows it. A context dictionary keeps what was found."""

import os
from collections.abc import MutableMapping


def _checked(context):
    if context is not None and not isinstance(context, MutableMapping):
        from salt.exceptions import SaltInvocationError

        raise SaltInvocationError("context must be a dictionary if passed")
    return context if context is not None else {}


def booted(context=None):
    """Report whether the system was started with systemd."""
    kept = _checked(context)
    key = "salt.utils.systemd.booted"
    if key not in kept:
        kept[key] = os.path.isdir("/run/systemd/system")
    return kept[key]


def offline(context=None):
    """Report whether systemd is there but does not run, as in a chroot."""
    kept = _checked(context)
    key = "salt.utils.systemd.offline"
    if key not in kept:
        from salt.utils import path

        kept[key] = not booted(context) and bool(path.which("systemctl"))
    return kept[key]


def version(context=None):
    """Return the version of systemd as a number; None without it."""
    kept = _checked(context)
    key = "salt.utils.systemd.version"
    if key not in kept:
        import re
        import subprocess

        try:
            said = subprocess.run(["systemctl", "--version"], stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, check=False).stdout.decode()
        except OSError:
            return None
        found = re.search(r"\w+ ([0-9]+)", said)
        if not found:
            return None
        kept[key] = int(found.group(1))
    return kept[key]


def has_scope(context=None):
    """Report whether systemd-run can start scopes."""
    if not booted(context):
        return False
    found = version(context)
    return found is not None and found >= 205


def pid_to_service(pid):
    """Return the name of the service that a process belongs to, or None."""
    import subprocess

    try:
        said = subprocess.run(["systemctl", "--output", "json", "status", str(pid)],
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False)
    except OSError:
        return None
    for line in said.stdout.decode("utf-8", "replace").splitlines():
        for word in line.split():
            if word.endswith(".service"):
                return word[: -len(".service")]
    return None
