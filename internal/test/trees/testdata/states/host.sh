getent -s files ahosts db1 | grep -w 192.0.2.5
getent -s files ahosts web9 | grep -w 192.0.2.6
test "$(grep -c '^192.0.2.[67].*web9.*# the web server$' /etc/hosts)" = 2
grep -E '^192.0.2.8\s+a.example.com a$' /etc/hosts
not grep gone /etc/hosts
