# A server that lets root in at 127.0.0.1 without a password, where there is one.
{% if salt['mysql.version'](connection_host='127.0.0.1', connection_user='root') %}
brine_tree:
  mysql_database.present:
    - character_set: utf8mb4
    - connection_host: 127.0.0.1
    - connection_user: root

brine_tree_user:
  mysql_user.present:
    - password: 'se cret'
    - connection_host: 127.0.0.1
    - connection_user: root

brine_tree_grant:
  mysql_grants.present:
    - grant: select,insert
    - database: brine_tree.*
    - user: brine_tree_user
    - connection_host: 127.0.0.1
    - connection_user: root
    - require:
      - mysql_database: brine_tree
      - mysql_user: brine_tree_user

brine_tree_none:
  mysql_database.absent:
    - connection_host: 127.0.0.1
    - connection_user: root
{% endif %}
