broken:
  - test.nop: [
