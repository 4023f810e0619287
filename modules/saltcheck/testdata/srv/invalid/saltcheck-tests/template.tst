test: {{ nothing.here }}
