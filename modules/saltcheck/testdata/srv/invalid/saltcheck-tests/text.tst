test: word
