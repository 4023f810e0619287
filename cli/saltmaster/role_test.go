package saltmaster

import "testing"

func TestOptionsOfAPI(t *testing.T) {
	for option, want := range map[string]bool{"rest_cherrypy": true, "netapi_enable_clients": true, "api_logfile": true,
		"console": true, "external_auth": false, "worker_threads": false, "log_fmt_console": false} {
		if got := ofAPI(option); got != want {
			t.Errorf("%s: %t, want %t", option, got, want)
		}
	}
}
