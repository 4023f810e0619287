cron:
  pkg.installed: []

a job:
  cron.present:
    - name: /bin/true one
    - identifier: one
    - minute: random
    - hour: 2
    - comment: what it is for
    - require:
      - pkg: cron

a job that does not run:
  cron.present:
    - name: /bin/true two
    - commented: True
    - require:
      - pkg: cron

each day:
  cron.present:
    - name: /bin/true three
    - special: '@daily'
    - user: daemon
    - require:
      - pkg: cron

MAILTO:
  cron.env_present:
    - value: root
    - require:
      - pkg: cron

no job:
  cron.absent:
    - name: /bin/false
    - require:
      - pkg: cron

no variable:
  cron.env_absent:
    - name: OTHER
    - require:
      - pkg: cron
