test: {module_and_function: test.cross.ping, assertion: assertTrue}
