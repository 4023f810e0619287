cd /srv/ini
test "$(sed -n '/^\[client\]/,/^\[/p' app.ini | grep retries | tr -d ' ')" = retries=3
grep '^\[empty\]' app.ini
not grep '^\[left\]' app.ini
not grep '^old' app.ini
grep '^name' app.ini | grep brine
