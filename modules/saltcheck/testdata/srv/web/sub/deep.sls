deep:
  test.nop
