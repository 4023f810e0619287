test -x /srv/env/plain/bin/python
/srv/env/games/with/bin/python -c 'import demo_env'
test "$(stat -c %U /srv/env/games/with/bin/python)" = games
