// Package splunk is Salt's returner of that name (salt/returners/splunk.py): returns or events for
// the HTTP Event Collector of a Splunk, on port 8088 and by TLS.
//
//	splunk_http_forwarder:
//	  token: TOKEN
//	  indexer: splunk.example.com
//	  sourcetype: salt
//	  index: main
//	  verify_ssl: True    # or a file of trusted authorities
//
// Differences: the token is never logged, and a status other than success is an error. As in Salt
// the environment configures proxies.
package splunk

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/rest"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/output"
	"github.com/brineproject/brine/returners"
)

// Name is the returner's name.
const Name = "splunk"

// limit is the timeout of a request.
const limit = time.Minute

const doc = `
    Send a message to Splunk via the HTTP Event Collector

    CLI Example:

        salt '*' test.ping --return splunk
    `

// Plugin returns the returner for a minion.
func Plugin() loader.Plugin {
	return loader.Plugin{Name: Name, New: func(env *loader.Env) (*loader.Module, error) {
		return returners.Module(doc, newForwarder(returners.EnvSource(env))), nil
	}}
}

// OpenEvents returns an EventReturner for a master with these options.
func OpenEvents(opts *data.Map) returners.EventReturner {
	return newForwarder(returners.MapSource(opts))
}

type forwarder struct {
	from returners.Source
	port string
	now  func() time.Time
	host func() (string, error)
}

func newForwarder(from returners.Source) *forwarder {
	return &forwarder{from, "8088", time.Now, os.Hostname}
}

// Return sends a return.
func (f *forwarder) Return(ctx context.Context, ret *data.Map) error {
	c, o, err := f.open()
	if err != nil {
		return err
	}
	defer c.Close()
	return f.send(ctx, c, o, returners.Decoded(data.Clone(returners.Passed(ret))))
}

// ReturnEvents sends each event, with its tag and data.
func (f *forwarder) ReturnEvents(ctx context.Context, events []returners.Event) error {
	c, o, err := f.open()
	if err != nil {
		return err
	}
	defer c.Close()
	for _, e := range events {
		event := data.NewMap("data", returners.Decoded(data.Clone(e.Data)), "tag", e.Tag)
		if err := f.send(ctx, c, o, event); err != nil {
			return fmt.Errorf("event %q: %w", e.Tag, err)
		}
	}
	return nil
}

// Close does nothing.
func (f *forwarder) Close() error { return nil }

// open returns a client and the options.
func (f *forwarder) open() (*rest.Client, *data.Map, error) {
	v, _ := f.from("splunk_http_forwarder")
	o, ok := v.(*data.Map)
	if !ok || !data.Truth(o.Value("token")) || !data.Truth(o.Value("indexer")) {
		return nil, nil, errors.New("splunk_http_forwarder: token and indexer are not set")
	}
	verify, set := o.Get("verify_ssl")
	ca, _ := verify.(string)
	c, err := rest.New(rest.Options{Timeout: limit, Insecure: set && !data.Truth(verify), CA: ca,
		EnvironmentProxies: true})
	return c, o, err
}

func (f *forwarder) send(ctx context.Context, c *rest.Client, o *data.Map, event any) error {
	host, err := f.host()
	if err != nil {
		return err
	}
	text := func(name string) any {
		if v, ok := o.Get(name); ok {
			return v
		}
		return ""
	}
	body, err := output.JSON(data.NewMap("time", strconv.FormatInt(f.now().Unix(), 10),
		"index", text("index"), "sourcetype", text("sourcetype"), "event", event, "host", host))
	if err != nil {
		return fmt.Errorf("%w: %w", returners.ErrRefused, err)
	}
	at := "https://" + net.JoinHostPort(o.Text("indexer"), f.port) + "/services/collector/event"
	a, err := c.Do(ctx, rest.Request{Method: "POST", URL: at, Body: []byte(body),
		Header: map[string]string{"Authorization": "Splunk " + o.Text("token")}})
	if err == nil {
		err = a.Err()
	}
	if err != nil {
		return fmt.Errorf("send to Splunk on %s: %w", o.Text("indexer"), err)
	}
	return nil
}
