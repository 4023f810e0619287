# A server that lets postgres in at 127.0.0.1 without a password, where there is one. It is that of the host, so names are of this system
# alone. There is no psql yet to ask whether it does: it answers the first message with R, a length of 8 and 0 then.
{% set hello = "exec 3<>/dev/tcp/127.0.0.1/5432 && printf '\\0\\0\\0\\x17\\0\\3\\0\\0user\\0postgres\\0\\0' >&3 && head -c 9 <&3 | od -An -tx1" %}
{% if salt['cmd.run_stdout'](hello, shell='/bin/bash', python_shell=True, ignore_retcode=True) | trim == '52 00 00 00 08 00 00 00 00' %}
{% set name = 'brine_' ~ salt['cmd.run']('date -r /run/systemd/container +%N') %}
psql:
  pkg.installed:
    - name: postgresql-client

postgres-group:
  postgres_group.present:
    - name: {{ name }}_group
    - db_host: 127.0.0.1
    - db_user: postgres
    - require:
      - pkg: psql

postgres-user:
  postgres_user.present:
    - name: {{ name }}
    - password: 'se cret'
    - encrypted: scram-sha-256
    - groups: {{ name }}_group
    - db_host: 127.0.0.1
    - db_user: postgres
    - require:
      - postgres_group: postgres-group

postgres-database:
  postgres_database.present:
    - name: {{ name }}
    - owner: {{ name }}
    - db_host: 127.0.0.1
    - db_user: postgres
    - require:
      - postgres_user: postgres-user

postgres-privileges:
  postgres_privileges.present:
    - name: {{ name }}_group
    - object_name: {{ name }}
    - object_type: database
    - privileges:
      - CONNECT
    - db_host: 127.0.0.1
    - db_user: postgres
    - require:
      - postgres_database: postgres-database

postgres-extension:
  postgres_extension.present:
    - name: plpgsql
    - maintenance_db: {{ name }}
    - db_host: 127.0.0.1
    - db_user: postgres
    - require:
      - postgres_database: postgres-database

postgres-no-user:
  postgres_user.absent:
    - name: {{ name }}_none
    - db_host: 127.0.0.1
    - db_user: postgres
    - require:
      - pkg: psql

postgres-no-database:
  postgres_database.absent:
    - name: {{ name }}_none
    - db_host: 127.0.0.1
    - db_user: postgres
    - require:
      - pkg: psql
{% endif %}

postgres-done:
  test.nop
