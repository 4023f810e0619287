tzdata:
  pkg.installed

Europe/Berlin:
  timezone.system:
    - utc: True
    - require:
      - pkg: tzdata
