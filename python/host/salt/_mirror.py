"""Modules that stand for Brine's functions: salt.modules.cmdmod is the functions cmd.*."""

import sys

# The name under which the functions of a file of Salt's are called, where it is another one.
NAMES = {
    "modules": """
        aix_group:group aix_shadow:shadow aixpkg:pkg ansiblegate:ansible apkpkg:pkg aptpkg:pkg
        augeas_cfg:augeas bsd_shadow:shadow cmdmod:cmd deb_apache:apache deb_postgres:postgres
        debconfmod:debconf debian_ip:ip debian_service:service debuild_pkgbuild:pkgbuild
        djangomod:django dockermod:docker dpkg_lowpkg:lowpkg ebuildpkg:pkg etcd_mod:etcd
        freebsd_sysctl:sysctl freebsdjail:jail freebsdkmod:kmod freebsdpkg:pkg freebsdports:ports
        freebsdservice:service gentoo_service:service gentoolkitmod:gentoolkit gnomedesktop:gnome
        groupadd:group grub_legacy:grub haproxyconn:haproxy influxdbmod:influxdb ini_manage:ini
        jenkinsmod:jenkins jira_mod:jira kernelpkg_linux_apt:kernelpkg
        kernelpkg_linux_yum:kernelpkg kubernetesmod:kubernetes launchctl_service:service
        ldapmod:ldap linux_acl:acl linux_ip:ip linux_lvm:lvm linux_shadow:shadow
        linux_sysctl:sysctl localemod:locale logmod:log mac_assistive:assistive mac_brew_pkg:pkg
        mac_desktop:desktop mac_group:group mac_keychain:keychain mac_pkgutil:pkgutil
        mac_portspkg:pkg mac_power:power mac_service:service mac_shadow:shadow
        mac_softwareupdate:softwareupdate mac_sysctl:sysctl mac_system:system
        mac_timezone:timezone mac_user:user mac_xattr:xattr mdadm_raid:raid mod_random:random
        napalm_bgp:bgp napalm_mod:napalm napalm_network:net napalm_ntp:ntp napalm_probes:probes
        napalm_route:route napalm_snmp:snmp napalm_users:users netbsd_sysctl:sysctl
        netbsdservice:service openbsd_sysctl:sysctl openbsdpkg:pkg openbsdrcctl_service:service
        openbsdservice:service opkg:pkg pacmanpkg:pkg parted_partition:partition pkgin:pkg
        pkgng:pkg pw_group:group pw_user:user redismod:redis rest_pkg:pkg rest_service:service
        rh_ip:ip rh_service:service rpm_lowpkg:lowpkg rpmbuild_pkgbuild:pkgbuild
        saltcloudmod:saltcloud scp_mod:scp slack_notify:slack slackware_service:service
        smf_service:service solaris_group:group solaris_shadow:shadow solaris_system:system
        solaris_user:user solarisipspkg:pkg solarispkg:pkg suse_apache:apache suse_ip:ip
        sysmod:sys systemd_service:service upstart_service:service useradd:user
        virtualenv_mod:virtualenv win_disk:disk win_file:file win_groupadd:group win_ip:ip
        win_network:network win_pkg:pkg win_service:service win_shadow:shadow win_status:status
        win_system:system win_task:task win_timezone:timezone win_useradd:user x509_v2:x509
        xbpspkg:pkg yumpkg:pkg zcbuildout:buildout zypperpkg:pkg
    """,
    "states": """
        ansiblegate:ansible aptpkg:apt debconfmod:debconf etcd_mod:etcd ini_manage:ini
        linux_acl:acl mac_assistive:assistive mac_keychain:keychain mac_xattr:xattr
        mdadm_raid:raid pip_state:pip rbac_solaris:rbac redismod:redis saltmod:salt
        virtualenv_mod:virtualenv win_network:network win_system:system x509_v2:x509
        zcbuildout:buildout
    """,
}


def called(kind, file):
    """Return the name under which the functions of a file are called."""
    for pair in NAMES.get(kind, "").split():
        name, _, virtual = pair.partition(":")
        if name == file:
            return virtual
    return file


def _parts(name):
    from salt import MIRRORED

    parent, _, file = name.rpartition(".")
    kind = MIRRORED[parent]
    return kind, called(kind, file)


def exists(name):
    """Report whether Brine has functions for the module of a dotted name."""
    from salt import _brine

    kind, virtual = _parts(name)
    if not _brine.running():
        return not virtual.startswith("_")
    if virtual in _brine.worker().loader(kind).files:
        return True
    return bool(_brine.call("module", kind, virtual))


def fill(module):
    """Give a module the functions of Brine's as attributes."""
    kind, virtual = _parts(module.__name__)
    module.__dict__["__virtualname__"] = virtual
    module.__dict__["__getattr__"] = attributes(module.__name__, kind, virtual)


def attributes(module, kind, virtual):
    """Return the __getattr__ of a module that stands for the functions VIRTUAL.*."""

    def __getattr__(name):
        from salt import WAY_OUT, _brine

        full = virtual + "." + name
        if name[:1] != "_" and _brine.running():
            functions = _brine.functions(kind)
            if full in functions:
                return functions[full]
            if name[-1:] == "_" and full[:-1] in functions:  # file.set_ and its like
                return functions[full[:-1]]
        if name in LENT and _brine.running():
            return lent(name)
        if name[:2] == "__":
            raise AttributeError("module %r has no attribute %r" % (module, name))
        raise AttributeError(WAY_OUT % (module + "." + name))

    return __getattr__


# What plug-ins find in their globals: the kind of functions, or None for a dictionary.
LENT = {"__salt__": "modules", "__utils__": "utils", "__states__": "states", "__opts__": None,
        "__grains__": None, "__pillar__": None, "__context__": None}


def lent(name):
    """Return what a plug-in has as __salt__, __opts__ and so on."""
    from salt import _brine

    if LENT[name]:
        return _brine.functions(LENT[name])
    worker = _brine.worker()
    if name == "__context__":
        return worker._context("modules")
    return worker.fetch(name.strip("_"))
