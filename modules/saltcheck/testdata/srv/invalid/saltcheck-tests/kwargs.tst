test: {module_and_function: test.echo, kwargs: [1], assertion: assertTrue}
