include:
  - web.conf

web runs:
  test.succeed_without_changes
