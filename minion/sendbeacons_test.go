package minion

import (
	"testing"

	"github.com/brineproject/brine/beacons"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/eventbus"
	"github.com/brineproject/brine/payload"
)

// TestEventsOfBeacons reads events of beacons from the bus, on which other programs may fire too.
func TestEventsOfBeacons(t *testing.T) {
	read := func(body []byte) ([]any, error) {
		return beaconEvents(eventbus.Event{Tag: beacons.ReturnTag, Data: body})
	}
	for _, c := range []struct {
		name  string
		value any
		want  int
		fault string
	}{
		{"a list", []any{data.NewMap("tag", "salt/beacon/web1/a/")}, 1, ""},
		{"an empty list", []any{}, 0, ""},
		{"nothing", nil, 0, ""},
		{"a list that was too long", "VALUE_TRIMMED", 0, "event __beacons_return has no list of them: str"},
		{"a dictionary", data.NewMap("a", true), 0, "event __beacons_return has no list of them: dict"},
	} {
		t.Run(c.name, func(t *testing.T) {
			body, err := payload.MarshalBin(data.NewMap("beacons", c.value))
			if err != nil {
				t.Fatal(err)
			}
			got, err := read(body)
			fault := ""
			if err != nil {
				fault = err.Error()
			}
			if len(got) != c.want || fault != c.fault {
				t.Errorf("got %d events, error %q, want %d, %q", len(got), fault, c.want, c.fault)
			}
		})
	}
	if _, err := read([]byte{0xc1}); err == nil {
		t.Error("an event that cannot be read is no error")
	}
}
