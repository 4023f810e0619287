{#- What the functions of pkgfunctions.sh work on. -#}
fortune-mod:
  pkg.installed:
    - install_recommends: False
    - pkgs:
      - fortune-mod
      - debconf-utils

/var/tmp/pkgfunctions.dat:
  file.managed:
    - contents: |
        pkgfunctions pkgfunctions/colour select {% raw %}{{ colour }}{% endraw %}
