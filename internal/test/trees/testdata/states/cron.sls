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

jobs of before:
  cmd.run:
    - name: printf '%s\n' '# Lines below here are managed by Salt, do not edit' 'OLD=1' '1 2 * * * /bin/true four' '3 4 * * * /bin/true five' | crontab -u games - && touch /var/tmp/crontab-was
    - creates: /var/tmp/crontab-was
    - require:
      - pkg: cron

job that goes:
  cron.absent:
    - name: /bin/true four
    - user: games
    - require:
      - cmd: jobs of before

variable that goes:
  cron.env_absent:
    - name: OLD
    - user: games
    - require:
      - cmd: jobs of before

/etc/cron.d/brine:
  file.managed:
    - contents: |
        5 6 * * * root /bin/true six
