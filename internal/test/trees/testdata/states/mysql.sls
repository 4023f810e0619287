# A server that lets root in at 127.0.0.1 without a password, where there is one. It is that of the host, so names are of this system alone.
{% if salt['mysql.version'](connection_host='127.0.0.1', connection_user='root') %}
{% set name = 'brine_' ~ salt['cmd.run']('date -r /run/systemd/container +%N') %}
mysql-database:
  mysql_database.present:
    - name: {{ name }}
    - character_set: utf8mb4
    - connection_host: 127.0.0.1
    - connection_user: root

mysql-user:
  mysql_user.present:
    - name: {{ name }}
    - password: 'se cret'
    - connection_host: 127.0.0.1
    - connection_user: root

mysql-grant:
  mysql_grants.present:
    - grant: select,insert
    - database: {{ name }}.*
    - user: {{ name }}
    - connection_host: 127.0.0.1
    - connection_user: root
    - require:
      - mysql_database: mysql-database
      - mysql_user: mysql-user

mysql-no-grant:
  mysql_grants.absent:
    - grant: delete
    - database: {{ name }}.*
    - user: {{ name }}
    - connection_host: 127.0.0.1
    - connection_user: root
    - require:
      - mysql_grants: mysql-grant

mysql-no-user:
  mysql_user.absent:
    - name: {{ name }}_none
    - connection_host: 127.0.0.1
    - connection_user: root

mysql-no-database:
  mysql_database.absent:
    - name: {{ name }}_none
    - connection_host: 127.0.0.1
    - connection_user: root
{% endif %}

mysql-done:
  test.nop
