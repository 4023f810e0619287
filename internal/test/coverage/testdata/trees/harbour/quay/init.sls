{% from 'quay/map.jinja' import quay with context %}
include:
  - pier.built

{# a state in a comment:
   gone.present: [] #}
crane: crane.installed

quay-files:
  file.managed:
    - name: /etc/quay
    - contents: |
        rope:
          knot.tied: []
    - require:
      - crane: crane
  crane:
    - moved
    - name: north
{% for ship in quay.ships | sort_by_length %}
ship-{{ ship }}:
  'berth.held':
    - name: {{ ship }}
    - onlyif:
      - fun: tide.high
      {% if ship is afloat %}
      - fun: buoy.lit
      {% endif %}
{% endfor %}

tide.reset:
  module.run: []

lamps:
  module.run:
    - lamp.light:
      - name: red
    - name: lamp.count

extend:
  pier:
    pier.built:
    - watch:
      - file: /etc/quay

horn:
  horn.sounded
