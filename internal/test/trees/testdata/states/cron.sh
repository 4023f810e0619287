crontab -l | grep -x '# what it is for SALT_CRON_IDENTIFIER:one'
crontab -l | grep -x '#DISABLED#\* \* \* \* \* /bin/true two'
crontab -u daemon -l | grep -x '@daily /bin/true three'
crontab -u games -l > /tmp/crontab
grep -x '3 4 \* \* \* /bin/true five' /tmp/crontab
not grep -E 'four|OLD' /tmp/crontab
rm /tmp/crontab
systemctl is-active cron
