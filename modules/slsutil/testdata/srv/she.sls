#!jinja|json
{"a": {{ n | default(3) }}}
