bare:
  test.nop
