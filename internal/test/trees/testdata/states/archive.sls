# Archives that are made here, and unpacked in several ways.
archive-tools:
  cmd.run:
    - name: >-
        mkdir -p /srv/made/top/sub && echo one > /srv/made/top/a && echo two > /srv/made/top/sub/b && ln -s a /srv/made/top/l &&
        cd /srv/made && tar czf /srv/a.tar.gz top && tar cf /srv/flat.tar -C top a sub
    - creates: /srv/flat.tar

archive-plain:
  archive.extracted:
    - name: /srv/plain
    - source: /srv/a.tar.gz
    - require: [cmd: archive-tools]

archive-options:
  archive.extracted:
    - name: /srv/options
    - source: /srv/a.tar.gz
    - options: z --strip-components=1
    - enforce_toplevel: False
    - trim_output: 2
    - require: [cmd: archive-tools]

archive-owner:
  archive.extracted:
    - name: /srv/owner
    - source: /srv/flat.tar
    - enforce_toplevel: False
    - user: games
    - group: games
    - require: [cmd: archive-tools]

archive-missing:
  archive.extracted:
    - name: /srv/none
    - source: /srv/a.tar.gz
    - if_missing: /srv/plain
    - require: [archive: archive-plain]

archive-hash:
  archive.extracted:
    - name: /srv/hashed
    - source: /srv/a.tar.gz
    - source_hash: /srv/sums
    - source_hash_update: True
    - require: [cmd: archive-sums]

archive-sums:
  cmd.run:
    - name: sha256sum /srv/a.tar.gz | sed 's|/srv/||' > /srv/sums
    - creates: /srv/sums
    - require: [cmd: archive-tools]
