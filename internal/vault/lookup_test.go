package vault

import (
	"context"
	"strings"
	"testing"

	"github.com/brineproject/brine/data"
)

func TestLoad(t *testing.T) {
	call := func(_ context.Context, fun string, args []any, _ *data.Map) (any, error) {
		if fun != "sdb.get" {
			t.Errorf("call of %s", fun)
		}
		if args[0] == "sdb://env/none" {
			return nil, nil
		}
		return "of " + data.Str(args[0]), nil
	}
	for _, tt := range []struct{ token, want, fault string }{
		{"plain", "plain", ""}, {"sdb://env/T", "of sdb://env/T", ""}, {"sdb://env/none", "", "has no value"},
		{"sdb://nosuch/T", "", "sdb has no profile nosuch"}, {"sdb://mine/T", "", "needs the option vault itself"},
	} {
		opts := data.NewMap("env", data.NewMap("driver", "env"), "mine", data.NewMap("driver", "vault"), "vault",
			data.NewMap("url", "https://v", "auth", data.NewMap("method", "token", "token", tt.token)))
		c, err := Load(t.Context(), opts, call)
		if tt.fault != "" {
			if err == nil || !strings.Contains(err.Error(), tt.fault) {
				t.Errorf("%s: %v", tt.token, err)
			}
			continue
		}
		if err != nil || c.token != tt.want {
			t.Errorf("%s: %v, %v", tt.token, c, err)
		}
	}
}
