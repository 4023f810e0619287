debconf-show nullmailer | grep -x '\* nullmailer/relayhost: mail.example.com smtp'
debconf-show ferm | grep -x '\* ferm/enable: true'
debconf-show ferm | grep -x '\* ferm/other: false'
debconf-show own-thing | grep -x '\* own-thing/colour: red and green'
grep -A6 '^Name: own-database/password' /var/cache/debconf/passwords.dat | grep -x 'Value: not for logs'
not grep -r "not for logs" /var/log/salt
