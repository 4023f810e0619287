ring:
  local.bell.ring:
    - tgt: '*'
  runner.jobs.list_jobs: []
