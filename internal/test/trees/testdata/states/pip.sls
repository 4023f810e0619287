# A virtual environment, and a package that is made here.
pip-python:
  cmd.run:
    - name: apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends python3-venv python3-pip-whl
    - unless: python3 -c 'import venv, ensurepip'

pip-package:
  cmd.run:
    - name: >-
        python3 -c "import zipfile; z = zipfile.ZipFile('/srv/demo_pkg-1.0-py3-none-any.whl', 'w'); i = 'demo_pkg-1.0.dist-info/';
        z.writestr('demo_pkg.py', ''); z.writestr(i + 'METADATA', 'Metadata-Version: 2.1\nName: demo-pkg\nVersion: 1.0\n');
        z.writestr(i + 'WHEEL', 'Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n'); z.writestr(i + 'RECORD', '')"
    - creates: /srv/demo_pkg-1.0-py3-none-any.whl
    - require: [cmd: pip-python]

pip-venv:
  cmd.run:
    - name: python3 -m venv /srv/venv
    - creates: /srv/venv/bin/pip
    - require: [cmd: pip-python]

pip-installed:
  pip.installed:
    - name: demo-pkg >= 1.0
    - bin_env: /srv/venv
    - no_index: True
    - find_links: /srv
    - require: [cmd: pip-package, cmd: pip-venv]

pip-removed:
  pip.removed:
    - name: no-such-package
    - bin_env: /srv/venv
    - require: [cmd: pip-venv]
