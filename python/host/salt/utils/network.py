"""Networks, as salt.utils.network knows them."""

import os
import socket


def _address(text):
    import ipaddress

    try:
        return ipaddress.ip_address(text)
    except ValueError:
        return None


def _network(text):
    import ipaddress

    try:
        return ipaddress.ip_network(text)
    except (TypeError, ValueError):
        return None


def sanitize_host(host):
    """Return a host name without the characters that none has."""
    return "".join(c for c in host if c.isascii() and (c.isalnum() or c in "_-."))


def is_reachable_host(entity_name):
    """Report whether a host name has an address."""
    try:
        return isinstance(socket.getaddrinfo(entity_name, 0, 0, 0, 0), list)
    except socket.gaierror:
        return False


def isportopen(host, port):
    """Report whether something listens on a port: 0 if so, else the number of the error."""
    if not 1 <= int(port) <= 65535:
        return False
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        return probe.connect_ex((sanitize_host(host), int(port)))


def host_to_ips(host):
    """Return the addresses of a host name, or None."""
    try:
        found = socket.getaddrinfo(host, 0, socket.AF_UNSPEC, socket.SOCK_STREAM)
    except (socket.gaierror, UnicodeError):
        return None
    ips = []
    for family, _, _, _, place in found:
        if family in (socket.AF_INET, socket.AF_INET6) and place[0] not in ips:
            ips.append(place[0])
    return ips or None


def ip_to_host(ip):
    """Return the host name of an address, or None."""
    try:
        return socket.gethostbyaddr(ip)[0]
    except OSError:
        return None


def get_fqhostname():
    """Return the full name of this host."""
    name = None
    try:
        for info in socket.getaddrinfo(socket.gethostname(), None, socket.AF_UNSPEC,
                                       socket.SOCK_DGRAM, 0, socket.AI_CANONNAME):
            if len(info[3]) > 0 and info[3]:
                name = info[3]
                break
    except OSError:
        pass
    return name or socket.getfqdn()


def generate_minion_id():
    """Return the best name of this host for a minion."""
    name = get_fqhostname()
    if name and not name.startswith("localhost"):
        return name
    return socket.gethostname() or "localhost"


def get_socket(addr, type=socket.SOCK_STREAM, proto=0):
    """Return a socket of the kind that an address needs."""
    found = _address(addr)
    family = socket.AF_INET6 if found is not None and found.version == 6 else socket.AF_INET
    return socket.socket(family, type, proto)


def cidr_to_ipv4_netmask(cidr_bits):
    """Return the netmask of a number of bits; "" if that is none."""
    try:
        bits = int(cidr_bits)
    except (TypeError, ValueError):
        return ""
    if not 1 <= bits <= 32:
        return ""
    return _dotted((0xFFFFFFFF << (32 - bits)) & 0xFFFFFFFF)


def _dotted(number):
    return ".".join(str(number >> shift & 255) for shift in (24, 16, 8, 0))


def _number(dotted):
    number = 0
    for part in dotted.split("."):
        number = number << 8 | int(part)
    return number


def get_net_size(mask):
    """Return the bits of a netmask."""
    return bin(_number(mask)).count("1")


def get_net_start(ipaddr, netmask):
    """Return the address of the network of an address and a netmask."""
    import ipaddress

    return str(ipaddress.ip_network("%s/%s" % (ipaddr, netmask), strict=False).network_address)


def calc_net(ipaddr, netmask=None):
    """Return the network of an address and a netmask as ADDRESS/BITS."""
    import ipaddress

    text = ipaddr if netmask is None else "%s/%s" % (ipaddr, netmask)
    return str(ipaddress.ip_network(text, strict=False))


def natural_ipv4_netmask(ip_addr, fmt="prefixlen"):
    """Return the netmask of the class of an address, as /8 or, with fmt netmask, dotted."""
    first = int(ip_addr.split(".")[0])
    bits = 8 if first < 128 else 16 if first < 192 else 24
    return cidr_to_ipv4_netmask(bits) if fmt == "netmask" else "/%d" % bits


def rpad_ipv4_network(ip_addr):
    """Return the start of an address with zeros for the rest."""
    parts = ip_addr.split(".")
    return ".".join((parts + ["0"] * 4)[:4])


def is_ip(ip_addr):
    """Report whether a text is an address."""
    return is_ipv4(ip_addr) or is_ipv6(ip_addr)


def is_ipv4(ip_addr):
    """Report whether a text is an IPv4 address."""
    found = _address(ip_addr) if isinstance(ip_addr, str) else None
    return found is not None and found.version == 4


def is_ipv6(ip_addr):
    """Report whether a text is an IPv6 address."""
    found = _address(ip_addr) if isinstance(ip_addr, str) else None
    return found is not None and found.version == 6


def is_subnet(cidr):
    """Report whether a text is a network like 10.0.0.0/8."""
    return is_ipv4_subnet(cidr) or is_ipv6_subnet(cidr)


def _is_subnet(cidr, version):
    found = _network(cidr) if "/" in str(cidr) else None
    return found is not None and found.version == version


def is_ipv4_subnet(cidr):
    """Report whether a text is an IPv4 network."""
    return _is_subnet(cidr, 4)


def is_ipv6_subnet(cidr):
    """Report whether a text is an IPv6 network."""
    return _is_subnet(cidr, 6)


def is_loopback(ip_addr):
    """Report whether an address is one of this host alone."""
    import ipaddress

    return ipaddress.ip_address(ip_addr).is_loopback


def in_subnet(cidr, addr=None):
    """Report whether an address, or one of this host's, is in a network."""
    found = _network(cidr)
    if found is None:
        return False
    if addr is None:
        addrs = ip_addrs() + ip_addrs6()
    else:
        addrs = [addr] if isinstance(addr, str) else addr
    return any(_address(one) in found for one in addrs if _address(one) is not None)


def _options(ip, options):
    checks = {
        "loopback": "is_loopback", "private": "is_private", "multicast": "is_multicast",
        "reserved": "is_reserved", "unspecified": "is_unspecified", "link-local": "is_link_local",
        "lo": "is_loopback", "site-local": "is_site_local",
    }
    if not options:
        return True
    for option in str(options).split(","):
        option = option.strip()
        if option == "global":
            if not ip.is_global:
                return False
        elif option in checks:
            if not getattr(ip, checks[option], False):
                return False
    return True


def _filtered(value, options, version):
    """Return value, or the items of it, if it is an address that the options allow; else None."""
    import ipaddress

    if isinstance(value, (list, tuple)) or hasattr(value, "__next__"):
        return [str(one) for one in value if _filtered(one, options, version) is not None]
    try:
        found = ipaddress.ip_interface(str(value))
    except ValueError:
        return None
    if version and found.version != version or not _options(found.ip, options):
        return None
    return str(found) if "/" in str(value) else str(found.ip)


def ipaddr(value, options=None):
    """Return the addresses of a list, or an address or None."""
    return _filtered(value, options, None)


def ipv4(value, options=None):
    """Return the IPv4 addresses of a list, or an address or None."""
    return _filtered(value, options, 4)


def ipv6(value, options=None):
    """Return the IPv6 addresses of a list, or an address or None."""
    return _filtered(value, options, 6)


def is_ip_filter(ip_addr, options=None):
    """Report whether a text is an address that the options allow."""
    return is_ip(ip_addr) and _filtered(ip_addr, options, None) is not None


def is_ipv4_filter(ip_addr, options=None):
    """Report whether a text is an IPv4 address that the options allow."""
    return is_ipv4(ip_addr) and _filtered(ip_addr, options, 4) is not None


def is_ipv6_filter(ip_addr, options=None):
    """Report whether a text is an IPv6 address that the options allow."""
    return is_ipv6(ip_addr) and _filtered(ip_addr, options, 6) is not None


def ip_host(value, options=None, version=None):
    """Return an address with the bits of its network."""
    import ipaddress

    if isinstance(value, (list, tuple)):
        return [ip_host(one) for one in _filtered(value, options, version)]
    found = _filtered(value, options, version)
    return str(ipaddress.ip_interface(found)) if found else None


def network_hosts(value, options=None, version=None):
    """Return the addresses of a network's hosts."""
    import ipaddress

    found = _filtered(value, options, version)
    if isinstance(found, list):
        return [network_hosts(one) for one in found]
    if not found:
        return None
    return [str(host) for host in ipaddress.ip_network(found, strict=False).hosts()]


def network_size(value, options=None, version=None):
    """Return the number of a network's addresses."""
    import ipaddress

    found = _filtered(value, options, version)
    if isinstance(found, list):
        return [network_size(one) for one in found]
    return ipaddress.ip_network(found, strict=False).num_addresses if found else None


def filter_by_networks(values, networks):
    """Return the addresses of a list, or of a dictionary of lists, that are in one of networks."""
    if networks is None:
        return values
    if isinstance(values, dict):
        return {name: filter_by_networks(inner, networks) for name, inner in values.items()}
    nets = [net for net in map(_network, networks) if net is not None]
    return [one for one in values
            if any(_address(one) is not None and _address(one) in net for net in nets)]


def hex2ip(hex_ip, invert=False):
    """Return the address of a hexadecimal number as the kernel prints it."""
    import ipaddress

    try:
        if len(hex_ip) == 32:
            parts = [hex_ip[at:at + 8] for at in range(0, 32, 8)]
            if invert:
                parts = ["".join(reversed([p[at:at + 2] for at in range(0, 8, 2)]))
                         for p in parts]
            address = ipaddress.IPv6Address(int("".join(parts), 16))
            return str(address.ipv4_mapped or address)
        number = int(hex_ip, 16)
    except ValueError:
        return hex_ip
    parts = [number >> shift & 255 for shift in (24, 16, 8, 0)]
    return ".".join(str(p) for p in (reversed(parts) if invert else parts))


def mac2eui64(mac, prefix=None):
    """Return the identifier of an interface from a MAC address, or an address of prefix with it."""
    import ipaddress

    digits = "".join(c for c in mac.lower() if c in "0123456789abcdef")
    eui = digits[:6] + "fffe" + digits[6:]
    eui = "%02x%s" % (int(eui[:2], 16) ^ 2, eui[2:])
    if prefix is None:
        return ":".join(eui[at:at + 4] for at in range(0, 16, 4))
    net = ipaddress.ip_network(prefix, strict=False)
    return "%s/%d" % (net[int(eui, 16)], net.prefixlen)


def gen_mac(prefix="AC:DE:48"):
    """Return a MAC address that begins with prefix and ends by chance."""
    return "%s:%02X:%02X:%02X" % ((prefix,) + tuple(os.urandom(3)))


def mac_str_to_bytes(mac_str):
    """Return the six bytes of a MAC address."""
    if len(mac_str) == 17:
        mac_str = mac_str.replace(mac_str[2], "")
    elif len(mac_str) != 12:
        raise ValueError("Invalid MAC address")
    return bytes.fromhex(mac_str)


def ip_bracket(addr, strip=False):
    """Return an address, in brackets if it is an IPv6 one; with strip, without them."""
    import ipaddress

    bare = str(addr).strip("[]")
    found = ipaddress.ip_address(bare)
    return "[%s]" % bare if found.version == 6 and not strip else bare


def ipwrap(data):
    """Return IPv6 addresses in brackets; other values stay."""
    if isinstance(data, (list, tuple)):
        return [ipwrap(item) for item in data]
    return "[%s]" % data if is_ipv6(data) else data


def parse_host_port(host_port):
    """Return (host, port) of HOST:PORT, [ADDRESS]:PORT or HOST; the port may be None."""
    text = host_port
    port = None
    if text.startswith("["):
        host, mark, rest = text[1:].partition("]")
        if not mark:
            raise ValueError('"%s" has no "]"' % host_port)
        if rest and not rest.startswith(":"):
            raise ValueError('found ambiguous "%s" port in "%s"' % (rest, host_port))
        port = rest[1:] or None
    elif text.count(":") == 1:
        host, _, port = text.partition(":")
    else:
        host = text
    if port is not None:
        try:
            port = int(port)
        except ValueError:
            raise ValueError('host_port "%s" port value "%s" is not an integer.'
                             % (host_port, port)) from None
    if not is_ip(host) and host != sanitize_host(host):
        raise ValueError('bad hostname: "%s"' % host)
    return host, port


def dns_check(addr, port, safe=False, ipv6=None):
    """Return the address of a host that can be reached, or else its first one."""
    from salt.exceptions import SaltClientError, SaltSystemExit

    family = {None: socket.AF_UNSPEC, True: socket.AF_INET6, False: socket.AF_INET}[ipv6]
    try:
        found = socket.getaddrinfo(addr, port, family, socket.SOCK_STREAM)
    except socket.gaierror:
        found = []
    for info in found:
        return ip_bracket(info[4][0])
    text = "DNS lookup or connection check of '%s' failed" % addr
    if safe:
        raise SaltClientError(text)
    raise SaltSystemExit(code=42, msg=text)


def refresh_dns():
    """Do nothing: the system reads its configuration by itself."""


def interfaces():
    """Return the network interfaces: {name: {up, hwaddr, inet: [...], inet6: [...]}}."""
    found = {}
    for _, name in socket.if_nameindex():
        found[name] = one = {"up": _up(name)}
        address = _sys(name, "address")
        if address:
            one["hwaddr"] = address
    _add_addresses(found)
    return found


linux_interfaces = _get_interfaces = interfaces


def _clear_interfaces():
    """Do nothing: interfaces() asks the system each time."""


def _sys(name, file):
    try:
        with open("/sys/class/net/%s/%s" % (name, file), encoding="ascii") as content:
            return content.read().strip()
    except (OSError, ValueError):
        return ""


def _up(name):
    try:
        return bool(int(_sys(name, "flags"), 16) & 1)
    except ValueError:
        return False


def _add_addresses(found):
    import subprocess

    from salt.utils import path

    program = path.which("ip")
    if not program:
        _add_by_ioctl(found)
        return
    output = subprocess.run([program, "-o", "addr", "show"], stdout=subprocess.PIPE,
                            stderr=subprocess.DEVNULL, check=False).stdout.decode()
    for line in output.splitlines():
        words = line.replace("\\", " ").split()
        name = words[1].partition("@")[0]
        one = found.setdefault(name, {"up": _up(name)})
        address, _, bits = words[3].partition("/")
        rest = words[4:]
        if words[2] == "inet":
            label = name
            for word in rest:
                if word == name or word.startswith(name + ":"):
                    label = word
            entry = {
                "address": address, "netmask": cidr_to_ipv4_netmask(bits or 32),
                "broadcast": rest[rest.index("brd") + 1] if "brd" in rest else None,
                "label": label,
            }
            if "secondary" in rest:
                entry["type"] = "inet"
                one.setdefault("secondary", []).append(entry)
            else:
                one.setdefault("inet", []).append(entry)
        elif words[2] == "inet6":
            one.setdefault("inet6", []).append({
                "address": address, "prefixlen": bits or "128",
                "scope": rest[rest.index("scope") + 1] if "scope" in rest else "",
            })


def _add_by_ioctl(found):
    """Add the first IPv4 address of each interface, and all of IPv6, without a program."""
    import fcntl
    import ipaddress
    import struct

    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        for name in found:
            request = struct.pack("256s", name[:15].encode())
            try:
                address, mask, broadcast = (
                    socket.inet_ntoa(fcntl.ioctl(probe.fileno(), number, request)[20:24])
                    for number in (0x8915, 0x891B, 0x8919))
            except OSError:
                continue
            found[name].setdefault("inet", []).append(
                {"address": address, "netmask": mask, "label": name,
                 "broadcast": None if broadcast == "0.0.0.0" else broadcast})
    try:
        with open("/proc/net/if_inet6", encoding="ascii") as content:
            lines = content.readlines()
    except OSError:
        return
    scopes = {0: "global", 0x10: "host", 0x20: "link", 0x40: "site"}
    for line in lines:
        number, _, bits, scope, _, name = line.split()
        found.setdefault(name, {"up": _up(name)}).setdefault("inet6", []).append({
            "address": str(ipaddress.IPv6Address(int(number, 16))),
            "prefixlen": str(int(bits, 16)), "scope": scopes.get(int(scope, 16), "")})


def _chosen(interface, interface_data):
    data = interface_data if interface_data is not None else interfaces()
    if interface is None:
        return data
    import fnmatch

    wanted = [interface] if isinstance(interface, str) else interface
    return {n: v for n, v in data.items() if any(fnmatch.fnmatch(n, w) for w in wanted)}


def _addresses(interface, include_loopback, interface_data, proto):
    found = set()
    for one in _chosen(interface, interface_data).values():
        entries = one.get(proto, []) + [e for e in one.get("secondary", [])
                                        if e.get("type") == proto]
        for entry in entries:
            address = _address(entry["address"])
            if address is not None and (include_loopback or not address.is_loopback):
                found.add(address)
    return [str(address) for address in sorted(found)]


def ip_addrs(interface=None, include_loopback=False, interface_data=None):
    """Return the IPv4 addresses of the host, or of an interface.

    interface_data is what interfaces() returns.
    """
    return _addresses(interface, include_loopback, interface_data, "inet")


def ip_addrs6(interface=None, include_loopback=False, interface_data=None):
    """Return the IPv6 addresses of the host, or of an interface."""
    return _addresses(interface, include_loopback, interface_data, "inet6")


def _networks(interface, include_loopback, verbose, interface_data, proto):
    import ipaddress

    found = set()
    for one in _chosen(interface, interface_data).values():
        for entry in one.get(proto, []):
            bits = entry.get("prefixlen") if proto == "inet6" else entry.get("netmask")
            try:
                net = ipaddress.ip_network("%s/%s" % (entry["address"], bits), strict=False)
            except ValueError:
                continue
            if include_loopback or not net.is_loopback:
                found.add(net)
    if not verbose:
        return [str(net) for net in sorted(found)]
    return {str(net): {"address": str(net.network_address), "netmask": str(net.netmask),
                       "num_addresses": net.num_addresses, "prefixlen": net.prefixlen}
            for net in sorted(found)}


def ip_networks(interface=None, include_loopback=False, verbose=False, interface_data=None):
    """Return the IPv4 networks of the host, or of an interface."""
    return _networks(interface, include_loopback, verbose, interface_data, "inet")


def ip_networks6(interface=None, include_loopback=False, verbose=False, interface_data=None):
    """Return the IPv6 networks of the host, or of an interface."""
    return _networks(interface, include_loopback, verbose, interface_data, "inet6")


def subnets(interfaces=None):
    """Return the IPv4 networks of the host, or of some interfaces."""
    return ip_networks(interfaces)


def subnets6():
    """Return the IPv6 networks of the host."""
    return ip_networks6()


def _of_interface(iface, get):
    data = interfaces()
    if iface in data:
        return get(data[iface])
    return 'Interface "%s" not in available interfaces: "%s"' % (iface, '", "'.join(data))


def hw_addr(iface):
    """Return the MAC address of an interface."""
    return _of_interface(iface, lambda one: one.get("hwaddr", ""))


def interface(iface):
    """Return the IPv4 addresses of an interface as interfaces() has them."""
    return _of_interface(iface, lambda one: one.get("inet", ""))


def interface_ip(iface):
    """Return the first IPv4 address of an interface."""
    return _of_interface(iface, lambda one: one["inet"][0]["address"] if one.get("inet") else "")


def _connections():
    for name in ("tcp", "tcp6"):
        try:
            with open("/proc/net/" + name, encoding="ascii") as content:
                lines = content.readlines()[1:]
        except OSError:
            continue
        for line in lines:
            words = line.split()
            local, remote = words[1].rsplit(":", 1), words[2].rsplit(":", 1)
            yield (hex2ip(local[0], True), int(local[1], 16), hex2ip(remote[0], True),
                   int(remote[1], 16), int(words[3], 16))


def active_tcp():
    """Return the established TCP connections by number."""
    found = {}
    for here, port, there, other, state in _connections():
        if state == 1:
            found[len(found)] = {"local_addr": here, "local_port": port, "remote_addr": there,
                                 "remote_port": other}
    return found


def local_port_tcp(port):
    """Return the hosts that are connected to a TCP port of this one."""
    return {there for _, here, there, _, state in _connections()
            if state == 1 and here == int(port)}


def remote_port_tcp(port):
    """Return the hosts to whose TCP port this one is connected."""
    return {there for _, _, there, other, state in _connections()
            if state == 1 and other == int(port)}
