# A server that lets postgres in at 127.0.0.1 without a password, where there is one.
psql:
  pkg.installed:
    - name: postgresql-client

{% if salt['cmd.retcode']('psql -h 127.0.0.1 -U postgres -c "select 1"', ignore_retcode=True) == 0 %}
brine_tree_group:
  postgres_group.present:
    - db_host: 127.0.0.1
    - db_user: postgres
    - require:
      - pkg: psql

brine_tree_user:
  postgres_user.present:
    - password: 'se cret'
    - encrypted: scram-sha-256
    - groups: brine_tree_group
    - db_host: 127.0.0.1
    - db_user: postgres
    - require:
      - postgres_group: brine_tree_group

brine_tree:
  postgres_database.present:
    - owner: brine_tree_user
    - db_host: 127.0.0.1
    - db_user: postgres
    - require:
      - postgres_user: brine_tree_user

brine_tree_group in it:
  postgres_privileges.present:
    - name: brine_tree_group
    - object_name: brine_tree
    - object_type: database
    - privileges:
      - CONNECT
    - db_host: 127.0.0.1
    - db_user: postgres
    - require:
      - postgres_database: brine_tree

plpgsql:
  postgres_extension.present:
    - maintenance_db: brine_tree
    - db_host: 127.0.0.1
    - db_user: postgres
    - require:
      - postgres_database: brine_tree
{% endif %}
