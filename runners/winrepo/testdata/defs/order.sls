order:
  '1': {full_name: B}
  2.50: {full_name: C, installer: x}
