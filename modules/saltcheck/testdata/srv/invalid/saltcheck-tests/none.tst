test: null
