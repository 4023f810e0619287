deployed in {{ saltenv }}:
  module_and_function: test.true
  assertion: assertTrue
