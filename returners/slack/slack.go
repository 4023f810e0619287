// Package slack is Salt's returner of that name (salt/returners/slack_returner.py): a message to a
// channel of Slack by its API with a token.
//
// Options are below slack.: username, as_user and api_key are required, and channel ("#general");
// changes or only_show_failed leave out states; yaml_format writes the return as YAML instead of
// Python's pprint. slack_profile may name an option that is a dictionary with the api_key.
//
// Package fileclient/web describes the options for connections. Differences: changes and
// only_show_failed work for states, for which Salt's returner fails; missing options and failures
// are errors. The submitter of a job cannot choose the key.
package slack

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/fileclient/web"
	"github.com/brineproject/brine/internal/rest"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/output"
	"github.com/brineproject/brine/returners"
	"github.com/brineproject/brine/version"
	"github.com/brineproject/brine/yaml"
)

// Name is the returner's name.
const Name = "slack"

// limit is the timeout of a request.
const limit = time.Minute

const doc = `
    Send an slack message with the data

    CLI Example:

        salt '*' test.ping --return slack
    `

func known() []returners.Setting {
	return []returners.Setting{{Name: "slack_profile", Key: "profile", Fixed: true},
		{Name: "channel", Default: "#general"}, {Name: "username"}, {Name: "as_user"},
		{Name: "api_key", Fixed: true}, {Name: "changes"}, {Name: "only_show_failed"}, {Name: "yaml_format"}}
}

// Plugin returns the returner for a minion.
func Plugin() loader.Plugin {
	return loader.Plugin{Name: Name, New: func(env *loader.Env) (*loader.Module, error) {
		return returners.Module(doc, &poster{returners.EnvSource(env), env.Opts, "https://slack.com"}), nil
	}}
}

type poster struct {
	from   returners.Source
	opts   *data.Map
	server string
}

// Return sends a message about a return.
func (p *poster) Return(ctx context.Context, ret *data.Map) error {
	o := p.from.Read(ret, known(), Name)
	key := o.Text("api_key")
	if profile, _ := p.from(o.Text("slack_profile")); o.Text("slack_profile") != "" {
		m, _ := profile.(*data.Map)
		for _, name := range []string{"slack.api_key", "api_key"} {
			if v := m.Value(name); data.Truth(v) {
				key = data.Str(v)
			}
		}
	}
	for _, name := range []string{"channel", "username", "as_user"} {
		if !o.Bool(name) {
			return fmt.Errorf("slack.%s not defined in salt config", name)
		}
	}
	if key == "" {
		return errors.New("slack.api_key not defined in salt config")
	}
	if o.Bool("only_show_failed") && o.Bool("changes") {
		return errors.New("cannot define both slack.changes and slack.only_show_failed in salt config")
	}
	text, err := message(o, ret)
	if err != nil {
		return fmt.Errorf("%w: %w", returners.ErrRefused, err)
	}
	if err := p.post(ctx, o, key, text); err != nil {
		return fmt.Errorf("send to Slack: %w", err)
	}
	return nil
}

func (p *poster) post(ctx context.Context, o *returners.Settings, key, text string) error {
	h, err := web.Client(p.opts)
	if err != nil {
		return err
	}
	c := rest.Of(h, rest.Options{Timeout: limit, MaxBody: 1 << 20})
	defer c.Close()
	body := ""
	for _, pair := range [][2]string{{"channel", o.Text("channel")}, {"username", o.Text("username")},
		{"as_user", data.Str(o.Value("as_user"))}, {"text", "```" + text + "```"}} {
		if body != "" {
			body += "&"
		}
		body += pair[0] + "=" + url.QueryEscape(pair[1])
	}
	a, err := c.Do(ctx, rest.Request{Method: "POST", URL: p.server + "/api/chat.postMessage",
		Body: []byte(body), Header: map[string]string{"Authorization": "Bearer " + key,
			"Content-Type": "application/x-www-form-urlencoded",
			"User-Agent":   "Salt/" + version.Salt() + " http.query()"}})
	if err == nil {
		err = a.Err()
	}
	if err != nil {
		return err
	}
	v, err := a.JSON()
	if err != nil {
		return err
	}
	if m, _ := v.(*data.Map); m.Has("error") {
		return fmt.Errorf("Slack refuses the message: %.100s", data.Str(m.Value("error"))) //nolint:staticcheck // a name
	}
	return nil
}

// message returns the text of a message.
func message(o *returners.Settings, ret *data.Map) (string, error) {
	returned := ret.Value("return")
	if m, ok := returned.(*data.Map); ok && (o.Value("changes") == true || o.Value("only_show_failed") == true) {
		returned = chosen(m, o.Value("changes") == true)
	}
	shown := ""
	if o.Value("yaml_format") == true {
		b, err := yaml.Dump(returned, yaml.DumpOptions{Flow: yaml.Leaves, SortKeys: true})
		if err != nil {
			return "", err
		}
		shown = string(b)
	} else {
		pretty, err := output.New("pprint", output.Options{Indent: int64(1)})
		if err != nil {
			return "", err
		}
		if shown, err = pretty.Format(returned); err != nil {
			return "", err
		}
	}
	return fmt.Sprintf("id: %s\r\nfunction: %s\r\nfunction args: %s\r\njid: %s\r\nreturn: %s\r\n",
		data.Str(ret.Value("id")), data.Str(ret.Value("fun")), data.Str(ret.Value("fun_args")),
		data.Str(ret.Value("jid")), shown), nil
}

// chosen returns the states that failed, or with changes also those that made changes.
func chosen(states *data.Map, changes bool) *data.Map {
	out := data.NewMap()
	for k, v := range states.All() {
		m, _ := v.(*data.Map)
		if m.Value("result") != true || changes && data.Truth(m.Value("changes")) {
			out.Set(k, v)
		}
	}
	return out
}
