{% set release = grains['oscodename'] %}

/srv/web/Packages:
  file.managed:
    - contents: ''
    - makedirs: True

/srv/web/key.asc:
  file.managed:
    - makedirs: True
    - contents: |
        -----BEGIN PGP PUBLIC KEY BLOCK-----

        mDMEaVJ3AhYJKwYBBAHaRw8BAQdAEjSZ4r1oEtqrkO9Ub1cKVS8pSBTPbPJd7WyE
        -----END PGP PUBLIC KEY BLOCK-----

/etc/apt/keyrings:
  file.directory

# a line in a file of its own
web:
  pkgrepo.managed:
    - name: deb [trusted=yes] file:///srv/web ./
    - humanname: Web
    - file: /etc/apt/sources.list.d/web.list
    - require:
      - file: /srv/web/Packages

# one that is there already, by other words
web again:
  pkgrepo.managed:
    - name: deb [ trusted=yes ] file:///srv/web/ ./
    - require:
      - pkgrepo: web

# a stanza
stanza:
  pkgrepo.managed:
    - name: deb [arch=amd64 trusted=yes] http://127.0.0.1:9/stanza {{ release }} main contrib
    - file: /etc/apt/sources.list.d/stanza.sources
    - disabled: True

# a line that is disabled, in sources.list
disabled:
  pkgrepo.managed:
    - name: deb http://127.0.0.1:9/disabled {{ release }} main
    - enabled: False
    - refresh: False

# components and architectures as arguments, with remarks
arguments:
  pkgrepo.managed:
    - name: deb-src http://127.0.0.1:9/arguments {{ release }} main
    - comps: main,contrib
    - architectures: amd64,arm64
    - comments:
      - our own
    - disabled: True
    - file: /etc/apt/sources.list.d/arguments.list

# another suite than that of the line
dist:
  pkgrepo.managed:
    - name: deb http://127.0.0.1:9/dist sid main
    - dist: {{ release }}
    - file: /etc/apt/sources.list.d/dist.list
    - disabled: True
    - refresh_db: False

# a key that comes with it
key:
  pkgrepo.managed:
    - name: deb [signed-by=/etc/apt/keyrings/web.gpg] http://127.0.0.1:9/key {{ release }} main
    - file: /etc/apt/sources.list.d/key.list
    - key_url: /srv/web/key.asc
    - aptkey: False
    - disabled: True
    - require:
      - file: /srv/web/key.asc
      - file: /etc/apt/keyrings

# a file with nothing else in it
/etc/apt/sources.list.d/clean.list:
  file.managed:
    - contents: deb http://127.0.0.1:9/old {{ release }} main
    - unless: test -e /etc/apt/sources.list.d/clean.list

clean:
  pkgrepo.managed:
    - name: 'deb http://127.0.0.1:9/clean {{ release }} main'
    - file: /etc/apt/sources.list.d/clean.list
    - clean_file: True
    - disabled: True
    - require:
      - file: /etc/apt/sources.list.d/clean.list

# what goes
/etc/apt/sources.list.d/gone.list:
  file.managed:
    - contents: |
        # deb http://127.0.0.1:9/gone {{ release }} main
        # deb http://127.0.0.1:9/stays {{ release }} main contrib
    - unless: test -e /etc/apt/sources.list.d/gone.list

gone:
  pkgrepo.absent:
    - name: deb http://127.0.0.1:9/gone/ {{ release }} main
    - require:
      - file: /etc/apt/sources.list.d/gone.list

part:
  pkgrepo.absent:
    - name: deb http://127.0.0.1:9/stays {{ release }} contrib
    - require:
      - file: /etc/apt/sources.list.d/gone.list

never there:
  pkgrepo.absent:
    - name: deb http://127.0.0.1:9/never {{ release }} main
