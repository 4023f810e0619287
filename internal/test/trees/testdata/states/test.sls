nothing:
  test.nop: []

succeeds:
  test.succeed_without_changes:
    - require:
      - test: nothing

said:
  test.show_notification:
    - text: this is only said
