/srv/venv/bin/pip list --format freeze | grep -x 'demo[-_]pkg==1.0'
