{#- Answers for packages before they are installed. -#}
debconf-utils:
  pkg.installed

text answers:
  debconf.set:
    - name: nullmailer
    - data:
        'shared/mailname': {'type': 'string', 'value': 'server.example.com'}
        'nullmailer/relayhost': {'type': 'string', 'value': 'mail.example.com smtp'}
    - require:
      - pkg: debconf-utils

choices:
  debconf.set:
    - name: ferm
    - data:
        'ferm/enable': {'type': 'boolean', 'value': True}
        'ferm/other': {'type': 'boolean', 'value': False}
        'ferm/kind': {'type': 'select', 'value': 'one'}
    - require:
      - pkg: debconf-utils

secret:
  debconf.set:
    - name: own-database
    - data:
        'own-database/password': {'type': 'password', 'value': 'not for logs'}
    - require:
      - pkg: debconf-utils

same question of another package:
  debconf.set:
    - name: own-database
    - data:
        'shared/mailname': {'type': 'string', 'value': 'server.example.com'}
    - require:
      - debconf: text answers

answers in a file:
  file.managed:
    - name: /var/tmp/answers
    - contents: |
        # of a package
        own-thing own-thing/colour string red and green
        own-thing own-thing/on boolean true

from a file:
  debconf.set_file:
    - source: /var/tmp/answers
    - require:
      - pkg: debconf-utils
      - file: answers in a file
