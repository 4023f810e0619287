{#- Packages that come, change and go again: each run does it all. -#}
comes:
  pkg.installed:
    - pkgs:
      - sysvbanner
      - dictd

comes again:
  pkg.installed:
    - name: sysvbanner
    - reinstall: True

held:
  pkg.held:
    - name: sysvbanner

freed:
  pkg.unheld:
    - name: sysvbanner

removed:
  pkg.removed:
    - name: dictd

purged:
  pkg.purged:
    - pkgs:
      - dictd
      - sysvbanner
