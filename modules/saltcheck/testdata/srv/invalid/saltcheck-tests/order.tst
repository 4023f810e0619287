test: {module_and_function: test.echo, args: [1], assertion: assertGreater, expected_return: one}
