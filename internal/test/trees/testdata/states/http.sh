test "$(cat /srv/page)" = 'brine salts'
