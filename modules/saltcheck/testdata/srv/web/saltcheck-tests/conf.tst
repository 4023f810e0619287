echo:
  module_and_function: test.echo
  args: [hello]
  kwargs:
  assertion: assertEqual
  expected_return: hello
