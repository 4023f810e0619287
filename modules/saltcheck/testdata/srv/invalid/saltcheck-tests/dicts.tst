test: {module_and_function: test.echo, args: [{a: 1}], assertion: assertLess, expected_return: {a: 1}}
