test: {module_and_function: test, assertion: assertTrue}
