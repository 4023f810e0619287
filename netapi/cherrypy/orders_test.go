package cherrypy_test

import (
	"encoding/json"
	"testing"

	"github.com/brineproject/brine/internal/test/netapitest"
)

// Node groups are those of the master's configuration: minions need not know them.
func TestNodegroups(t *testing.T) {
	s := netapitest.Start(t, door(), "main", "m1", "m2")
	session := s.LogIn(t, "saltdev")
	order := func(target string) *netapitest.Reply {
		return s.Do(t, "POST", "/", `{"client": "local", "fun": "test.ping", `+target+`}`, "Content-Type", asJSON, "X-Auth-Token", session)
	}
	for target, want := range map[string]string{
		`"tgt": "ng1", "tgt_type": "nodegroup"`:         `{"return":[{"m1":true,"m2":true}]}`,
		`"tgt": "N@ng1 and m2", "tgt_type": "compound"`: `{"return":[{"m2":true}]}`,
	} {
		got, err := json.Marshal(order(target).JSON(t)) // sorted: minions return in any order
		if err != nil || string(got) != want {
			t.Errorf("%s: %s, want %s (%v)", target, got, want, err)
		}
	}
	order(`"tgt": "N@nowhere and m2", "tgt_type": "compound"`).Want(t, "an unknown group", 400, "there is no node group nowhere")
}

// The arguments of a runner may stand in arg, as on a command line, in kwarg, and beside them.
func TestArgumentsOfRunners(t *testing.T) {
	s := netapitest.Start(t, door(), "main")
	session := s.LogIn(t, "saltdev")
	for chunk, want := range map[string]string{
		`"arg": ["1", "k=v", "[a]"], "b": "2"`:      `{"args":[1,["a"]],"kwargs":{"b":"2","k":"v"}}`,
		`"arg": "x", "kwarg": {"k": "1"}, "k": "2"`: `{"args":["x"],"kwargs":{"k":"2"}}`,
		`"kwarg": {"k": [1]}`:                       `{"args":[],"kwargs":{"k":[1]}}`,
	} {
		got := s.Do(t, "POST", "/", `{"client": "runner", "fun": "test.arg", `+chunk+`}`, "Content-Type", asJSON, "X-Auth-Token", session)
		if got.Status != 200 {
			t.Fatalf("%s: %d %s", chunk, got.Status, got.Body)
		}
		text, err := json.Marshal(got.JSON(t).(map[string]any)["return"].([]any)[0])
		if err != nil || string(text) != want {
			t.Errorf("%s: %s, want %s (%v)", chunk, text, want, err)
		}
	}
}
