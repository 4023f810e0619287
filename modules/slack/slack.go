// Package slack is Salt's module slack: messages to Slack, and its rooms and users
// (salt/modules/slack_notify.py and salt/utils/slack.py).
//
// Differences from Salt: attachments and blocks are sent as JSON, as Slack wants them; Salt sends what
// Python prints. If Slack cannot be reached, the message says why.
package slack

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/fileclient/web"
	"github.com/brineproject/brine/internal/pyjson"
	"github.com/brineproject/brine/internal/rest"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/calls"
	"github.com/brineproject/brine/version"
)

// Plugin returns the module slack.
func Plugin() loader.Plugin {
	return loader.Plugin{Name: "slack", File: "slack_notify", New: func(env *loader.Env) (*loader.Module, error) {
		return newModule(&module{env, "https://slack.com/api/", "https://hooks.slack.com/services/"})
	}}
}

type module struct {
	env        *loader.Env
	api, hooks string // addresses of Slack
}

func newModule(m *module) (*loader.Module, error) {
	return &loader.Module{Funcs: []loader.Func{
		loader.F("call_hook", m.callHook).Secret("identifier"),
		loader.F("find_room", m.findRoom).Secret("api_key"),
		loader.F("find_user", m.findUser).Secret("api_key"),
		loader.F("list_rooms", m.listRooms).Secret("api_key"),
		loader.F("list_users", m.listUsers).Secret("api_key"),
		loader.F("post_message", m.postMessage).Secret("api_key"),
	}}, nil
}

// limit is how long a request may take.
const limit = time.Minute

// setting returns a value that a caller gives, or one of the options slack.NAME and slack:NAME.
func (m *module) setting(ctx context.Context, given any, name, missing string) (string, error) {
	if text := calls.Text(given); text != "" {
		return text, nil
	}
	for _, option := range []string{"slack." + name, "slack:" + name} {
		v, err := calls.ConfigGet[any](ctx, m.env, option)
		if err != nil {
			return "", err
		}
		if text := calls.Text(v); text != "" {
			return text, nil
		}
	}
	return "", loader.Invocation("%s", missing)
}

func (m *module) key(ctx context.Context, given any) (string, error) {
	return m.setting(ctx, given, "api_key", "No Slack API key found.")
}

// send sends a request under the options for connections, such as proxy_host. A body is that of a form.
func (m *module) send(ctx context.Context, method, address, key, body string) (*rest.Answer, error) {
	h, err := web.Client(m.env.Opts)
	if err != nil {
		return nil, err
	}
	c := rest.Of(h, rest.Options{Timeout: limit})
	defer c.Close()
	header := map[string]string{"User-Agent": "Salt/" + version.Salt() + " http.query()"}
	if key != "" {
		header["Authorization"] = "Bearer " + key
	}
	r := rest.Request{Method: method, URL: address, Header: header}
	if method == http.MethodPost {
		header["Content-Type"], r.Body = "application/x-www-form-urlencoded", []byte(body)
	} else {
		header["Accept"] = "application/json"
	}
	return c.Do(ctx, r)
}

func refused(message any) *data.Map { return data.NewMap("message", message, "res", false) }

// query calls a method of the API, and returns the part of the answer that has the result as message,
// and whether there is one as res.
func (m *module) query(ctx context.Context, method, name, part, key, body string) *data.Map {
	a, err := m.send(ctx, method, m.api+name, key, body)
	switch {
	case err != nil:
		return refused(err.Error())
	case a.Status == http.StatusUnauthorized || a.Status == http.StatusForbidden:
		return refused("invalid_auth")
	case a.Status != http.StatusOK:
		return refused(a.Err().Error())
	}
	v, err := a.JSON()
	if err != nil {
		return refused(err.Error())
	}
	answer, ok := v.(*data.Map)
	switch {
	case !ok:
		return refused("Unknown response")
	case answer.Has("error"):
		return refused(answer.Value("error"))
	}
	return data.NewMap("message", answer.Value(part), "res", true)
}

type keyArgs struct {
	APIKey any `name:"api_key" default:"None"`
}

// listRooms returns the rooms as message, and whether that succeeded as res.
//
// api_key
//
//	The key of the API. Default: that of the option slack.api_key or slack:api_key.
//
// CLI Example:
//
//	salt '*' slack.list_rooms
func (m *module) listRooms(ctx context.Context, a keyArgs) (any, error) {
	key, err := m.key(ctx, a.APIKey)
	if err != nil {
		return nil, err
	}
	return m.query(ctx, http.MethodGet, "conversations.list", "channels", key, ""), nil
}

// listUsers returns the users as message, and whether that succeeded as res.
//
// api_key
//
//	The key of the API. Default: that of the option slack.api_key or slack:api_key.
//
// CLI Example:
//
//	salt '*' slack.list_users
func (m *module) listUsers(ctx context.Context, a keyArgs) (any, error) {
	key, err := m.key(ctx, a.APIKey)
	if err != nil {
		return nil, err
	}
	return m.query(ctx, http.MethodGet, "users.list", "members", key, ""), nil
}

type findArgs struct {
	Name   string
	APIKey any `name:"api_key" default:"None"`
}

// find returns the entry of a name, False if there is none.
func find(list any, name string) any {
	found, _ := list.(*data.Map)
	for _, v := range data.ListOf(found.Value("message")) {
		if one, ok := v.(*data.Map); ok && one.Text("name") == name {
			return one
		}
	}
	return false
}

// findRoom returns a room by its name, False if there is none.
//
// api_key
//
//	The key of the API. Default: that of the option slack.api_key or slack:api_key.
//
// CLI Example:
//
//	salt '*' slack.find_room name="random"
func (m *module) findRoom(ctx context.Context, a findArgs) (any, error) {
	list, err := m.listRooms(ctx, keyArgs{a.APIKey})
	return find(list, strings.TrimPrefix(a.Name, "#")), err
}

// findUser returns a user by their name, False if there is none.
//
// api_key
//
//	The key of the API. Default: that of the option slack.api_key or slack:api_key.
//
// CLI Example:
//
//	salt '*' slack.find_user name="ThomasHatch"
func (m *module) findUser(ctx context.Context, a findArgs) (any, error) {
	list, err := m.listUsers(ctx, keyArgs{a.APIKey})
	return find(list, a.Name), err
}

type postArgs struct {
	Channel     string
	Message     any
	FromName    any
	APIKey      any `name:"api_key" default:"None"`
	Icon        any `default:"None"`
	Attachments any `default:"None"`
	Blocks      any `default:"None"`
}

// postMessage sends a message to a channel. It returns True, or the reason of a failure as message.
//
// channel
//
//	The channel. Without a # or an @ at its beginning it gets a #.
//
// from_name
//
//	Who the message is from.
//
// api_key
//
//	The key of the API. Default: that of the option slack.api_key or slack:api_key.
//
// icon
//
//	The address of an icon.
//
// attachments, blocks
//
//	Lists of what Slack calls so.
//
// CLI Example:
//
//	salt '*' slack.post_message channel="Development Room" message="Build is done" from_name="Build Server"
func (m *module) postMessage(ctx context.Context, a postArgs) (any, error) {
	key, err := m.key(ctx, a.APIKey)
	if err != nil {
		return nil, err
	}
	channel := a.Channel
	if !strings.HasPrefix(channel, "#") && !strings.HasPrefix(channel, "@") {
		channel = "#" + channel
	}
	pairs := [][2]string{{"channel", channel}, {"username", data.Str(a.FromName)}, {"text", data.Str(a.Message)}}
	for _, list := range []struct {
		name  string
		value any
	}{{"attachments", a.Attachments}, {"blocks", a.Blocks}} {
		if !data.Truth(list.value) {
			list.value = []any{}
		}
		text, err := encode(list.value)
		if err != nil {
			return nil, loader.Execution("encode the %s: %w", list.name, err)
		}
		pairs = append(pairs, [2]string{list.name, text})
	}
	if a.Icon != nil {
		pairs = append(pairs, [2]string{"icon_url", data.Str(a.Icon)})
	}
	ret := m.query(ctx, http.MethodPost, "chat.postMessage", "channel", key, form(pairs))
	if ret.Value("res") == true {
		return true, nil
	}
	return ret, nil
}

func encode(v any) (string, error) {
	text, err := pyjson.Append(nil, v, pyjson.Options{Comma: ", ", Colon: ": "})
	return string(text), err
}

func form(pairs [][2]string) string {
	parts := make([]string, len(pairs))
	for i, pair := range pairs {
		parts[i] = pair[0] + "=" + url.QueryEscape(pair[1])
	}
	return strings.Join(parts, "&")
}

type hookArgs struct {
	Message    any
	Attachment any `default:"None"`
	Color      any `default:"'good'"`
	Short      any `default:"False"`
	Identifier any `default:"None"`
	Channel    any `default:"None"`
	Username   any `default:"None"`
	IconEmoji  any `default:"None"`
}

// callHook sends a message to a webhook of Slack. It returns True, or the reason of a failure as message.
//
// attachment
//
//	A second text, below the message.
//
// color
//
//	The color of the border beside it.
//
// short
//
//	True: it may stand beside others.
//
// identifier
//
//	The webhook, or its address. Default: that of the option slack.hook or slack:hook.
//
// channel, username, icon_emoji
//
//	Instead of those of the webhook.
//
// CLI Example:
//
//	salt '*' slack.call_hook message='Hello, from SaltStack'
func (m *module) callHook(ctx context.Context, a hookArgs) (any, error) {
	hook, err := m.setting(ctx, a.Identifier, "hook", "No Slack WebHook url found")
	if err != nil {
		return nil, err
	}
	address, err := m.address(hook)
	if err != nil {
		return nil, err
	}
	payload := data.NewMap("text", a.Message)
	if data.Truth(a.Attachment) {
		payload = data.NewMap("attachments", []any{data.NewMap("fallback", a.Message, "color", a.Color,
			"pretext", a.Message, "fields", []any{data.NewMap("value", a.Attachment, "short", a.Short)})})
	}
	for _, part := range []struct {
		name  string
		value any
	}{{"channel", a.Channel}, {"username", a.Username}, {"icon_emoji", a.IconEmoji}} {
		if data.Truth(part.value) {
			payload.Set(part.name, part.value)
		}
	}
	text, err := encode(payload)
	if err != nil {
		return nil, loader.Execution("encode the message: %w", err)
	}
	answer, err := m.send(ctx, http.MethodPost, address, "", form([][2]string{{"payload", text}}))
	if err != nil {
		return data.NewMap("res", false, "message", strings.ReplaceAll(err.Error(), address, "the webhook")), nil
	}
	if answer.Status <= http.StatusCreated {
		return true, nil
	}
	return data.NewMap("res", false, "message", string(answer.Body)), nil
}

// address returns the address of a webhook.
func (m *module) address(hook string) (string, error) {
	base, err := url.Parse(m.hooks)
	if err != nil {
		return "", err
	}
	u, err := base.Parse(hook)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" {
		return "", loader.Invocation("the webhook of Slack is no address")
	}
	return u.String(), nil
}
