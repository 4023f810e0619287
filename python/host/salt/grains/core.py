"""Functions of salt.grains.core that own grains call: they return parts of Brine's grains."""

__opts__ = {}  # own grains set it before they call


def _grains():
    from salt import loader

    return loader.grains({})


def _some(*names):
    found = _grains()
    return {name: found[name] for name in names if name in found}


def os_data():
    """Return the grains of the operating system."""
    found = _grains()
    prefixes = ("os", "kernel", "lsb_", "cpu", "num_cpus", "mem_total", "swap_total", "virtual",
                "biosversion", "biosreleasedate", "manufacturer", "product", "serial", "systemd",
                "init", "shell", "ps", "uuid", "gpus", "num_gpus", "selinux", "nodename")
    return {name: value for name, value in found.items() if name.startswith(prefixes)}


def hostname():
    """Return the names of the host."""
    return _some("localhost", "fqdn", "host", "domain")


def fqdns():
    """Return the full names of the host's addresses."""
    return _some("fqdns")


def id_():
    """Return the name of the minion."""
    return _some("id")


def ip_fqdn():
    """Return the addresses of the host's name."""
    return _some("ipv4", "ipv6", "fqdn_ip4", "fqdn_ip6")


def ip_interfaces():
    """Return the addresses of the interfaces."""
    return _some("ip_interfaces")


def ip4_interfaces():
    """Return the IPv4 addresses of the interfaces."""
    return _some("ip4_interfaces")


def ip6_interfaces():
    """Return the IPv6 addresses of the interfaces."""
    return _some("ip6_interfaces")


def hwaddr_interfaces():
    """Return the MAC addresses of the interfaces."""
    return _some("hwaddr_interfaces")


def dns():
    """Return the configuration of the resolver."""
    return _some("dns")


def default_gateway():
    """Return the default gateways."""
    return _some("ip_gw", "ip4_gw", "ip6_gw")


def locale_info():
    """Return the locale."""
    return _some("locale_info")


def get_machine_id():
    """Return the id of the machine."""
    return _some("machine_id")


def get_server_id():
    """Return the number of the minion."""
    return _some("server_id")


def get_master():
    """Return the master of the minion."""
    return _some("master")


def kernelparams():
    """Return the parameters of the kernel."""
    return _some("kernelparams")


def path():
    """Return PATH."""
    return _some("path", "systempath")


def pythonversion():
    """Return the version of Python."""
    import sys

    return {"pythonversion": list(sys.version_info)}


def pythonpath():
    """Return where Python looks for modules."""
    import sys

    return {"pythonpath": list(sys.path)}


def pythonexecutable():
    """Return the program of Python."""
    import sys

    return {"pythonexecutable": sys.executable}


def saltversion():
    """Return the version of Salt."""
    from salt.version import __version__

    return {"saltversion": __version__}


def saltversioninfo():
    """Return the version of Salt as numbers."""
    from salt.version import __version_info__

    return {"saltversioninfo": list(__version_info__)}


def saltpath():
    """Return the directory of Salt's library."""
    from salt.syspaths import INSTALL_DIR

    return {"saltpath": INSTALL_DIR}


def cwd():
    """Return the working directory."""
    import os

    return {"cwd": os.getcwd()}


def _linux_distribution():
    from salt.utils import platform

    return platform.linux_distribution()
