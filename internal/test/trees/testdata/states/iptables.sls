# The packet filter of a tree is that of its host: nothing is set here but what is not there anyway.
iptables package:
  pkg.installed:
    - name: iptables

BRINE-NONE:
  iptables.chain_absent:
    - require:
      - pkg: iptables package

no such rule:
  iptables.delete:
    - chain: INPUT
    - jump: DROP
    - protocol: tcp
    - dport: 65533
    - match: comment
    - comment: never set by anybody
    - require:
      - pkg: iptables package
