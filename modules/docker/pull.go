package docker

import (
	"context"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/docker"
	"github.com/brineproject/brine/loader"
)

type pullArgs struct {
	Image            string
	InsecureRegistry bool `default:"False"`
	APIResponse      bool `default:"False"`
	ClientTimeout    any  `default:"60"`
}

// pull fetches an image from its registry and returns the layers that are new.
//
// api_response
//
//	What the engine said, under API_Response.
//
// client_timeout
//
//	Seconds for which the engine may be silent before it is given up. The default means ten minutes.
//
// CLI Example:
//
//	salt myminion docker.pull centos
//	salt myminion docker.pull centos:6
func (m *module) pull(ctx context.Context, a pullArgs) (*data.Map, error) {
	known, err := m.allImages(ctx)
	if err != nil {
		return nil, err
	}
	repository, tag := docker.SplitTag(a.Image)
	if tag == "" {
		tag = "latest"
	}
	header, err := m.authHeader(ctx, repository)
	if err != nil {
		return nil, err
	}
	started := time.Now()
	e, r, err := m.within(ctx, docker.Request{Method: http.MethodPost, Path: "/images/create",
		Query: url.Values{"tag": {tag}, "fromImage": {repository}}, Header: header}, a.ClientTimeout)
	if err != nil {
		return nil, err
	}
	events, err := m.eventsOf(ctx, e, "pull", r)
	if err != nil {
		return nil, err
	}
	ret := data.NewMap("Time_Elapsed", time.Since(started).Seconds(), "retcode", int64(0))
	if a.APIResponse {
		ret.Set("API_Response", maps(events))
	}
	p := progress{ret: ret}
	for id := range known.All() {
		p.known = append(p.known, short(id))
	}
	for _, event := range events {
		switch first(event) {
		case "status":
			p.pulled(event)
		case "errorDetail":
			p.errs = append(p.errs, detail(event))
		}
	}
	return p.finish(), nil
}

// push sends an image to its registry and returns the layers that were sent.
//
// api_response
//
//	What the engine said, under API_Response.
//
// client_timeout
//
//	Seconds for which the engine may be silent before it is given up. The default means ten minutes.
//
// CLI Example:
//
//	salt myminion docker.push myuser/mycontainer
//	salt myminion docker.push myuser/mycontainer:mytag
func (m *module) push(ctx context.Context, a pullArgs) (*data.Map, error) {
	repository, tag := docker.SplitTag(a.Image)
	header, err := m.authHeader(ctx, repository)
	if err != nil {
		return nil, err
	}
	if header == nil { // the engine wants the header even if there is no login
		header = http.Header{"X-Registry-Auth": {"e30="}}
	}
	query := url.Values{}
	if tag != "" {
		query.Set("tag", tag)
	}
	started := time.Now()
	e, r, err := m.within(ctx, docker.Request{Method: http.MethodPost,
		Path: docker.Path("images", repository, "push"), Query: query, Header: header, Body: data.NewMap()}, a.ClientTimeout)
	if err != nil {
		return nil, err
	}
	events, err := m.eventsOf(ctx, e, "push", r)
	if err != nil {
		return nil, err
	}
	p := progress{ret: data.NewMap("Time_Elapsed", time.Since(started).Seconds(), "retcode", int64(0))}
	if a.APIResponse {
		p.ret.Set("API_Response", maps(events))
	}
	for _, event := range events {
		switch first(event) {
		case "status":
			p.pushed(event)
		case "errorDetail":
			p.errs = append(p.errs, detail(event))
		}
	}
	return p.finish(), nil
}

// events sends a request that keeps the engine busy, and returns the messages that it answers with. It waits
// as long as they come.
func (m *module) events(ctx context.Context, action string, r docker.Request) ([]*data.Map, error) {
	e, err := m.engine(ctx)
	if err != nil {
		return nil, err
	}
	r.Silence = m.limits.work
	return m.eventsOf(ctx, e, action, r)
}

func (m *module) eventsOf(
	ctx context.Context, e engine, action string, r docker.Request,
) ([]*data.Map, error) {
	resp, err := e.Do(ctx, r)
	if err != nil {
		return nil, m.failed(action, err)
	}
	defer resp.Body.Close()
	return collected(resp.Body)
}

func collected(r io.Reader) ([]*data.Map, error) {
	var all []*data.Map
	for event, err := range docker.Events(r) {
		if err != nil {
			return nil, loader.Execution("Unable to interpret API event: %w", err)
		}
		all = append(all, event)
	}
	return all, nil
}

func maps(all []*data.Map) []any {
	values := make([]any, len(all))
	for i, m := range all {
		values[i] = m
	}
	return values
}

// first returns the first key of a message, which tells what it is about.
func first(event *data.Map) any {
	if event.Len() == 0 {
		return nil
	}
	key, _ := event.At(0)
	return key
}

// detail returns the text of an error that the engine reports in a stream.
func detail(event *data.Map) string {
	d := dict(event.Value("errorDetail"))
	if code, ok := d.Get("code"); ok {
		return data.Str(code) + ": " + d.Text("message")
	}
	return d.Text("message")
}

// progress collects what the messages of a pull or push tell.
type progress struct {
	ret   *data.Map
	known []string // short IDs of the images that were there before
	errs  []any
}

// note adds a layer under a key.
func (p *progress) note(key string, id any) {
	layers := dict(p.ret.Value("Layers"))
	if all := list(layers.Value(key)); !slices.Contains(all, id) {
		layers.Set(key, append(all, id))
	}
	p.ret.Set("Layers", layers)
}

func (p *progress) pulled(event *data.Map) {
	status, id := event.Text("status"), event.Value("id")
	switch {
	case status == "Already exists":
		p.note("Already_Pulled", id)
	case status == "Pull complete":
		p.note("Pulled", id)
	case strings.HasPrefix(status, "Status: "):
		p.ret.Set("Status", strings.TrimPrefix(status, "Status: "))
	case status == "Download complete" && slices.Contains(p.known, data.Str(id)):
		p.note("Already_Pulled", id)
	case status == "Download complete":
		p.note("Pulled", id)
	}
}

func (p *progress) pushed(event *data.Map) {
	id, ok := event.Get("id")
	if !ok {
		return
	}
	status := strings.ToLower(event.Text("status"))
	switch {
	case strings.Contains(status, "already pushed") || strings.Contains(status, "already exists"):
		p.note("Already_Pushed", id)
	case strings.Contains(status, "successfully pushed") || status == "pushed":
		p.note("Pushed", id)
	}
}

func (p *progress) finish() *data.Map {
	if len(p.errs) > 0 {
		p.ret.Set("Errors", p.errs)
		p.ret.Set("retcode", int64(1))
	}
	return p.ret
}
