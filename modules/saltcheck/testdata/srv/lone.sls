lone:
  test.nop
