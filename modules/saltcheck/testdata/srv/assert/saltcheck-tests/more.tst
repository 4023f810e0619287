old names:
  module_and_function: test.echo
  args: [hello]
  assertion: assertEqual
  expected-return: hello
quiet:
  module_and_function: test.echo
  args: [hello]
  assertion: assertEqual
  expected_return: bye
  print_result: False
quiet in:
  module_and_function: test.echo
  args: [hello]
  assertion: assertIn
  expected_return: bye
  print_result: False
quiet not in:
  module_and_function: test.echo
  args: [hello]
  assertion: assertNotIn
  expected_return: ell
  print_result: False
quiet not equal:
  module_and_function: test.echo
  args: [hello]
  assertion: assertNotEqual
  expected_return: hello
  print_result: False
details:
  module_and_function: test.arg_clean
  args: [hello, 2, é]
  kwargs: {k: [1, x]}
  assertion: assertEqual
  assertion_section: kwargs/k/1
  assertion_section_delimiter: /
  expected_return: x
  output_details: True
hidden details:
  module_and_function: test.echo
  args: [hello]
  assertion: assertEqual
  expected_return: hello
  output_details: True
  print_result: False
details without section:
  module_and_function: test.true
  assertion: assertTrue
  output_details: True
details that fail:
  module_and_function: test.arg_clean
  kwargs: {k: {a: 1}}
  assertion: assertEqual
  assertion_section: kwargs
  expected_return: {k: {a: 2}}
  output_details: True
section that is missing:
  module_and_function: test.arg_clean
  args: [hello]
  assertion: assertFalse
  assertion_section: nothing:there
several:
  module_and_function: test.arg_clean
  args: [a, b]
  assertions:
    - assertion: assertEqual
      assertion_section: args:0
      expected_return: a
    - assertion: assertEqual
      assertion_section: args|1
      assertion_section_delimiter: '|'
      expected-return: b
    - assertion: assertEmpty
      assertion_section: kwargs
several that fail:
  module_and_function: test.arg_clean
  args: [a, b]
  assertions:
    - assertion: assertEqual
      assertion_section: args:0
      expected_return: b
    - assertion: assertNotEmpty
  output_details: True
only the last assertion is checked:
  module_and_function: test.arg_clean
  args: [a, b]
  assertions:
    - assertion: assertSomething
      expected_return: b
    - assertion: assertNotEmpty
no assertion:
  module_and_function: test.true
unknown assertion:
  module_and_function: test.true
  assertion: assertMaybe
no expected value:
  module_and_function: test.echo
  args: [a]
  assertion: assertEqual
no function:
  assertion: assertTrue
unknown module:
  module_and_function: nothing.ping
  assertion: assertTrue
unknown function:
  module_and_function: test.pingpong
  assertion: assertTrue
skipped and invalid:
  module_and_function: test.pingpong
  assertion: assertTrue
  skip: True
pillar:
  module_and_function: test.arg_clean
  pillar_data: {a: 1}
  assertion: assertEqual
  assertion_section: kwargs:pillar:a
  expected_return: 1
pillar with the old name:
  module_and_function: test.arg_clean
  pillar-data: {a: 1}
  assertion: assertEqual
  assertion_section: kwargs:pillar:a
  expected_return: 1
pillar among the arguments:
  module_and_function: test.arg_clean
  kwargs: {pillar: {a: 1}, b: 2}
  assertion: assertEqual
  assertion_section: kwargs
  expected_return: {b: 2}
args that are a text:
  module_and_function: test.arg_clean
  args: ab
  assertion: assertEqual
  assertion_section: args
  expected_return: [a, b]
1:
  module_and_function: test.true
  assertion: assertTrue
