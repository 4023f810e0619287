hull:
  weld.done:
    - name: {{ salt['echo.depth']('dock') | shout }}
  weld:
    - done
  winch.pulled: []
