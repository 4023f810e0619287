"""What kind of system this is, as salt.utils.platform says it."""

import os
import sys


def is_proxy():
    """Report whether the process is that of a proxy minion."""
    from salt import _brine

    return _brine.running() and bool(_brine.opts().get("proxy"))


def is_windows():
    """Report whether the system is Windows."""
    return sys.platform.startswith("win")


def is_linux():
    """Report whether the system is Linux."""
    return sys.platform.startswith("linux")


def is_darwin():
    """Report whether the system is macOS."""
    return sys.platform.startswith("darwin")


def is_sunos():
    """Report whether the system is SunOS."""
    return sys.platform.startswith("sunos")


def is_smartos():
    """Report whether the system is SmartOS."""
    return is_sunos() and os.uname().version.startswith("joyent_")


def _zone():
    with os.popen("zonename") as output:
        return output.read().strip()


def is_smartos_globalzone():
    """Report whether the process runs in the global zone of SmartOS."""
    return is_smartos() and _zone() == "global"


def is_smartos_zone():
    """Report whether the process runs in a zone of SmartOS that is not the global one."""
    return is_smartos() and _zone() != "global"


def is_freebsd():
    """Report whether the system is FreeBSD."""
    return sys.platform.startswith("freebsd")


def is_netbsd():
    """Report whether the system is NetBSD."""
    return sys.platform.startswith("netbsd")


def is_openbsd():
    """Report whether the system is OpenBSD."""
    return sys.platform.startswith("openbsd")


def is_aix():
    """Report whether the system is AIX."""
    return sys.platform.startswith("aix")


def is_junos():
    """Report whether the system is Junos."""
    return is_freebsd() and "Juniper" in os.uname().version


def _release():
    found = {}
    for path in ("/etc/os-release", "/usr/lib/os-release"):
        try:
            with open(path, encoding="utf-8", errors="replace") as file:
                for line in file:
                    name, mark, value = line.strip().partition("=")
                    if mark and not name.startswith("#"):
                        found[name] = value.strip("\"'")
            break
        except OSError:
            continue
    return found


def is_fedora():
    """Report whether the system is Fedora."""
    return _release().get("ID") == "fedora"


def is_photonos():
    """Report whether the system is Photon OS."""
    return _release().get("ID") == "photon"


def is_aarch64():
    """Report whether the processor is a 64 bit ARM."""
    return hasattr(os, "uname") and os.uname().machine.startswith("aarch64")


def spawning_platform():
    """Report whether processes are started anew instead of forked."""
    return is_windows() or is_darwin()


def linux_distribution(full_distribution_name=True):
    """Return name, version and code name of the distribution."""
    release = _release()
    name = release.get("NAME" if full_distribution_name else "ID", "")
    version = release.get("VERSION_ID", "")
    try:
        with open("/etc/debian_version", encoding="ascii") as file:
            found = file.read().strip()
            if release.get("ID") == "debian" and found.split(".")[0] == version:
                version = found
    except (OSError, ValueError):
        pass
    code = release.get("VERSION_CODENAME", "")
    if not code:
        inside = release.get("VERSION", "").partition("(")[2].partition(")")[0]
        code = inside
    return name, version, code
