test: {module_and_function: test.echo, args: 5, assertion: assertTrue}
