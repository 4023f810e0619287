staff is made:
  group.present:
    - name: brstaff
    - gid: 7100

staff has a member:
  group.present:
    - name: brsystem
    - system: True
    - addusers:
      - daemon

members of another:
  group.present:
    - name: brmembers
    - members:
      - daemon
      - bin

no such group:
  group.absent:
    - name: brnone

goes:
  cmd.run:
    - name: groupadd brgoes && touch /var/tmp/brgoes-was
    - creates: /var/tmp/brgoes-was

brgoes:
  group.absent:
    - require:
      - cmd: goes
