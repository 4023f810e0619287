# Repositories that are made here, cloned, checked out and configured.
git-source:
  cmd.run:
    - name: >-
        git init -q -b main /srv/git-source && cd /srv/git-source && git config user.name a && git config user.email a@b &&
        echo one > f && git add f && git commit -qm one && git tag v1 && echo two > f && git commit -qam two
    - creates: /srv/git-source/.git/refs/tags/v1

git-latest:
  git.latest:
    - name: /srv/git-source
    - target: /srv/git-latest
    - rev: main
    - branch: main
    - require: [cmd: git-source]

git-tag:
  git.latest:
    - name: /srv/git-source
    - target: /srv/git-tag
    - rev: v1
    - branch: release
    - require: [cmd: git-source]

git-detached:
  git.detached:
    - name: /srv/git-source
    - target: /srv/git-detached
    - rev: v1
    - require: [cmd: git-source]

git-cloned:
  git.cloned:
    - name: /srv/git-source
    - target: /srv/git-cloned
    - require: [cmd: git-source]

git-present:
  git.present:
    - name: /srv/git-present.git

git-name:
  git.config_set:
    - name: user.name
    - value: Somebody
    - global: True

git-many:
  git.config_set:
    - name: foo.many
    - multivar: [a, b]
    - repo: /srv/git-cloned
    - require: [git: git-cloned]

git-none:
  git.config_unset:
    - name: foo.none
    - repo: /srv/git-cloned
    - all: True
    - require: [git: git-cloned]
