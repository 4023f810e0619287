package console

import "net/http"

// fleet lists the minions.
func fleet(q *request) error { return q.render(http.StatusOK, "minions", "Minions", nil) }
