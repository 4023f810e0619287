db1:
  host.present:
    - ip: 192.0.2.5

web9:
  host.present:
    - ip:
      - 192.0.2.6
      - 192.0.2.7
    - comment: the web server

192.0.2.8:
  host.only:
    - hostnames:
      - a.example.com
      - a

gone:
  host.absent:
    - ip: 192.0.2.9
