{#- A server of ssh for the functions of sshfunctions.sh. -#}
openssh-server:
  pkg.installed:
    - install_recommends: False
    - pkgs:
      - openssh-server
      - openssh-client
