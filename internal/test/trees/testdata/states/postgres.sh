name=brine_$(date -r /run/systemd/container +%N)
if command -v psql; then
  ask() { psql -h 127.0.0.1 -U postgres -Atc "$1"; }
  test "$(ask "SELECT rolname FROM pg_database d JOIN pg_roles r ON d.datdba = r.oid WHERE datname = '$name'")" = "$name"
  test "$(ask "SELECT has_database_privilege('${name}_group', '$name', 'CONNECT')")" = t
  test "$(ask "SELECT pg_has_role('$name', '${name}_group', 'MEMBER')")" = t
  ask "DROP DATABASE $name"
  ask "DROP ROLE $name, ${name}_group"
fi
