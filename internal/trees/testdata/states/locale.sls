locales:
  pkg.installed

made:
  locale.present:
    - name: de_DE.UTF-8
    - require:
      - pkg: locales
