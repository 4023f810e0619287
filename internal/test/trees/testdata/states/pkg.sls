{#- Packages in all ways that leave nothing to do for a second run. -#}
{%- set version = salt['pkg.latest_version']('hello', show_installed=True, refresh=False) or salt['pkg.version']('hello') %}
hello:
  pkg.installed:
    - refresh: True

several:
  pkg.installed:
    - pkgs:
      - tree
      - figlet: ">=1"
      - sl: "*"
    - install_recommends: False

exact:
  pkg.installed:
    - name: hello
    - version: {{ version }}

range:
  pkg.installed:
    - name: tree
    - version: ">=1.0,<9999"
    - ignore_epoch: True

newest word:
  pkg.installed:
    - pkgs:
      - cowsay: latest

native name:
  pkg.installed:
    - name: tree:{{ grains['osarch'] }}

nothing:
  pkg.installed:
    - pkgs: []

newest:
  pkg.latest:
    - name: figlet

newest ones:
  pkg.latest:
    - pkgs:
      - figlet
      - sl

held by name:
  pkg.held:
    - name: sl

held at installation:
  pkg.installed:
    - name: rolldice
    - hold: True

not held:
  pkg.unheld:
    - name: tree

not there:
  pkg.removed:
    - name: telnetd

not there either:
  pkg.removed:
    - pkgs:
      - rsh-server
      - tree: "<0.1"

no trace:
  pkg.purged:
    - pkgs:
      - telnetd
      - rsh-server

fetched:
  pkg.downloaded:
    - name: jq

a package of our own:
  cmd.run:
    - name: |
        set -e
        mkdir -p /var/tmp/own/DEBIAN
        printf 'Package: own-thing\nVersion: 1.0-1\nArchitecture: all\nMaintainer: Nobody <nobody@example.com>\nDescription: a thing\n' > /var/tmp/own/DEBIAN/control
        dpkg-deb -b /var/tmp/own /var/tmp/own-thing.deb
    - creates: /var/tmp/own-thing.deb

from a file:
  pkg.installed:
    - sources:
      - own-thing: /var/tmp/own-thing.deb
    - require:
      - cmd: a package of our own

up to date:
  pkg.uptodate:
    - pkgs:
      - hello
      - tree
