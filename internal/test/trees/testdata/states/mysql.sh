call() { fun=$1; shift; salt-call --local --out newline_values_only "mysql.$fun" "$@" connection_host=127.0.0.1 connection_user=root; }
name=brine_$(date -r /run/systemd/container +%N)
if [ -n "$(call version)" ]; then
  call user_grants "$name" | grep -F "GRANT SELECT, INSERT ON \`brine\\_${name#brine_}\`.* TO"
  test "$(call query mysql "SELECT default_character_set_name FROM information_schema.schemata WHERE schema_name='$name'" | grep -c utf8mb4)" = 1
  call user_remove "$name"
  call db_remove "$name"
  test "$(call db_exists "$name")" = False
fi
