package cherrypy_test

import (
	"strings"
	"testing"

	"github.com/brineproject/brine/internal/test/netapitest"
)

// TestOwnEvents checks the setting events: own. A user without wide rights reads the events of their own
// jobs alone, another one all of them.
func TestOwnEvents(t *testing.T) {
	s := netapitest.Start(t, door(), "main", "m1")
	s.Gate.Door.OwnEvents = true
	limited, wide := s.LogIn(t, "limited"), s.LogIn(t, "saltdev")
	end, narrow := openStream(t, s, limited)
	defer end()
	end, all := openStream(t, s, wide)
	defer end()
	order(t, s, wide, `{"client": "local", "tgt": "m1", "fun": "test.echo", "arg": ["of-another"]}`).Want(t, "an order", 200, "of-another")
	if err := fire(t, s, "salt/other/event"); err != nil {
		t.Fatal(err)
	}
	order(t, s, limited, `{"client": "local", "tgt": "m1", "fun": "test.ping"}`).Want(t, "an order", 200, "true")
	for name, stream := range map[string]interface{ ReadString(byte) (string, error) }{"limited": narrow, "saltdev": all} {
		var seen strings.Builder
		for !strings.Contains(seen.String(), `"fun": "test.ping"`) || !strings.Contains(seen.String(), "/ret/m1") {
			line, err := stream.ReadString('\n')
			if err != nil {
				t.Fatalf("%s reads %s, and then %v", name, seen.String(), err)
			}
			if strings.HasPrefix(line, "data:") {
				seen.WriteString(line)
			}
		}
		for _, foreign := range []string{"of-another", "salt/other/event"} {
			if got, want := strings.Contains(seen.String(), foreign), name == "saltdev"; got != want {
				t.Errorf("%s reads %s: %v", name, foreign, got)
			}
		}
	}
}
