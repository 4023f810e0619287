a: {{ nothing.x.y }}
