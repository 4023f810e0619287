test: {module_and_function: test.exception, assertion: assertTrue}
