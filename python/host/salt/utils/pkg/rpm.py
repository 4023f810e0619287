"""RPM packages, as far as plug-ins ask salt.utils.pkg.rpm for them."""


def get_osarch():
    """Return the architecture of the system as RPM names it."""
    import platform
    import subprocess

    for name in ("%{_host_cpu}", "%{_arch}"):
        try:
            said = subprocess.run(["rpm", "--eval", name], stdout=subprocess.PIPE,
                                  stderr=subprocess.DEVNULL, check=False).stdout.decode().strip()
        except OSError:
            break
        if said and not said.startswith("%"):
            return said
    return platform.machine() or "unknown"


def check_32(arch, osarch=None):
    """Report whether both an architecture and that of the system are x86 of 32 bits."""
    small = ("i386", "i486", "i586", "i686", "athlon", "geode")
    return (osarch or get_osarch()) in small and arch in small


def resolve_name(name, arch, osarch=None):
    """Return the name of a package, with .ARCH if that is not the system's."""
    if check_32(arch, osarch) or arch in (osarch or get_osarch(), "noarch"):
        return name
    return "%s.%s" % (name, arch)


def version_to_evr(verstring):
    """Return epoch, version and release of a version like 1:2.3-4."""
    if verstring in (None, ""):
        return "0", "", ""
    epoch, mark, rest = verstring.partition(":")
    if not mark:
        epoch, rest = "0", verstring
    version, _, release = rest.partition("-")
    return epoch, version, release
