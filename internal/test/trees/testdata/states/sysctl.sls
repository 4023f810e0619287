# The network of a tree may be that of its host: the value is the one that every kernel starts with.
procps:
  pkg.installed

net.ipv4.ip_default_ttl:
  sysctl.present:
    - value: 64
    - require:
      - pkg: procps

in a file of its own:
  sysctl.present:
    - name: net.ipv4.ip_default_ttl
    - value: "64"
    - config: /etc/sysctl.d/50-brine.conf
    - require:
      - pkg: procps
