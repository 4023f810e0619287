group of ann:
  group.present:
    - name: brgroup
    - gid: 7200

ann:
  user.present:
    - fullname: Ann Lee
    - uid: 7201
    - shell: /bin/sh
    - groups:
      - brgroup
    - password: '$6$My5alT$dX70VD1wnFof0Pl8AkakL7hHca8J0fE4V8HSJHtuOPgUuwujI0hwNTlP4iAACE8wwTGiwt/ebo8g53mAAVb7L1'
    - maxdays: 90
    - expire: 30000
    - require:
      - group: group of ann

bob:
  user.present:
    - system: True
    - createhome: False
    - home: /var/lib/bob
    - optional_groups:
      - games
      - none

cat:
  user.present:
    - password: in clear
    - hash_password: True
    - password_lock: True

dan:
  user.present:
    - gid: users
    - usergroup: False
    - empty_password: True

nobody of that name:
  user.absent:
    - name: brnone

eve was here:
  cmd.run:
    - name: useradd -m eve && touch /var/tmp/eve-was
    - creates: /var/tmp/eve-was

eve:
  user.absent:
    - purge: True
    - force: True
    - require:
      - cmd: eve was here
