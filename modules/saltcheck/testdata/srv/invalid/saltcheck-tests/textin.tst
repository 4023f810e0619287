test: {module_and_function: test.echo, args: [abc], assertion: assertIn, expected_return: 1}
