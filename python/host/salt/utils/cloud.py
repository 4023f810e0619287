"""What of salt.utils.cloud plug-ins use outside of salt-cloud."""


def is_public_ip(ip):
    """Report whether an address is one of the Internet."""
    import ipaddress

    return ipaddress.ip_address(ip).is_global


def salt_config_to_yaml(configuration, line_break="\n"):
    """Return options as YAML."""
    from salt.utils import yaml

    return yaml.safe_dump(configuration, line_break=line_break, default_flow_style=False)
