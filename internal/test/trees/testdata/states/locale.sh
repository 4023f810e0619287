locale -a | grep -qx de_DE.utf8
grep -x 'LANG="\?de_DE.UTF-8"\?' /etc/default/locale
localectl status | grep LANG=de_DE.UTF-8
