deep:
  module_and_function: test.false
  assertion: assertFalse
