"""Checks of addresses, as salt.utils.validate.net does them."""


def mac(addr):
    """Report whether a text is a MAC address with colons or dashes."""
    for mark in ":-":
        parts = addr.split(mark)
        if len(parts) == 6:
            return all(len(p) == 2 and all(c in "0123456789abcdefABCDEF" for c in p)
                       for p in parts)
    return False


def _ip(addr, family):
    import socket

    address, mark, bits = addr.partition("/")
    if mark:
        try:
            if not 0 <= int(bits) <= (32 if family == socket.AF_INET else 128):
                return False
        except ValueError:
            return False
    try:
        socket.inet_pton(family, address)
        return True
    except OSError:
        return False


def ipv4_addr(addr):
    """Report whether a text is an IPv4 address, with or without /bits."""
    import socket

    return _ip(addr, socket.AF_INET)


def ipv6_addr(addr):
    """Report whether a text is an IPv6 address, with or without /bits."""
    import socket

    return _ip(addr, socket.AF_INET6)


def ip_addr(addr):
    """Report whether a text is an address of either kind."""
    return ipv4_addr(addr) or ipv6_addr(addr)


def netmask(mask):
    """Report whether a text is a netmask like 255.255.255.0."""
    if not isinstance(mask, str):
        return False
    parts = mask.split(".")
    if len(parts) != 4 or not ipv4_addr(mask):
        return False
    bits = "".join("{:08b}".format(int(p)) for p in parts)
    return "01" not in bits
