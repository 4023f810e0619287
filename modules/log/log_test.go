package log

import (
	"testing"

	"github.com/sirupsen/logrus"
	logtest "github.com/sirupsen/logrus/hooks/test"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/logging"
)

func TestMessages(t *testing.T) {
	critical := func() string { // logging.Print's text for a level that logrus does not have
		l, hook := logtest.NewNullLogger()
		logging.Print(l, logging.Critical, "x")
		return hook.LastEntry().Level.String()
	}()
	for _, c := range []struct {
		fun, level string
		message    any
		want       string
	}{
		{"log.debug", "debug", "a {'b': 1}", "a {'b': 1}"},
		{"log.info", "info", int64(7), "7"},
		{"log.warning", "warning", data.NewMap("a", nil), "{'a': None}"},
		{"log.error", "error", true, "True"},
		{"log.critical", critical, "100%s", "100%s"},
		{"log.exception", "error", "oh", "oh\nNoneType: None"},
	} {
		l, hook := logtest.NewNullLogger()
		l.SetLevel(logrus.TraceLevel)
		r, err := loader.NewRegistry(&loader.Env{Log: l}, []loader.Plugin{Plugin()})
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			hook.Reset()
			got, err := r.Invoke(t.Context(), c.fun, []any{c.message}, nil)
			if e := hook.LastEntry(); err != nil || got != true || len(hook.Entries) != 1 ||
				e.Message != c.want || e.Level.String() != c.level ||
				e.Data["name"] != "salt.loaded.int.module.logmod" {
				t.Errorf("%s: %v, %v, logs %+v, want %s %q", c.fun, got, err, hook.Entries, c.level, c.want)
			}
		}
	}
}
