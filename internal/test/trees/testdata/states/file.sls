# Files, directories, links and text in them: made, changed and removed.
{% set dir = '/srv/files' %}

files-base:
  file.directory:
    - name: {{ dir }}
    - mode: "0755"

files-tools:
  pkg.installed:
    - name: patch

files-contents:
  file.managed:
    - name: {{ dir }}/contents
    - contents:
      - one
      - two
    - user: games
    - group: games
    - mode: "0640"
    - require: [file: files-base]

files-template:
  file.managed:
    - name: {{ dir }}/etc/deep/app.conf
    - source: salt://file/app.conf
    - template: jinja
    - context:
        port: 8080
    - makedirs: True
    - dir_mode: "0711"

files-source-list:
  file.managed:
    - name: {{ dir }}/listed
    - source:
      - salt://file/nope
      - salt://file/sub/plain.txt
    - mode: keep

files-checked:
  file.managed:
    - name: {{ dir }}/checked
    - contents: "good"
    - check_cmd: grep -q good

files-once:
  file.managed:
    - name: {{ dir }}/once
    - contents: "first"
    - replace: False

files-latin:
  file.managed:
    - name: {{ dir }}/latin
    - contents: "é"
    - encoding: latin-1

files-hosts-block:
  file.blockreplace:
    - name: {{ dir }}/contents-of-block
    - marker_start: "# begin"
    - marker_end: "# end"
    - content: fixed
    - append_if_not_found: True
    - require: [file: files-block-file]

files-accumulated-one:
  file.accumulated:
    - name: lines
    - filename: {{ dir }}/contents-of-block
    - text: from far
    - require_in: [file: files-hosts-block]

files-accumulated-two:
  file.accumulated:
    - name: lines
    - filename: {{ dir }}/contents-of-block
    - text:
      - and farther
    - require_in: [file: files-hosts-block]

files-block-file:
  file.managed:
    - name: {{ dir }}/contents-of-block
    - contents: "head"
    - replace: False

files-accumulated-template:
  file.accumulated:
    - name: members
    - filename: {{ dir }}/members
    - text: [ada, grace]
    - require_in: [file: files-members]

files-members:
  file.managed:
    - name: {{ dir }}/members
    - source: salt://members.txt
    - template: jinja

files-tree:
  file.recurse:
    - name: {{ dir }}/tree
    - source: salt://file
    - template: jinja
    - context:
        port: 9090
    - exclude_pat: "*.patch"
    - clean: True
    - file_mode: "0640"
    - dir_mode: "0750"

files-owned:
  file.directory:
    - name: {{ dir }}/owned/by
    - makedirs: True
    - user: games
    - group: games
    - recurse: [user, group]

files-link:
  file.symlink:
    - name: {{ dir }}/link
    - target: {{ dir }}/contents

files-link-force:
  file.symlink:
    - name: {{ dir }}/moved/link
    - target: ../contents
    - makedirs: True
    - backupname: was

files-hard:
  file.hardlink:
    - name: {{ dir }}/hard
    - target: {{ dir }}/contents
    - require: [file: files-contents]

files-copy:
  file.copy:
    - name: {{ dir }}/copied/contents
    - source: {{ dir }}/contents
    - makedirs: True
    - preserve: True
    - require: [file: files-contents]

files-edit:
  file.managed:
    - name: {{ dir }}/edited
    - contents: |
        # port = 1
        host = a
        host = bb
        end
    - replace: False

files-replace:
  file.replace:
    - name: {{ dir }}/edited
    - pattern: '^(h)ost = (\w)\2$'
    - repl: '\1ost = \2'
    - backup: False
    - require: [file: files-edit]

files-uncomment:
  file.uncomment:
    - name: {{ dir }}/edited
    - regex: ^port
    - backup: False
    - require: [file: files-replace]

files-keyvalue:
  file.keyvalue:
    - name: {{ dir }}/edited
    - key: port
    - value: 22
    - separator: ' = '
    - require: [file: files-uncomment]

files-comment:
  file.comment:
    - name: {{ dir }}/edited
    - regex: ^end
    - backup: False
    - require: [file: files-keyvalue]

files-append:
  file.append:
    - name: {{ dir }}/edited
    - text: last
    - require: [file: files-comment]

files-prepend:
  file.prepend:
    - name: {{ dir }}/edited
    - text: first
    - require: [file: files-append]

files-line:
  file.line:
    - name: {{ dir }}/edited
    - mode: ensure
    - content: second
    - after: ^first$
    - require: [file: files-prepend]

files-json:
  file.serialize:
    - name: {{ dir }}/data.json
    - dataset:
        b: [1, 2]
        a: {c: true}
    - serializer: json

files-yaml:
  file.serialize:
    - name: {{ dir }}/data.yaml
    - dataset:
        b: [1, 2]
        a: {c: true}

files-toml:
  file.serialize:
    - name: {{ dir }}/data.toml
    - dataset:
        s: {k: v}
    - serializer: toml

files-decode:
  file.decode:
    - name: {{ dir }}/decoded
    - encoded_data: Z2V0IHNhbHRlZA==

files-fifo:
  file.mknod:
    - name: {{ dir }}/fifo
    - ntype: p
    - mode: "0620"

files-to-patch:
  file.managed:
    - name: {{ dir }}/patched
    - contents: |
        one
        two
        three
    - replace: False

files-patched:
  file.patch:
    - name: {{ dir }}/patched
    - source: salt://file/fix.patch
    - require: [file: files-to-patch, pkg: files-tools]

files-cached:
  file.cached:
    - name: salt://file/sub/plain.txt

files-not-cached:
  file.not_cached:
    - name: salt://file/never

files-touched:
  cmd.run:
    - name: mkdir -p {{ dir }}/junk/empty/er && touch -d '10 days ago' {{ dir }}/junk/old.log && touch {{ dir }}/junk/new.log {{ dir }}/tidied
    - creates: {{ dir }}/tidied

files-tidied:
  file.tidied:
    - name: {{ dir }}/junk
    - age: 7
    - size: 1g
    - time_comparison: mtime
    - matches: ['.*\.log']
    - require: [cmd: files-touched]

files-pruned:
  file.pruned:
    - name: {{ dir }}/junk/empty
    - recurse: True
    - require: [cmd: files-touched]

files-absent:
  file.absent:
    - name: {{ dir }}/junk/new.log
    - require: [file: files-tidied]

files-backups:
  cmd.run:
    - name: mkdir -p {{ dir }}/backups && cd {{ dir }}/backups && for d in 01 02 03 04; do touch db-2026-01-$d.sql; done && touch {{ dir }}/backed
    - creates: {{ dir }}/backed

files-retention:
  file.retention_schedule:
    - name: {{ dir }}/backups
    - retain:
        most_recent: 1
        first_of_month: 1
    - strptime_format: db-%Y-%m-%d.sql
    - require: [cmd: files-backups]

files-exists:
  file.exists:
    - name: {{ dir }}/contents
    - require: [file: files-contents]

files-missing:
  file.missing:
    - name: {{ dir }}/nowhere

files-touch:
  file.touch:
    - name: {{ dir }}/touched
    - unless: test -e {{ dir }}/touched
