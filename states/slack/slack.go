// Package slack is Salt's state slack: it sends messages to Slack (salt/states/slack.py). It uses the
// module slack.
package slack

import (
	"context"
	"errors"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/calls"
	"github.com/brineproject/brine/state/change"
)

// Plugin returns the state slack.
func Plugin() loader.Plugin {
	return loader.Plugin{Name: "slack", New: func(env *loader.Env) (*loader.Module, error) {
		if !env.Functions.Has("slack.post_message") {
			return nil, errors.New("slack module could not be loaded")
		}
		m := &module{env}
		return &loader.Module{Funcs: []loader.Func{loader.F("post_message", m.postMessage)}}, nil
	}}
}

type module struct{ env *loader.Env }

type postArgs struct {
	Name   any
	Kwargs *data.Map `kwargs:"kwargs"`
}

// postMessage sends a message in each run, by the API of Slack or by a webhook.
//
// message
//
//	The text.
//
// api_key
//
//	The key of the API. Default: the option slack.api_key or slack:api_key.
//
// channel, from_name, icon
//
//	For the API: the channel, the sender's name and the address of an icon.
//
// webhook
//
//	A webhook in place of the API. Default without a key: the option slack.hook or slack:hook.
//
// attachment, color, short, channel, username, icon_emoji
//
//	For a webhook, as in slack.call_hook.
//
//	slack-message:
//	  slack.post_message:
//	    - channel: '#general'
//	    - from_name: SuperAdmin
//	    - message: 'This state was executed successfully.'
func (m *module) postMessage(ctx context.Context, a postArgs) (change.Result, error) {
	given := a.Kwargs
	api, hook, err := m.way(ctx, given)
	if err != nil {
		return change.Result{}, err
	}
	missing := func(name string) bool { return !data.Truth(given.Value(name)) }
	switch {
	case !api && !hook:
		return change.Refuse(a.Name, "Please specify api_key or webhook.")
	case api && hook:
		return change.Refuse(a.Name, "Please specify only either api_key or webhook.")
	case api && missing("channel"):
		return change.Refuse(a.Name, "Slack channel is missing.")
	case api && missing("from_name"):
		return change.Refuse(a.Name, "Slack from name is missing.")
	case missing("message"):
		return change.Refuse(a.Name, "Slack message is missing.")
	case change.Test(ctx):
		return change.Result{Name: a.Name, Verdict: change.Pending,
			Comment: "The following message is to be sent to Slack: " + data.Str(given.Value("message"))}, nil
	}
	name := data.Str(a.Name)
	v, err := m.send(ctx, given, api)
	switch answer, _ := v.(*data.Map); {
	case loader.KindOf(err) == loader.KindInvocation:
		return change.Refuse(a.Name, "Failed to send message ("+err.Error()+"): "+name)
	case err != nil:
		return change.Result{}, err
	case v != true:
		return change.Refuse(a.Name, "Failed to send message ("+data.Str(answer.Value("message"))+"): "+name)
	}
	return change.Leave(a.Name, "Sent message: "+name)
}

// way reports whether the API, or a webhook, is to be used.
func (m *module) way(ctx context.Context, given *data.Map) (api, hook bool, err error) {
	api, hook = data.Truth(given.Value("api_key")), data.Truth(given.Value("webhook"))
	if api || hook {
		return api, hook, nil
	}
	for _, option := range []string{"slack.api_key", "slack:api_key", "slack.hook", "slack:hook"} {
		v, err := calls.ConfigGet[any](ctx, m.env, option)
		if err != nil {
			return false, false, err
		}
		if data.Truth(v) {
			api = option == "slack.api_key" || option == "slack:api_key"
			return api, !api, nil
		}
	}
	return false, false, nil
}

func (m *module) send(ctx context.Context, given *data.Map, api bool) (any, error) {
	kwargs := &data.Map{}
	pass := func(to string, from string) { kwargs.Set(to, given.Value(from)) }
	if api {
		for _, name := range []string{"channel", "message", "from_name", "api_key", "icon"} {
			pass(name, name)
		}
		return m.env.Call(ctx, "slack.post_message", nil, kwargs)
	}
	for _, name := range []string{"message", "attachment", "short", "channel", "username", "icon_emoji"} {
		pass(name, name)
	}
	pass("identifier", "webhook")
	kwargs.Set("color", "good")
	if color, ok := given.Get("color"); ok {
		kwargs.Set("color", color)
	}
	return m.env.Call(ctx, "slack.call_hook", nil, kwargs)
}
