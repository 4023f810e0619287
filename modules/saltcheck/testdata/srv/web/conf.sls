web is configured:
  test.succeed_without_changes:
    - name: {{ salt['pillar.get']('site', 'default') }}
