/srv/ini:
  file.directory

/srv/ini/app.ini:
  file.managed:
    - contents: |
        name = app
        debug = 1

        [server]
        #port = 80
        host = localhost
        old = x

        [left]
        a = 1
    - replace: False
    - require:
      - file: /srv/ini

options:
  ini.options_present:
    - name: /srv/ini/app.ini
    - sections:
        name: brine
        server:
          port: 8080
          host: example.org
        client:
          retries: 3
    - require:
      - file: /srv/ini/app.ini

only these:
  ini.options_present:
    - name: /srv/ini/app.ini
    - strict: True
    - sections:
        name: brine
        client:
          retries: 3
    - require:
      - ini: options

gone:
  ini.options_absent:
    - name: /srv/ini/app.ini
    - sections:
        server:
          - old
    - require:
      - ini: only these

sections:
  ini.sections_present:
    - name: /srv/ini/app.ini
    - sections:
        - client
        - empty
    - require:
      - ini: gone

no section:
  ini.sections_absent:
    - name: /srv/ini/app.ini
    - sections:
        - left
    - require:
      - ini: sections
