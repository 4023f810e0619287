lone:
  module_and_function: test.echo
  args: [1]
  assertion: assertEqual
  expected_return: 2
skipped:
  module_and_function: test.echo
  args: [1]
  assertion: assertEqual
  expected_return: 2
  skip: True
