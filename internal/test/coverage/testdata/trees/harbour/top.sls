base:
  host.example:
    - quay
