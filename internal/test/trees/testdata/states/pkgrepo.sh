cd /etc/apt
test "$(grep -c . sources.list.d/web.list)" = 1
grep -x 'deb \[trusted=yes\] file:///srv/web/\? \./' sources.list.d/web.list
grep '^Enabled: no' sources.list.d/stanza.sources
grep '^# \?deb http://127.0.0.1:9/disabled' sources.list
test "$(cat sources.list.d/clean.list | grep -c old)" = 0
grep 'stays' sources.list.d/gone.list | grep -v contrib
not grep '/gone' sources.list.d/gone.list
test -s keyrings/web.gpg
apt-get indextargets > /tmp/targets
grep 'file:/srv/web' /tmp/targets
not grep 127.0.0.1:9 /tmp/targets
rm /tmp/targets
