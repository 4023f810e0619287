"""What plug-ins for NAPALM import: the devices themselves need Salt's own library."""

import functools


def is_proxy(opts):
    """Report whether the minion is a proxy of a NAPALM device."""
    return bool(opts.get("proxy")) and opts["proxy"].get("proxytype") == "napalm"


def is_always_alive(opts):
    """Report whether the connection to the device is kept."""
    return opts.get("proxy", {}).get("always_alive", True)


def not_always_alive(opts):
    """Report whether the connection to the device is made for each call."""
    return is_proxy(opts) and not is_always_alive(opts) or is_minion(opts)


def is_minion(opts):
    """Report whether the minion has a NAPALM device without a proxy."""
    return not opts.get("proxy") and bool(opts.get("napalm"))


def virtual(opts, virtualname, filename):
    """Return (False, reason): __virtual__ of a plug-in for NAPALM."""
    from salt import WAY_OUT

    return False, '"%s" (%s) cannot be loaded: %s' % (virtualname, filename,
                                                      WAY_OUT % "salt.utils.napalm")


def call(napalm_device, method, *args, **kwargs):
    """Refuse: a device needs Salt's own library."""
    from salt import WAY_OUT

    raise NotImplementedError(WAY_OUT % "salt.utils.napalm.call")


def get_device_opts(opts, salt_obj=None):
    """Refuse: a device needs Salt's own library."""
    return call(None, "")


def get_device(opts, salt_obj=None):
    """Refuse: a device needs Salt's own library."""
    return call(None, "")


def proxy_napalm_wrap(func):
    """Return a function that has a device as napalm_device."""

    @functools.wraps(func)
    def wrapper(*args, **kwargs):
        return call(None, func.__name__)

    return wrapper


def loaded_ret(ret, loaded, test, debug, compliance_report=False, opts=None):
    """Refuse: a device needs Salt's own library."""
    return call(None, "loaded_ret")


def default_ret(name):
    """Return the result of a state that has done nothing."""
    return {"name": name, "changes": {}, "result": False, "comment": ""}
