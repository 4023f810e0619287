{%- macro case(name, value, assertion, expected) %}
{{ name }}:
  module_and_function: test.arg_clean
  kwargs: {v: {{ value }}}
  assertion: {{ assertion }}
  expected_return: {{ expected }}
  assertion_section: kwargs:v
{%- endmacro %}
{%- set pairs = [
  ('int', '3', '3'), ('int and text', '3', '"3"'), ('int and more', '3', '4'), ('int and less', '3', '2'),
  ('int and word', '3', 'three'), ('text and int', '"3"', '3'), ('text', 'abc', 'abc'), ('text and other', 'abc', 'b'),
  ('float', '1.5', '1.5'), ('float and text', '1.5', '"1.5"'), ('float and int', '1.5', '1'), ('int and float', '1', '1.5'),
  ('bool', 'true', 'true'), ('bool and False', 'false', '"False"'), ('bool and word', 'true', 'no way'),
  ('bool and zero', 'true', '0'), ('list', '[1, 2]', '[1, 2]'), ('list and text', '[a, b]', 'ab'),
  ('list and longer', '[1, 2]', '[1, 2, 3]'), ('dict', '{a: 1}', '{a: 1}'), ('dict and other', '{a: {b: 1}}', '{a: {b: 2}}'),
  ('dict and text', '{a: 1}', 'a'), ('text and dict', 'abc', '{a: 1}'), ('text and list', 'a', '[a]'), ('accents', 'é', 'è'),
] %}
{%- for assertion in ['assertEqual', 'assertNotEqual'] %}
{%- for name, value, expected in pairs %}
{{- case(assertion ~ ' ' ~ name, value, assertion, expected) }}
{%- endfor %}
{%- endfor %}
{%- for assertion in ['assertGreater', 'assertGreaterEqual', 'assertLess', 'assertLessEqual'] %}
{%- for name, value, expected in [('same', '3', '3'), ('more', '3', '"4"'), ('less', '3', '2'), ('float', '1.5', '1.25'),
  ('text', 'b', 'a'), ('text that is longer', 'b', 'ba'), ('list', '[1, 2]', '[1, 3]'), ('shorter list', '[1, 2]', '[1]'),
  ('bool', 'false', 'true')] %}
{{- case(assertion ~ ' ' ~ name, value, assertion, expected) }}
{%- endfor %}
{%- endfor %}
{%- for assertion in ['assertIn', 'assertNotIn'] %}
{%- for name, value, expected in [('text', 'abc', 'b'), ('missing text', 'abc', 'x'), ('list', '[1, 2]', '2'), ('missing', '[1, 2]', '"2"'),
  ('key', '{a: 1}', 'a'), ('missing key', '{a: 1}', 'b'), ('dict in a list', '[{a: 1}]', '{a: 1}')] %}
{{- case(assertion ~ ' ' ~ name, value, assertion, expected) }}
{%- endfor %}
{%- endfor %}
{%- for assertion in ['assertTrue', 'assertFalse', 'assertEmpty', 'assertNotEmpty'] %}
{%- for name, value in [('true', 'true'), ('false', 'false'), ('text', 'abc'), ('no text', '""'), ('zero', '0'), ('one', '1'), ('list', '[1]'),
  ('no list', '[]'), ('none', 'null')] %}
{{- case(assertion ~ ' ' ~ name, value, assertion, 'null') }}
{%- endfor %}
{%- endfor %}
