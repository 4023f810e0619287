{% from 'web/lib.jinja' import v with context %}v: {{ v }}
