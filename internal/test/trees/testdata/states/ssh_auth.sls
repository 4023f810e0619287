openssh-client:
  pkg.installed: []

a key of root:
  ssh_auth.present:
    - name: ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ0q me@web1
    - user: root
    - require:
      - pkg: openssh-client

a key with options:
  ssh_auth.present:
    - name: AAAAB3NzaC1yc2EAAAADAQABAAAAgQ==
    - user: root
    - enc: rsa
    - options:
      - no-pty
    - require:
      - pkg: openssh-client

no such key:
  ssh_auth.absent:
    - name: AAAAB3NzaC1kc3MAAACBAL0sQ9fJ5bYTEyY=
    - user: root
    - require:
      - pkg: openssh-client

web1.example.com:
  ssh_known_hosts.present:
    - user: root
    - key: AAAAC3NzaC1lZDI1NTE5AAAAIGEdgO3SnmTYnrWJkYw4ZcrGhlFxpWPvHXsG9sPKQwWa
    - enc: ssh-ed25519
    - require:
      - ssh_auth: a key of root

web2.example.com:
  ssh_known_hosts.absent:
    - user: root
    - require:
      - pkg: openssh-client
