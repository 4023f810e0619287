crontab -l | grep -x '# what it is for SALT_CRON_IDENTIFIER:one'
crontab -l | grep -x '#DISABLED#\* \* \* \* \* /bin/true two'
crontab -u daemon -l | grep -x '@daily /bin/true three'
