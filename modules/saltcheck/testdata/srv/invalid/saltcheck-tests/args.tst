test: {module_and_function: test.echo, assertion: assertTrue}
