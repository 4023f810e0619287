locales:
  pkg.installed

made:
  locale.present:
    - name: de_DE.UTF-8
    - require:
      - pkg: locales

# Debian 13 lets localectl set no locale
default:
  locale.system:
    - name: de_DE.UTF-8
    - require:
      - locale: made
