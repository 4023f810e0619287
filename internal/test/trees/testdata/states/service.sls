# Units of the system's owner, a timer, an instance of a template and a script of /etc/init.d.
{% for name in ['brine-up', 'brine-down', 'brine-masked'] %}
/etc/systemd/system/{{ name }}.service:
  file.managed:
    - contents: |
        [Unit]
        Description={{ name }}
        [Service]
        ExecStart=/bin/sleep infinity
        [Install]
        WantedBy=multi-user.target
{% endfor %}

/etc/systemd/system/brine-each@.service:
  file.managed:
    - contents: |
        [Service]
        ExecStart=/bin/sleep infinity
        [Install]
        WantedBy=multi-user.target

/etc/systemd/system/brine-up.timer:
  file.managed:
    - contents: |
        [Timer]
        OnCalendar=yearly
        [Install]
        WantedBy=timers.target

/etc/init.d/brine-script:
  file.managed:
    - mode: "0755"
    - contents: |
        #!/bin/sh
        ### BEGIN INIT INFO
        # Provides: brine-script
        # Required-Start:
        # Required-Stop:
        # Default-Start: 2 3 4 5
        # Default-Stop: 0 1 6
        # Short-Description: a script
        ### END INIT INFO
        case "$1" in
          start) sleep infinity > /dev/null 2>&1 & echo $! > /run/brine-script.pid ;;
          stop) kill "$(cat /run/brine-script.pid)"; rm -f /run/brine-script.pid ;;
          status) kill -0 "$(cat /run/brine-script.pid)" ;;
        esac

brine-up:
  service.running:
    - enable: True
    - watch:
      - file: /etc/systemd/system/brine-up.service

brine-up.timer:
  service.running:
    - enable: True
    - require:
      - file: /etc/systemd/system/brine-up.timer

brine-each@one:
  service.running:
    - enable: True
    - require:
      - file: /etc/systemd/system/brine-each@.service

brine-each@two:
  service.enabled:
    - require:
      - file: /etc/systemd/system/brine-each@.service

start what is to be dead:
  cmd.run:
    - name: systemctl daemon-reload && systemctl enable --now brine-down && touch /run/brine-down-was-up
    - creates: /run/brine-down-was-up
    - require:
      - file: /etc/systemd/system/brine-down.service

brine-down:
  service.dead:
    - enable: False
    - require:
      - cmd: start what is to be dead

brine-script:
  service.running:
    - enable: True
    - require:
      - file: /etc/init.d/brine-script

brine-masked:
  service.masked:
    - runtime: True

not masked:
  service.unmasked:
    - name: brine-up

brine-nothing:
  service.dead
