{% set arch = grains['cpuarch'] if grains is defined and 'cpuarch' in grains else 'none' %}
git:
  latest:
    full_name: Git {{ opts.id if opts is defined else '' }}
    installer: 'x-{{ arch }}.exe'
    locale: {{ salt is defined }} {{ 'test.arg' in salt }} {{ 'cmd.run' in salt }} {{ 'config.get' in salt }}
    versions: [1, 2.5, null, true, é]
    sls: '{{ sls }} {{ saltenv }} {{ tpldir }} {{ pillar is defined }} {{ slspath|default("nix") }}'
    reboot: {a: [1, {b: c}]}
other:
  '1.0': not a dict
  '2': {full_name: Other}
