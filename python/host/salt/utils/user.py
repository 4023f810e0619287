"""Users and groups, as salt.utils.user knows them."""

import os


def get_user():
    """Return the name of the user that the process has."""
    import pwd

    try:
        return pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:
        return str(os.geteuid())


def get_uid(user=None):
    """Return the number of a user; None if there is none."""
    if not user:
        return os.geteuid()
    import pwd

    try:
        return pwd.getpwnam(user).pw_uid
    except KeyError:
        return None


def get_gid(group=None):
    """Return the number of a group; None if there is none."""
    if not group:
        return os.getegid()
    import grp

    try:
        return grp.getgrnam(group).gr_gid
    except KeyError:
        return None


def get_specific_user():
    """Return the user of the process, as sudo_NAME if sudo made it root."""
    user = get_user()
    sudo = os.environ.get("SUDO_USER", "")
    return "sudo_" + sudo if user == "root" and sudo and sudo != "root" else user


def get_default_group(user):
    """Return the primary group of a user."""
    import grp
    import pwd

    return grp.getgrgid(pwd.getpwnam(user).pw_gid).gr_name


def get_group_list(user, include_default=True):
    """Return the names of a user's groups, sorted."""
    import grp
    import pwd

    try:
        found = pwd.getpwnam(user)
    except KeyError:
        return []
    names = set()
    for gid in os.getgrouplist(user, found.pw_gid):
        try:
            names.add(grp.getgrgid(gid).gr_name)
        except KeyError:
            continue
    if not include_default:
        names.discard(get_default_group(user))
    return sorted(names)


def get_group_dict(user=None, include_default=True):
    """Return the numbers of a user's groups, or of all groups, by name."""
    import grp

    if not user:
        return {g.gr_name: g.gr_gid for g in grp.getgrall()}
    return {name: grp.getgrnam(name).gr_gid for name in get_group_list(user, include_default)}


def get_gid_list(user, include_default=True):
    """Return the numbers of a user's groups, sorted."""
    return sorted(set(get_group_dict(user, include_default).values()))


def chugid(runas, group=None):
    """Make the process one of another user, without a way back."""
    import grp
    import pwd

    from salt.exceptions import CommandExecutionError

    try:
        found = pwd.getpwnam(runas)
        gid = grp.getgrnam(group).gr_gid if group else found.pw_gid
    except KeyError as exc:
        raise CommandExecutionError("User or group not found: %s" % exc) from None
    if os.getuid() == found.pw_uid and os.getgid() == gid:
        return
    try:
        os.setgroups(get_gid_list(runas) if not group else sorted(
            set(get_gid_list(runas, False)) | {gid}))
        os.setgid(gid)
        os.setuid(found.pw_uid)
    except OSError as exc:
        raise CommandExecutionError("Failed to become the user %s: %s" % (runas, exc)) from exc


def chugid_and_umask(runas, umask, group=None):
    """Make the process one of another user, and set its umask."""
    if runas and runas != get_user() or group:
        chugid(runas or get_user(), group)
    if umask is not None:
        os.umask(umask)
