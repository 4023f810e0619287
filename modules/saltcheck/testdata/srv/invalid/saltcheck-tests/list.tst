test: {module_and_function: test.echo, args: [[1]], assertion: assertEqual, expected_return: 1}
