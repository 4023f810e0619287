package cherrypy_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/netapi"
	"github.com/brineproject/brine/netapi/cherrypy"
	"github.com/brineproject/brine/netapi/serve"
	"github.com/brineproject/brine/netapi/stream"
)

// A waitingMaster takes orders that last until their context ends.
type waitingMaster struct {
	begun chan struct{}
	ended chan error
}

func (m *waitingMaster) LogIn(context.Context, *data.Map) (*data.Map, error) { return nil, io.EOF }

func (m *waitingMaster) Order(ctx context.Context, _ *data.Map) (*netapi.Answer, error) {
	m.begun <- struct{}{}
	<-ctx.Done()
	m.ended <- ctx.Err()
	return nil, ctx.Err()
}

func (m *waitingMaster) Get(token string) (*data.Map, error) {
	return data.NewMap("token", token, "name", "ann", "eauth", "file", "expire", float64(time.Now().Unix()+3600)), nil
}

func (m *waitingMaster) Add(*data.Map) error { return nil }

func (m *waitingMaster) Delete(string) error { return nil }

// TestAnOrderEndsWithItsClient closes the connection of a client whose order lasts.
func TestAnOrderEndsWithItsClient(t *testing.T) {
	m := &waitingMaster{make(chan struct{}), make(chan error, 1)}
	log := logrus.New()
	log.SetOutput(io.Discard)
	d := &netapi.Door{Host: "127.0.0.1", Plain: true, Prefix: "/", WebhookURL: "/hook", AppPath: "/app", MaxBody: 1 << 20, MaxStreams: 1,
		MaxStreamsPerUser: 1, MaxOrders: 1}
	gate := netapi.NewGate(netapi.Options{Settings: &netapi.Settings{Clients: []string{"local"}}, Door: d, Master: m, Tokens: m, Log: log})
	h, err := cherrypy.New(cherrypy.Options{Gate: gate, Door: d, Hub: stream.New(stream.Options{}), Log: log})
	if err != nil {
		t.Fatal(err)
	}
	port, err := serve.Listen(t.Context(), d)
	if err != nil {
		t.Fatal(err)
	}
	s, err := serve.New(port, serve.Options{Name: "rest_cherrypy", Door: d, Handler: h, Log: log})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	send := func(ctx context.Context) (*http.Response, error) {
		chunk := `{"client": "local", "tgt": "*", "fun": "test.ping", "token": "` + strings.Repeat("ab", 32) + `"}`
		r, err := http.NewRequestWithContext(ctx, "POST", "http://"+s.Addr().String()+"/run", strings.NewReader(chunk))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", asJSON)
		return http.DefaultClient.Do(r)
	}
	patient, leave := context.WithCancel(t.Context())
	go func() {
		if res, err := send(patient); err == nil {
			res.Body.Close()
		}
	}()
	<-m.begun
	res, err := send(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	if res.StatusCode != 503 || res.Header.Get("Retry-After") != "5" {
		t.Errorf("an order above the limit: %d %v", res.StatusCode, res.Header)
	}
	leave()
	select {
	case <-m.ended:
	case <-time.After(20 * time.Second):
		t.Error("the order of a client that has gone lasts")
	}
	stop()
	if err := <-done; err != nil {
		t.Error(err)
	}
}
