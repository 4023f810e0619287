# The zone has no distance from UTC on purpose: systemd tells it to the kernel, which moves the clock by the distance when it is told for
# the first time, and a tree has the kernel's clock of its host.
tzdata:
  pkg.installed

Africa/Abidjan:
  timezone.system:
    - utc: True
    - require:
      - pkg: tzdata
