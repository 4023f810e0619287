# Functions of pkg and debconf, each twice, against what apt, dpkg and debconf say.
call() { salt-call --local --out newline_values_only -l quiet "$@"; }
json() { salt-call --local --out json --out-indent=-1 -l quiet "$@"; }
twice() { want=$1; shift; test "$("$@")" = "$want"; test "$("$@")" = "$want"; }
version=$(dpkg-query -W -f '${Version}' fortune-mod)

twice "{\"local\": {\"fortune-mod\": {\"$version\": {\"Section\": \"$(dpkg-query -W -f '${Section}' fortune-mod)\"}}}}" json pkg.show fortune-mod filter=package,section
twice fortune-mod call pkg.owner /usr/games/fortune
twice '{"local": {"/usr/games/fortune": "fortune-mod", "/no/such/file": ""}}' json pkg.owner /usr/games/fortune /no/such/file

# what apt has fetched
apt-get -qq -d -y install --no-install-recommends ed < /dev/null
deb=$(ls /var/cache/apt/archives/ed_*.deb)
for _ in 1 2; do json pkg.list_downloaded | grep -F "\"path\": \"$deb\", \"size\": $(stat -c %s "$deb")"; done

# services that run files of old packages
not salt-call --local pkg.services_need_restart 2>/var/tmp/pkgfunctions.err
grep -F "'checkrestart' is needed. It is part of the 'debian-goodies' package" /var/tmp/pkgfunctions.err
printf '#!/bin/sh\ntest "$*" = "--machine --package" && printf "PROCESSES: 2\\nSERVICE:rsyslog,385,/usr/sbin/rsyslogd\\nSERVICE:cups-daemon,390,/usr/sbin/cupsd\\nSERVICE:rsyslog,386,/x\\n"\n' > /usr/local/bin/checkrestart
chmod 755 /usr/local/bin/checkrestart
twice '{"local": ["cups-daemon", "rsyslog"]}' json pkg.services_need_restart
rm /usr/local/bin/checkrestart

# what dpkg is to do with packages
test "$(json pkg.set_selections selection='{"hold": ["fortune-mod"]}')" = '{"local": {"fortune-mod": {"old": "install", "new": "hold"}}}'
dpkg --get-selections fortune-mod | grep hold
twice '{"local": {}}' json pkg.set_selections selection='{"hold": ["fortune-mod"]}'
twice '{"local": {"hold": ["fortune-mod"]}}' json pkg.get_selections pattern=fortune-mod state=hold
printf '# a remark\nfortune-mod install\n' > /var/tmp/pkgfunctions.selections
test "$(json pkg.set_selections /var/tmp/pkgfunctions.selections)" = '{"local": {"fortune-mod": {"old": "hold", "new": "install"}}}'
dpkg --get-selections fortune-mod | grep install

# what nothing needs any more
lib=$(dpkg-query -W -f '${Status} ${Package}\n' 'librecode*' | sed -n 's/^install ok installed //p' | head -n 1)
apt-get -qq -y remove fortune-mod < /dev/null
json pkg.autoremove list_only=True | grep "\"$lib\""
dpkg -s "$lib" | grep '^Status: install ok installed'
json pkg.autoremove purge=True | grep "\"$lib\""
not dpkg -s "$lib"
twice '{"local": {}}' json pkg.autoremove purge=True

# a newer version
shelf=/var/tmp/pkgfunctions.shelf
for v in 1 2; do
	mkdir -p $shelf/own$v/DEBIAN
	printf 'Package: own-newer\nVersion: %s.0\nArchitecture: all\nMaintainer: Nobody <nobody@example.com>\nDescription: a thing\n' $v > $shelf/own$v/DEBIAN/control
	dpkg-deb -b $shelf/own$v $shelf/own-newer_$v.deb
done
dpkg -i $shelf/own-newer_1.deb
{ cat $shelf/own2/DEBIAN/control; printf 'Filename: ./own-newer_2.deb\nSize: %s\nSHA256: %s\n' "$(stat -c %s $shelf/own-newer_2.deb)" "$(sha256sum < $shelf/own-newer_2.deb | cut -c -64)"; } > $shelf/Packages
printf 'deb [trusted=yes] file:%s ./\n' $shelf > /etc/apt/sources.list.d/pkgfunctions.list
json pkg.upgrade refresh=True | grep -F '"own-newer": {"old": "1.0", "new": "2.0"}'
test "$(dpkg-query -W -f '${Version}' own-newer)" = 2.0
twice '{"local": {}}' json pkg.upgrade refresh=False
rm /etc/apt/sources.list.d/pkgfunctions.list
apt-get -qq update < /dev/null

# answers from a template
for _ in 1 2; do
	call debconf.set_template /var/tmp/pkgfunctions.dat template=jinja context='{"colour": "green"}' defaults=None
	json debconf.show pkgfunctions | grep -F '["pkgfunctions/colour", "select", "green"]'
done
