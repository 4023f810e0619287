test: {module_and_function: test.echo, args: [{a: 1}], assertion: assertEqual, expected_return: 1}
