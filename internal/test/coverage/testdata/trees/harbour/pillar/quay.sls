git:
  core.editor: vi
  push.default: simple
crane:
  - installed
mine_functions:
  wind.speed: []
owners:
  crane:
    - blue
