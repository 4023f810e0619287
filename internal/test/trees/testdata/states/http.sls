# A web server that is a script below a socket of systemd, and what it answers. The network is that of the host: the port is of this system.
{% set port = 20000 + salt['cmd.run']('date -r /run/systemd/container +%-N') | int % 10000 %}
/usr/local/bin/brine-page:
  file.managed:
    - mode: "0755"
    - contents: |
        #!/bin/sh
        read -r method path version
        while read -r line && [ "$line" != "$(printf '\r')" ]; do :; done
        case "$path" in
          /page) printf 'HTTP/1.1 200 OK\r\nContent-Length: 11\r\nConnection: close\r\n\r\nbrine salts' ;;
          *) printf 'HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n' ;;
        esac

/etc/systemd/system/brine-page@.service:
  file.managed:
    - contents: |
        [Service]
        ExecStart=/usr/local/bin/brine-page
        StandardInput=socket

/etc/systemd/system/brine-page.socket:
  file.managed:
    - contents: |
        [Socket]
        ListenStream=127.0.0.1:{{ port }}
        Accept=yes
        [Install]
        WantedBy=sockets.target

brine-page.socket:
  service.running:
    - enable: True
    - require:
      - file: /usr/local/bin/brine-page
      - file: /etc/systemd/system/brine-page@.service
      - file: /etc/systemd/system/brine-page.socket

http-text:
  http.query:
    - name: http://127.0.0.1:{{ port }}/page
    - match: salts
    - status: 200
    - require: [service: brine-page.socket]

http-pattern:
  http.query:
    - name: http://127.0.0.1:{{ port }}/page
    - match: ^brine
    - match_type: pcre
    - status: [200, 201]
    - status_type: list
    - require: [service: brine-page.socket]

http-missing:
  http.query:
    - name: http://127.0.0.1:{{ port }}/other
    - status: 404
    - require: [service: brine-page.socket]

http-wait:
  http.wait_for_successful_query:
    - name: http://127.0.0.1:{{ port }}/page
    - wait_for: 60
    - request_interval: 1
    - status: 200
    - require: [service: brine-page.socket]

http-file:
  file.managed:
    - name: /srv/page
    - source: http://127.0.0.1:{{ port }}/page
    - source_hash: {{ 'brine salts' | sha256 }}
    - require: [service: brine-page.socket]
