brpager is installed:
  alternatives.install:
    - name: brpager
    - link: /usr/bin/brpager
    - path: /bin/cat
    - priority: 10

brpager has another:
  alternatives.install:
    - name: brpager
    - link: /usr/bin/brpager
    - path: /bin/more
    - priority: 20
    - require:
      - alternatives: brpager is installed

brpager is set:
  alternatives.set:
    - name: brpager
    - path: /bin/cat
    - require:
      - alternatives: brpager has another
