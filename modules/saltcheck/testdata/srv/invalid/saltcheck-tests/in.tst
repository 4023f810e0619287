test: {module_and_function: test.true, assertion: assertIn, expected_return: 1}
