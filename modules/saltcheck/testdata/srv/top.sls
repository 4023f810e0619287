base:
  '*':
    - web
    - web.sub.deep
    - lone
    - bare
