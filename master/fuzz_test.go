package master

import (
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/vectors"
	"github.com/brineproject/brine/payload"
)

// FuzzPublish gives loads of any form to publish, those that are maps with the key that proves
// their sender: each has a reply, and what is kept and sent are the same jobs.
func FuzzPublish(f *testing.F) {
	b := newBench(f, nil, "web1", "db1")
	for _, section := range []string{"publish", "ping"} {
		for _, c := range vectors.Load(f, "07-clear-requests.json").Section(section) {
			if load, ok := c.Value("request").(*data.Map).Value("load").(*data.Map); ok {
				if raw, err := payload.Marshal(load); err == nil {
					f.Add(raw)
				}
			}
		}
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		v, err := payload.Unmarshal(raw, payload.PreAuthLimits())
		if load, ok := v.(*data.Map); ok && err == nil {
			load.Set("cmd", "publish")
			load.Set("key", b.key)
			v = load
		}
		body, err := payload.Marshal(data.NewMap("enc", "clear", "version", int64(3), "load", v))
		if err != nil {
			return
		}
		sent := len(b.wire.messages())
		reply, err := payload.Unmarshal(b.ask(body), payload.WireLimits())
		if err != nil {
			t.Fatalf("reply: %v", err)
		}
		if went := len(b.wire.messages()) - sent; went > 1 || went == 1 != (jidOf(reply) != nil) {
			t.Fatalf("%d publications, reply %s", went, data.Repr(reply))
		}
	})
}
