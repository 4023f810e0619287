// Package slackwebhook is Salt's returner slack_webhook (salt/returners/slack_webhook_return.py): a
// message to a channel of Slack by an incoming webhook.
//
// Options are below slack_webhook.: webhook is required, the address of the webhook or its part
// behind https://hooks.slack.com/services/; success_title ("{id} | Succeeded") and failure_title
// ("{id} | Failed") may name grains in braces; author_icon and show_tasks, with which the message has
// the names of changed and failed states.
//
// Package fileclient/web describes the options for connections. Differences: a failure is an error.
// The submitter of a job cannot choose the webhook. Of events those of find_job and of sign-ins are
// left out, and those without a function, for which Salt's returner fails.
package slackwebhook

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/fileclient/web"
	"github.com/brineproject/brine/internal/rest"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/output"
	"github.com/brineproject/brine/returners"
	"github.com/brineproject/brine/returners/report"
	"github.com/brineproject/brine/version"
	"github.com/brineproject/brine/yaml"
)

// Name is the returner's name.
const Name = "slack_webhook"

// limit is the timeout of a request.
const limit = time.Minute

const doc = `
    Send a slack message with the data through a webhook

    CLI Example:

        salt '*' test.ping --return slack_webhook
    `

func known() []returners.Setting {
	return []returners.Setting{{Name: "webhook", Fixed: true},
		{Name: "success_title", Default: "{id} | Succeeded"}, {Name: "failure_title", Default: "{id} | Failed"},
		{Name: "author_icon", Default: ""}, {Name: "show_tasks", Default: false}}
}

// Plugin returns the returner for a minion.
func Plugin() loader.Plugin {
	return loader.Plugin{Name: Name, New: func(env *loader.Env) (*loader.Module, error) {
		return returners.Module(doc, &poster{from: returners.EnvSource(env), opts: env.Opts,
			grains: env.GrainsNow}), nil
	}}
}

// OpenEvents returns an EventReturner for a master with these options.
func OpenEvents(opts *data.Map) returners.EventReturner {
	return &poster{from: returners.MapSource(opts), opts: opts, grains: func() *data.Map { return data.NewMap() }}
}

type poster struct {
	from   returners.Source
	opts   *data.Map
	grains func() *data.Map
}

// Close does nothing.
func (p *poster) Close() error { return nil }

// Return sends a message about a return.
func (p *poster) Return(ctx context.Context, ret *data.Map) error {
	return p.post(ctx, ret, data.Str(p.grains().Value("id")))
}

// ReturnEvents sends a message about each event of a return.
func (p *poster) ReturnEvents(ctx context.Context, events []returners.Event) error {
	for _, e := range events {
		fun := returners.FunText(e.Data.Value("fun"))
		if fun == "" || strings.Contains(fun, "saltutil.find_job") || strings.Contains(e.Tag, "salt/auth") {
			continue
		}
		if err := p.post(ctx, e.Data, e.Data.Text("id")); err != nil {
			return fmt.Errorf("event %q: %w", e.Tag, err)
		}
	}
	return nil
}

func (p *poster) post(ctx context.Context, ret *data.Map, author string) error {
	o := p.from.Read(ret, known(), Name)
	address, err := webhook(o.Text("webhook"))
	if err != nil {
		return err
	}
	payload, err := p.payload(o, ret, author)
	if err != nil {
		return fmt.Errorf("%w: %w", returners.ErrRefused, err)
	}
	text, err := output.JSON(payload)
	if err != nil {
		return fmt.Errorf("%w: %w", returners.ErrRefused, err)
	}
	h, err := web.Client(p.opts)
	if err != nil {
		return err
	}
	c := rest.Of(h, rest.Options{Timeout: limit, MaxBody: 1 << 20})
	defer c.Close()
	a, err := c.Do(ctx, rest.Request{Method: "POST", URL: address,
		Body: []byte("payload=" + url.QueryEscape(text)), Header: map[string]string{
			"Content-Type": "application/x-www-form-urlencoded",
			"User-Agent":   "Salt/" + version.Salt() + " http.query()"}})
	if err == nil {
		err = a.Err()
	}
	if err == nil && string(a.Body) != "ok" {
		err = fmt.Errorf("the answer is %.100q", a.Body)
	}
	if err != nil {
		return fmt.Errorf("send to the webhook of Slack: %w", err)
	}
	return nil
}

// webhook returns the address of a webhook.
func webhook(option string) (string, error) {
	if option == "" {
		return "", errors.New("slack_webhook.webhook is not set")
	}
	base, _ := url.Parse("https://hooks.slack.com/services/")
	u, err := base.Parse(option)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" {
		return "", errors.New("slack_webhook.webhook is not an address")
	}
	return u.String(), nil
}

// payload returns the message (_generate_payload).
func (p *poster) payload(o *returners.Settings, ret *data.Map, author string) (*data.Map, error) {
	grains := p.grains()
	if author == "None" {
		author = ""
	}
	code, has := ret.Get("retcode")
	success := has && data.Equal(code, int64(0))
	title := o.Text("failure_title")
	if success {
		title = o.Text("success_title")
	}
	title = report.Sprinkle(title, grains)
	text := fmt.Sprintf("Function: %s\n", data.Str(ret.Value("fun")))
	if args := data.ListOf(ret.Value("fun_args")); len(args) > 0 {
		words := make([]any, len(args))
		for i, a := range args {
			words[i] = data.Str(a)
		}
		text += fmt.Sprintf("Function Args: %s\n", data.Repr(words))
	}
	text += fmt.Sprintf("JID: %s\n", data.Str(ret.Value("jid")))
	more, err := p.results(o, ret, success, &text)
	if err != nil {
		return nil, err
	}
	head := data.NewMap("fallback", title, "color", "#272727", "author_name", author,
		"author_link", report.Sprinkle("{localhost}", grains), "author_icon", o.Text("author_icon"),
		"title", "Success: "+data.Str(success), "text", text)
	return data.NewMap("attachments", append([]any{head}, more...)), nil
}

// results returns what follows the head of a message: the number of states, or the return.
func (p *poster) results(o *returners.Settings, ret *data.Map, success bool, text *string) ([]any, error) {
	m, ok := ret.Value("return").(*data.Map)
	if ok && m.Len() > 0 {
		_, first := m.At(0)
		if state, isMap := first.(*data.Map); isMap && state.Has("__id__") {
			return tally(o, m, text)
		}
	}
	shown := data.Str(ret.Value("return"))
	if ok {
		b, err := yaml.Dump(m, yaml.DumpOptions{Flow: yaml.Leaves, SortKeys: true})
		if err != nil {
			return nil, err
		}
		shown = "\n" + string(b)
	}
	color := "danger"
	if success {
		color = "good"
	}
	return []any{data.NewMap("color", color, "title", "Return: "+shown)}, nil
}

func tally(o *returners.Settings, returned *data.Map, text *string) ([]any, error) {
	states, err := report.States(returned)
	if err != nil {
		return nil, err
	}
	var changed, failed []any
	duration := 0.0
	for _, s := range states {
		task := data.NewMap("value", data.Str(s.Result.Value("__sls__"))+".sls | "+s.Parts[1], "short", false)
		if s.Failed() {
			failed = append(failed, task)
		}
		if s.Changed() {
			changed = append(changed, task)
		}
		duration += s.Duration()
	}
	*text += fmt.Sprintf("Total: %d\nDuration: %.2f secs", len(states), duration/1000)
	block := func(color, name string, tasks []any) *data.Map {
		m := data.NewMap("color", color, "title", fmt.Sprintf("%s: %d", name, len(tasks)))
		if o.Bool("show_tasks") && len(tasks) > 0 {
			m.Set("fields", tasks)
		}
		return m
	}
	unchanged := len(states) - len(changed) - len(failed)
	return []any{data.NewMap("color", "good", "title", fmt.Sprintf("Unchanged: %d", unchanged)),
		block("warning", "Changed", changed), block("danger", "Failed", failed)}, nil
}
