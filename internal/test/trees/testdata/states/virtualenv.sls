# Virtual environments, with a package that is made here in one of them.
virtualenv-python:
  pkg.installed:
    - pkgs: [python3-venv, python3-pip-whl, virtualenv]
    - install_recommends: False

virtualenv-package:
  cmd.run:
    - name: >-
        mkdir -p /srv/wheels && python3 -c "import zipfile;
        z = zipfile.ZipFile('/srv/wheels/demo_env-1.0-py3-none-any.whl', 'w'); i = 'demo_env-1.0.dist-info/';
        z.writestr('demo_env.py', ''); z.writestr(i + 'METADATA', 'Metadata-Version: 2.1\nName: demo-env\nVersion: 1.0\n');
        z.writestr(i + 'WHEEL', 'Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n'); z.writestr(i + 'RECORD', '')"
    - creates: /srv/wheels/demo_env-1.0-py3-none-any.whl
    - require: [pkg: virtualenv-python]

/srv/wheels/requirements.txt:
  file.managed:
    - contents: |
        --no-index
        --find-links /srv/wheels
        demo-env==1.0
    - require: [cmd: virtualenv-package]

virtualenv-plain:
  virtualenv.managed:
    - name: /srv/env/plain
    - venv_bin: python3
    - require: [pkg: virtualenv-python]

/srv/env/games:
  file.directory:
    - makedirs: True
    - user: games

virtualenv-requirements:
  virtualenv.managed:
    - name: /srv/env/games/with
    - requirements: /srv/wheels/requirements.txt
    - user: games
    - require: [file: /srv/wheels/requirements.txt, file: /srv/env/games]
