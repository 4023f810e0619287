set up:
  module_and_function: saltcheck.state_apply
  args:
    - web.conf
  pillar_data:
    site: example.org

id is web1:
  module_and_function: grains.get
  args:
    - id
  assertion: assertEqual
  expected_return: {{ grains['id'] }}
