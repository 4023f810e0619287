"""The configuration of the resolver, as salt.utils.dns reads it."""


def parse_resolv(src="/etc/resolv.conf"):
    """Return what a resolv.conf says; {} if it cannot be read."""
    import ipaddress

    servers, found = [], {"sortlist": [], "domain": "", "search": [], "options": []}
    try:
        with open(src, encoding="utf-8", errors="replace") as file:
            lines = file.readlines()
    except OSError:
        return {}
    for line in lines:
        words = line.strip().split()
        if len(words) < 2 or words[0][0] in "#;":
            continue
        name, values = words[0].lower(), words[1:]
        if name == "nameserver":
            try:
                address = ipaddress.ip_address(values[0])
            except ValueError:
                continue
            if address not in servers:
                servers.append(address)
        elif name == "domain":
            found["domain"] = values[0]
        elif name == "search":
            found["search"] = values
        elif name == "sortlist":
            for value in values:
                net = ipaddress.ip_network(value if "/" in value else _natural(value),
                                           strict=False)
                if str(net.with_netmask) not in found["sortlist"]:
                    found["sortlist"].append(str(net.with_netmask))
        elif name == "options":
            found["options"] += [v for v in values if v not in found["options"]]
    made = {
        "nameservers": [str(a) for a in servers],
        "ip4_nameservers": [str(a) for a in servers if a.version == 4],
        "ip6_nameservers": [str(a) for a in servers if a.version == 6],
    }
    made.update(found)
    return made


def _natural(address):
    from salt.utils.network import natural_ipv4_netmask

    return address + natural_ipv4_netmask(address)
